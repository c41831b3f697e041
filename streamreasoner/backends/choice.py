"""Which backend a state needs. Invariant: a decision is logged with the numbers it follows from.

A state that grows beyond the memory it may take, or beyond what records can be addressed, is handed
over between two batches, so both limits leave room for what one batch adds.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.state import UNIT_BYTES, arena_units
from streamreasoner.rdf.memory import Fill, physical_memory

if TYPE_CHECKING:
    from streamreasoner.engine.ports import Statistics

_log = logging.getLogger(__name__)
_MEBIBYTE = 1 << 20
_SHARE = 0.6
_FULL = 0.75  # of the arena
_FACT_BYTES = 75  # docs/benchmarks.md, kernel
_RECORD_BYTES = 60  # of these, in the arena
_TERM_BYTES = 120  # its text, where it begins, its place in the hash table
_BACK = 0.5
"""A state in Spark comes back when it needs less than this part of the limit: not to and fro."""


class BackendKind(Enum):
    """Where a state is."""

    COLUMNAR = "columnar"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a state in memory may take.

    Attributes:
        bytes: Of memory; 0 for a share of what this process may use.
    """

    bytes: int

    @property
    def value(self) -> int:
        """The limit of memory, in bytes."""
        return self.bytes or int(physical_memory() * _SHARE)

    def choose(self, facts: int, terms: int, *, in_spark: bool) -> BackendKind:
        """Where a state is to be taken up.

        Args:
            facts: How many it has, at the most.
            terms: How many it has.
            in_spark: Whether it was there last.
        """
        needed, limit = facts * _FACT_BYTES + terms * _TERM_BYTES, self.value
        records = Fill(facts * _RECORD_BYTES, UNIT_BYTES * arena_units())
        part = _BACK if in_spark else 1
        fits = needed <= limit * part and records.ratio <= _FULL * part
        place = BackendKind.COLUMNAR if fits else BackendKind.SPARK
        _log.info(
            "The backend is %s: in memory the state of %d facts and %d terms would take about "
            "%d MiB, and may take %d; its records would fill %s.",
            place.value,
            facts,
            terms,
            needed // _MEBIBYTE,
            limit // _MEBIBYTE,
            records,
        )
        return place

    def exceeded(self, state: Statistics, terms: int) -> bool:
        """Whether a state in memory has become too large.

        Args:
            state: Its size.
            terms: Bytes of its dictionary.
        """
        size = state.bytes + terms
        if size <= self.value and state.fill.ratio <= _FULL:
            return False
        _log.warning(
            "The state takes %d MiB of memory and may take %d; its records fill %s. It goes on in "
            "Spark.",
            size // _MEBIBYTE,
            self.value // _MEBIBYTE,
            state.fill,
        )
        return True
