"""Which backend a state needs. Invariant: a decision is logged with the numbers it follows from.

A state that grows beyond the memory it may take is handed over between two batches, so the limit
leaves room for what one batch adds.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum

from streamreasoner.rdf.memory import physical_memory

_log = logging.getLogger(__name__)
_MEBIBYTE = 1 << 20
_SHARE = 0.6
_FACT_BYTES = 75  # docs/benchmarks.md, kernel
_TERM_BYTES = 120  # its text, where it begins, its place in the hash table
_BACK = 0.5
"""A state in Spark comes back when it needs less than this part of the limit: not to and fro."""


class Place(Enum):
    """Where a state is."""

    COLUMNAR = "columnar"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a state in memory may take.

    Attributes:
        bytes: So much; 0 for a share of what this process may use.
    """

    bytes: int

    @property
    def value(self) -> int:
        """The limit in bytes."""
        return self.bytes or int(physical_memory() * _SHARE)

    def choose(self, facts: int, terms: int, *, in_spark: bool) -> Place:
        """Where a state is to be taken up.

        Args:
            facts: How many it has, at the most.
            terms: How many it has.
            in_spark: Whether it was there last.
        """
        needed, limit = facts * _FACT_BYTES + terms * _TERM_BYTES, self.value
        place = Place.SPARK if needed > limit * (_BACK if in_spark else 1) else Place.COLUMNAR
        _log.info(
            "The backend is %s: in memory the state of %d facts and %d terms would take about "
            "%d MiB, and may take %d.",
            place.value,
            facts,
            terms,
            needed // _MEBIBYTE,
            limit // _MEBIBYTE,
        )
        return place

    def exceeded(self, size: int) -> bool:
        """Whether a state in memory has become too large."""
        if size <= self.value:
            return False
        _log.warning(
            "The state takes %d MiB of memory and may take %d: it goes on in Spark.",
            size // _MEBIBYTE,
            self.value // _MEBIBYTE,
        )
        return True
