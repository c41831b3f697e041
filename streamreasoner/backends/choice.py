"""Choose the backend of a state. Invariant: a decision is logged with the numbers behind it.

A state that outgrows its memory limit, or the address space of its records or of its terms' text,
is handed over to Spark between two batches, so all limits leave room for what one batch adds.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum

from streamreasoner.backends.columnar.arena import UNIT_BYTES, arena_units
from streamreasoner.counts import counted
from streamreasoner.rdf.dictionary import text_bytes
from streamreasoner.system.capacity import Capacity
from streamreasoner.system.memory import Fill, physical_memory

_log = logging.getLogger(__name__)
_MEBIBYTE = 1 << 20
_SHARE = 0.6  # of the memory available to this process
_FACT_BYTES = 75  # docs/benchmarks.md, kernel
_RECORD_BYTES = 60  # the part of these in the arena
_TERM_BYTES = 120  # text, offset and hash slot
_TEXT_BYTES = 90  # the part of these that is text
_RETURN_BELOW = 0.5
"""A state returns from Spark below this part of the limit: hysteresis, so it does not flap."""
_RISK = ' If memory runs out, the process is killed: set pipeline.backend = "spark" or "auto".'


class BackendKind(Enum):
    """The backend that holds a state."""

    COLUMNAR = "columnar"
    SPARK = "spark"
    EXECUTORS = "executors"


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

    def choose(
        self, facts: int, terms: int, *, in_spark: bool = False, may_move: bool = True
    ) -> BackendKind:
        """The backend to start a state on.

        Args:
            facts: Upper bound on the number of facts.
            terms: Number of terms.
            in_spark: Whether Spark held the state last.
            may_move: Whether it may be in Spark; otherwise a state that does not fit is a warning.
        """
        needed = Capacity(
            facts * _FACT_BYTES + terms * _TERM_BYTES,
            Fill(facts * _RECORD_BYTES, UNIT_BYTES * arena_units()),
            Fill(terms * _TEXT_BYTES, text_bytes()),
        )
        fits = needed.fits(self.value, _RETURN_BELOW if in_spark and may_move else 1)
        is_risky = not fits and not may_move
        kind = BackendKind.COLUMNAR if fits or is_risky else BackendKind.SPARK
        if not facts and not terms:
            _log.info("Using the %s backend, for an empty state.", kind.value)
            return kind
        _log.log(
            logging.WARNING if is_risky else logging.INFO,
            "Using the %s backend: in memory the state of %s and %s would take about "
            "%d of %d MiB; its records would fill %s, the text of its terms %s.%s",
            kind.value,
            counted(facts, "fact"),
            counted(terms, "term"),
            needed.bytes // _MEBIBYTE,
            self.value // _MEBIBYTE,
            needed.records,
            needed.text,
            _RISK if is_risky else "",
        )
        return kind

    def exceeded(self, state: Capacity) -> bool:
        """Whether a state in memory has become too large."""
        if state.fits(self.value):
            return False
        _log.warning(
            "The state takes %d of %d MiB of memory; its records fill %s, the text of its terms "
            "%s. Continuing in Spark.",
            state.bytes // _MEBIBYTE,
            self.value // _MEBIBYTE,
            state.records,
            state.text,
        )
        return True
