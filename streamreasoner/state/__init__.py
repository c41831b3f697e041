"""Durable state: the Delta tables `terms`, `trace`, `changes` and `programs`.

`Tables` is the whole interface to a state of this release; each other module covers one concept.
"""

from __future__ import annotations

from streamreasoner.state.migrate import check_version, migrate
from streamreasoner.state.schemas import PROGRAMS, TERMS, TRACE
from streamreasoner.state.tables import StorageStatistics, Tables

__all__ = [
    "PROGRAMS",
    "TERMS",
    "TRACE",
    "StorageStatistics",
    "Tables",
    "check_version",
    "migrate",
]
