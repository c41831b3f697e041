"""What is asked by HTTP: metrics, liveness and readiness here, facts and queries in `web`."""

from __future__ import annotations

from streamreasoner.server.health import Health
from streamreasoner.server.http import Exporter
from streamreasoner.server.metrics import PrometheusObserver, Sources

__all__ = ["Exporter", "Health", "PrometheusObserver", "Sources"]
