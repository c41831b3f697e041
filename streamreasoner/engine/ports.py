"""The engine's port to a backend. Invariant: until `commit`, `rollback` undoes the epoch."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.engine.updates import Changes, TraceRows, Updates
    from streamreasoner.plan.program_change import ProgramChange
    from streamreasoner.plan.program_plan import Lattice, Reduction
    from streamreasoner.system.capacity import Capacity

Bound: TypeAlias = "Mapping[int, int | NDArray[np.int32]]"
"""By position the id that facts have there, or several distinct ones of which they have one."""
LAST_ITERATION = (1 << 31) - 1
"""No iteration is later than this one: facts present at it are present in the closure."""
NO_BOUND: Final[Mapping[int, int]] = {}
"""No position has an id: all facts of a predicate."""


@dataclass(frozen=True, slots=True)
class EpochChanges:
    """What an epoch changed, in blocks; they can be iterated until the next epoch begins.

    Attributes:
        derived: Changes of the derived facts: present, but not asserted.
        closure: Changes of all present facts.
        trace: Signed differences of the trace, consolidated.
    """

    derived: Iterable[Changes] = ()
    closure: Iterable[Changes] = ()
    trace: Iterable[TraceRows] = ()


NO_CHANGES = EpochChanges()
"""Those of an epoch that are not read."""


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """What rules have done in an epoch. What lowering added counts for the rule it added it for.

    Attributes:
        rules: Number of rows of the program in effect: its rules in normal form, by index. Further
            rows are of the program before it, by index, in an epoch that changes the program.
        firings: Heads that were added or subtracted, each for one match, int64 of shape (n,).
        nanoseconds: Time of joins and reductions, int64 of shape (n,).
    """

    rules: int
    firings: NDArray[np.int64]
    nanoseconds: NDArray[np.int64]


UNLIMITED = 1 << 62
"""A budget that no epoch spends."""


class BudgetSpentError(Exception):
    """The rules have spent their budget before they were done; the epoch is not rolled back."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What the rules of an epoch have done, and what the state before it is like.

    Attributes:
        asserted: Facts that were asserted before it.
        derivations: How often facts were derived: the sum of their multiplicities before it.
        work: Work of the rules in this epoch so far, or in the last one, in a unit of the backend.
    """

    asserted: int
    derivations: int
    work: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Size of the state, and arithmetic overflows so far.

    Attributes:
        facts: Facts held, present or not, including those of hidden predicates.
        present: Facts present: the closure.
        asserted: Facts whose asserted multiplicity is positive.
        below_zero: Facts whose multiplicities sum to less than zero.
        trace_rows: (fact, iteration) pairs with a multiplicity.
        bytes: Memory in use by the state.
        overflows: Results of expressions and aggregates since the start without a value because
            they do not fit 64 bits.
        capacity: What facts and terms use, of what the backend can hold.
    """

    facts: int
    present: int
    asserted: int
    below_zero: int
    trace_rows: int
    bytes: int
    overflows: int
    capacity: Capacity


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Facts of one predicate that the state holds, as of an iteration of their strata.

    Attributes:
        args: Term ids, int32 of shape (n, arity); the other columns have shape (n,).
        stratum: int32, the stratum each fact belongs to; iterations count inside it.
        since: int32, the iteration since which the fact has been present; -1 if it is absent.
        until: int32, the first later iteration at which it is absent; -1 if there is none.
        asserted: int64, multiplicity at iteration 0.
        total: int64, sum of the multiplicities of all iterations.
    """

    args: NDArray[np.int32]
    stratum: NDArray[np.int32]
    since: NDArray[np.int32]
    until: NDArray[np.int32]
    asserted: NDArray[np.int64]
    total: NDArray[np.int64]

    def take(self, chosen: slice | NDArray[np.bool_] | NDArray[np.intp]) -> Selection:
        """The chosen facts."""
        return Selection(*(getattr(self, field.name)[chosen] for field in fields(self)))

    @classmethod
    def of(cls, parts: Sequence[Selection]) -> Selection:
        """The facts of selections, of which there is at least one."""
        import numpy as np  # noqa: PLC0415 - plans are printed without it

        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(each, name) for each in parts]) for name in names))


class Backend(Protocol):
    """Holds the trace and supplies the leaves; the engine chooses strata, iterations and nodes.

    Stratum 0 is the input: facts that no head derives. The others are numbered from 1 in dependency
    order. What adds to multiplicities raises MultiplicityOverflowError if a sum leaves their range.
    """

    def add(self, updates: Updates) -> None:
        """Add multiplicities to facts, mostly asserted ones, in the stratum each belongs to."""
        ...

    def migrate(self, change: ProgramChange) -> None:
        """Keep the state as another program needs it, from the beginning of an epoch.

        Multiplicities and transitions stay as they are. A rollback returns to the former program.
        """
        ...

    def evaluate(self) -> None:
        """Add or subtract what the rules of the change derive from all facts."""
        ...

    def retract(self, reduction: Reduction) -> None:
        """Subtract the results of a reduction of the former program."""
        ...

    def resettle(self, lattices: Sequence[Lattice]) -> None:
        """Touch what the change has changed, and the facts of lattices that one program lacks."""
        ...

    def effort(self) -> Effort | None:
        """What the epoch takes; None if it is not known, or if `recompute` has no room."""
        ...

    def limit(self, work: int) -> None:
        """Set the budget of each epoch from now on, until `recompute`.

        Args:
            work: Work after which `derive` raises BudgetSpentError, in the unit of `effort`.
        """
        ...

    def recompute(self) -> bool:
        """Begin the epoch anew: what it has asserted so far stays, nothing has been derived.

        All that is asserted acts as new, as in a load, and `changes` is the difference to the state
        before the epoch. There is no budget any more. Not in an epoch that changes the program.

        Returns:
            Whether it is so. If there is no room for a second state, only what the rules of this
            epoch did is undone.
        """
        ...

    def enter(self, stratum: int) -> None:
        """Start a stratum, with the final changes of lower strata as deltas at iteration 0."""
        ...

    def reduce(self, reduction: Reduction) -> None:
        """Replace the results of changed groups of a reduction; touches heads at iteration 1."""
        ...

    def next_touched(self, after: int) -> int:
        """The first iteration after *after* to settle, or -1 if the stratum is done.

        It has touched facts, or it is iteration 0 and the changes of lower strata are its deltas.
        """
        ...

    def present(self, predicate: str, bound: Mapping[int, int]) -> NDArray[np.int32]:
        """The present facts with these ids at these positions, as the epoch has settled so far.

        Returns:
            int32 of shape (n, arity), in no particular order.
        """
        ...

    def settle(self, iteration: int) -> int:
        """Update the stored transitions at *iteration* from the multiplicities.

        Returns:
            The number of facts whose transition at *iteration* changed: the delta.
        """
        ...

    def derive(self, iteration: int) -> None:
        """Evaluate the stratum's delta plans on the delta; touches heads at later iterations.

        Raises:
            BudgetSpentError: The rules have spent the budget; only `recompute` and `rollback` may
                follow.
        """
        ...

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        ...

    def work(self) -> Work:
        """What rules did in the last epoch that was committed; called before the next begins."""
        ...

    def commit(self) -> None:
        """Make the epoch's changes final."""
        ...

    def rollback(self) -> None:
        """Undo the epoch completely."""
        ...

    def restore(self, rows: Iterable[TraceRows]) -> None:
        """Load the trace of an earlier run into an empty state."""
        ...

    def trace(self, predicate: str, bound: Bound = NO_BOUND) -> TraceRows:
        """Every (fact, iteration, multiplicity) of the facts with these ids at these positions.

        Called between epochs, or in one: it then has the multiplicities that the epoch has given
        facts so far. It costs what `select` costs.

        Args:
            predicate: The predicate.
            bound: By position the id that facts have there, or several distinct ones of which they
                have one.

        Returns:
            The rows, those of absent facts included, in no particular order.
        """
        ...

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, int32 of shape (n, arity), in no particular order."""
        ...

    def facts_of(self, predicates: Iterable[str]) -> dict[str, NDArray[np.int32]]:
        """The same for each of some predicates, of which there may be thousands."""
        ...

    def asserted(self, predicate: str, args: NDArray[np.int32]) -> NDArray[np.int64]:
        """Multiplicities at iteration 0 of facts, 0 for those that the state does not hold.

        Called between epochs, or before anything is added in one.

        Args:
            predicate: Their predicate.
            args: Term ids, int32 of shape (n, arity); rows are distinct.

        Returns:
            int64 of shape (n,).
        """
        ...

    def members(self, predicate: str, keys: NDArray[np.int32]) -> NDArray[np.int32]:
        """The present facts that begin with one of these ids, in no particular order.

        Called between epochs, or before anything is added in one.

        Args:
            predicate: Their predicate, one of a source with keys.
            keys: Distinct term ids, int32 of shape (n,).

        Returns:
            int32 of shape (m, arity).
        """
        ...

    def select(
        self, predicate: str, bound: Mapping[int, int], iteration: int = LAST_ITERATION
    ) -> Selection:
        """The facts of a predicate with these ids at these positions, in no particular order.

        Includes facts that are held but absent. Called between epochs, or in one. If *bound* has a
        position, the cost is linear in the facts with its id, and linear in the state once: the
        first time that a position is bound, and again after an epoch that has made many facts.
        """
        ...

    def statistics(self) -> Statistics:
        """Size of the state."""
        ...
