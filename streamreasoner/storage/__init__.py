"""Durable state: the Delta tables `terms`, `trace`, `changes` and `programs`.

`Tables` is the whole interface; the other modules are one noun each.
"""

from __future__ import annotations

from streamreasoner.storage.layout import TERMS, TRACE
from streamreasoner.storage.tables import StorageStatistics, Tables

__all__ = ["TERMS", "TRACE", "StorageStatistics", "Tables"]
