"""What the engine needs from a backend. Invariant: between `begin` and `commit` or `rollback`
nothing outside the backend sees its state.
"""  # noqa: D205

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.collection.updates import Changes, TraceRows, Updates


@dataclass(frozen=True, slots=True)
class EpochChanges:
    """What an epoch changed, before it is committed.

    Attributes:
        derived: Changes of the derived facts: present, but not asserted.
        closure: Changes of all present facts.
        trace: Signed differences of the trace, consolidated.
    """

    derived: tuple[Changes, ...]
    closure: tuple[Changes, ...]
    trace: tuple[TraceRows, ...]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Size of the state.

    Attributes:
        facts: Facts held, present or not.
        present: Facts present: the closure.
        asserted: Facts whose asserted multiplicity is positive.
        below_zero: Facts whose multiplicities sum to less than zero.
        counts: (fact, iteration) pairs with a multiplicity.
        bytes: Memory of the state in use.
    """

    facts: int
    present: int
    asserted: int
    below_zero: int
    counts: int
    bytes: int


class Backend(Protocol):
    """Holds the trace and runs the steps of a fixpoint; strata and iterations come from the engine.

    Stratum 0 is the input: facts that no head derives. Strata count from 1 in dependency order.
    """

    def add(self, updates: Updates) -> None:
        """Add asserted multiplicities, at iteration 0 of the stratum each fact belongs to.

        Raises:
            MultiplicityOverflowError: A sum leaves the range of a multiplicity.
        """
        ...

    def enter(self, stratum: int) -> int:
        """Start a stratum with the final changes of those before it as deltas at iteration 0.

        Returns:
            The first iteration to settle, or -1 if nothing is touched.
        """
        ...

    def settle(self, iteration: int) -> int:
        """Compare the presence that the counts give at *iteration* with the stored transitions.

        Returns:
            The number of facts whose transition at *iteration* changed: the delta.
        """
        ...

    def derive(self, iteration: int) -> None:
        """Evaluate the stratum's delta plans on the delta; their heads are touched later on.

        Raises:
            MultiplicityOverflowError: A sum leaves the range of a multiplicity.
        """
        ...

    def next_touched(self) -> int:
        """The next iteration with touched facts, or -1 if the stratum is done."""
        ...

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        ...

    def commit(self) -> None:
        """Make the epoch's changes final."""
        ...

    def rollback(self) -> None:
        """Undo the epoch wholly."""
        ...

    def restore(self, rows: Iterable[TraceRows]) -> None:
        """Take the trace of an earlier run into an empty state."""
        ...

    def trace(self, predicate: str) -> TraceRows:
        """Every (fact, iteration, multiplicity) of a predicate, in no particular order."""
        ...

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, int32 of shape (n, arity), in no particular order."""
        ...

    def statistics(self) -> Statistics:
        """Size of the state."""
        ...
