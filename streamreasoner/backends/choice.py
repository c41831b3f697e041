"""Choose the backend of a state. Invariant: a decision is logged with the numbers behind it.

A state that outgrows what its process may use moves between two batches, so all limits leave room
for what one batch adds.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum

from streamreasoner.backends.columnar.arena import (
    UNIT_BYTES,
    arena_units,
    is_limited_by_addresses,
)
from streamreasoner.counts import counted
from streamreasoner.rdf.dictionary import text_bytes
from streamreasoner.system.capacity import FULL, Capacity
from streamreasoner.system.memory import Fill, physical_memory
from streamreasoner.system.processors import MOST_CORES

_log = logging.getLogger(__name__)
_MEBIBYTE = 1 << 20
_SHARE = 0.6  # of the memory available to this process
_FACT_BYTES = 60  # docs/benchmarks.md, memory: for programs with more arrangements than its own
_RECORD_BYTES = 44  # the part of these in the arena
_TERM_BYTES = 65  # docs/benchmarks.md, memory: compressed text, its end and hash slot
_TEXT_BYTES = 45  # the part of these that is text
_RETURN_BELOW = 0.5
"""A state returns from executors below this part of the limit: hysteresis, so it does not flap."""
_RISK = (
    " If memory runs out, the process is killed: use a machine with more memory, or executors on "
    'several machines (pipeline.backend = "executors").'
)


class BackendKind(Enum):
    """The backend that holds a state."""

    COLUMNAR = "columnar"
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
        self, facts: int, terms: int, parts: int = 1, *, apart: bool = False, may_move: bool = True
    ) -> BackendKind:
        """The backend to start a state on.

        Args:
            facts: Upper bound on the number of facts.
            terms: Number of terms.
            parts: Number of parts that this process would divide it among.
            apart: Whether executors held the state last.
            may_move: Whether they may; otherwise a state that does not fit is a warning.
        """
        needed = Capacity(
            facts * _FACT_BYTES + terms * _TERM_BYTES,
            _records(facts, parts),
            Fill(terms * _TEXT_BYTES, text_bytes()),
        )
        fits = needed.fits(self.value, _RETURN_BELOW if apart and may_move else 1)
        is_risky = not fits and not may_move
        kind = BackendKind.COLUMNAR if fits or is_risky else BackendKind.EXECUTORS
        if not facts and not terms:
            _log.info("Using the backend %s, for an empty state.", kind.value)
            return kind
        _log.log(
            logging.WARNING if is_risky else logging.INFO,
            "Using the backend %s: in memory of this process the state of %s and %s would take "
            "about %d of %d MiB; its records would fill %s, the text of its terms %s.%s",
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
        """Whether a state in memory of this process has become too large."""
        if state.fits(self.value):
            return False
        _log.warning(
            "The state takes %d of %d MiB of memory; its records fill %s, the text of its terms "
            "%s.",
            state.bytes // _MEBIBYTE,
            self.value // _MEBIBYTE,
            state.records,
            state.text,
        )
        return True


def parts_for(facts: int, least: int) -> int:
    """Among how many parts of this process to divide a state, so that its records have addresses.

    Args:
        facts: Upper bound on the number of facts.
        least: Their number in any case.
    """
    parts = least
    while _records(facts, parts).ratio > FULL and can_divide(parts):
        parts *= 2
    return parts


def can_divide(parts: int) -> bool:
    """Whether twice as many parts of this process have more room."""
    return 2 * parts <= MOST_CORES and is_limited_by_addresses(_records(0, parts))


def _records(facts: int, parts: int) -> Fill:
    """What the records of facts fill of each of a number of parts."""
    return Fill(facts * _RECORD_BYTES // parts, UNIT_BYTES * arena_units(parts))
