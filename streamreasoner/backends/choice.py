"""Choose the backend of a state. Invariant: a decision is logged with the numbers behind it.

A state that outgrows its memory limit, or the address space of its records, is handed over to Spark
between two batches, so both limits leave room for what one batch adds.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.arena import UNIT_BYTES, arena_units
from streamreasoner.system.memory import Fill, physical_memory

if TYPE_CHECKING:
    from streamreasoner.engine.ports import Statistics

_log = logging.getLogger(__name__)
_MEBIBYTE = 1 << 20
_SHARE = 0.6  # of the memory available to this process
_FULL = 0.75  # of the arena
_FACT_BYTES = 75  # docs/benchmarks.md, kernel
_RECORD_BYTES = 60  # the part of these in the arena
_TERM_BYTES = 120  # text, offset and hash slot
_RETURN_BELOW = 0.5
"""A state returns from Spark below this part of the limit: hysteresis, so it does not flap."""


class BackendKind(Enum):
    """The backend that holds a state."""

    COLUMNAR = "columnar"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Limit:
    """Limit on the size of a state in memory.

    Attributes:
        bytes: Bytes of memory; 0 for a share of what this process may use.
    """

    bytes: int

    @property
    def value(self) -> int:
        """The memory limit in bytes."""
        return self.bytes or int(physical_memory() * _SHARE)

    def choose(self, facts: int, terms: int, *, in_spark: bool) -> BackendKind:
        """The backend to start a state on.

        Args:
            facts: Upper bound on the number of facts.
            terms: Number of terms.
            in_spark: Whether Spark held the state last.
        """
        needed, limit = facts * _FACT_BYTES + terms * _TERM_BYTES, self.value
        records = Fill(facts * _RECORD_BYTES, UNIT_BYTES * arena_units())
        share = _RETURN_BELOW if in_spark else 1
        fits = needed <= limit * share and records.ratio <= _FULL * share
        kind = BackendKind.COLUMNAR if fits else BackendKind.SPARK
        _log.info(
            "Using the %s backend: in memory the state of %d facts and %d terms would take about "
            "%d of %d MiB; its records would fill %s.",
            kind.value,
            facts,
            terms,
            needed // _MEBIBYTE,
            limit // _MEBIBYTE,
            records,
        )
        return kind

    def exceeded(self, state: Statistics, terms: int) -> bool:
        """Whether a state in memory has become too large.

        Args:
            state: Size of the state.
            terms: Bytes of its dictionary.
        """
        size = state.bytes + terms
        if size <= self.value and state.fill.ratio <= _FULL:
            return False
        _log.warning(
            "The state takes %d of %d MiB of memory; its records fill %s. Continuing in Spark.",
            size // _MEBIBYTE,
            self.value // _MEBIBYTE,
            state.fill,
        )
        return True
