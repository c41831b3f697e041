"""Observability of the pipeline: Prometheus metrics, liveness and readiness."""

from __future__ import annotations

from streamreasoner.metrics.exporter import Exporter
from streamreasoner.metrics.health import Health
from streamreasoner.metrics.observer import PrometheusObserver, Sources

__all__ = ["Exporter", "Health", "PrometheusObserver", "Sources"]
