"""What the backend of a divided state asks of its parts, wherever they are.

Invariant: all parts take a step before any of them takes the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streamreasoner.engine.ports import EpochChanges
    from streamreasoner.engine.updates import TraceRows, Updates
    from streamreasoner.plan.program_change import ProgramChange
    from streamreasoner.plan.program_plan import Lattice, ProgramPlan, Reduction


class Parts(Protocol):
    """The parts of a state. An error of one is raised after all have taken the step.

    Attributes:
        count: How many there are.
    """

    count: int

    def ask(self, question: Callable[[Any], Any]) -> list[Any]:
        """What each part answers to a question, which is called with it."""
        ...

    def ask_each(self, questions: Sequence[Callable[[Any], Any] | None]) -> list[Any]:
        """The same with a question for each part, or none, which None answers."""
        ...

    def add(self, updates: Updates) -> None:
        """Add asserted multiplicities, those of each fact in the part that owns it."""
        ...

    def adopt(self, change: ProgramChange, owners: Owners) -> None:
        """Keep the state as another plan of a part needs it, until a rollback.

        Args:
            change: From the one plan to the other.
            owners: The owning argument of each predicate from now on.
        """
        ...

    def leave(self) -> None:
        """Send facts to the parts that own them now, and empty all copies."""
        ...

    def evaluate(self) -> None:
        """Evaluate the rules of the change, and send heads to their owners."""
        ...

    def retract(self, reduction: Reduction) -> None:
        """Subtract the results of a reduction, and send them to their owners."""
        ...

    def resettle(self, lattices: Sequence[Lattice]) -> None:
        """Touch what the change has changed."""
        ...

    def recompute(self) -> bool:
        """Begin the epoch anew; whether each part had room for a second state."""
        ...

    def enter(self, stratum: int) -> None:
        """Start a stratum."""
        ...

    def reduce(self, reduction: Reduction) -> None:
        """Replace results of a reduction, and send them to their owners."""
        ...

    def next_touched(self, after: int) -> int:
        """The first iteration after *after* that some part has to settle, or -1."""
        ...

    def settle(self, iteration: int) -> int:
        """Settle an iteration, and then copies; returns the number of deltas."""
        ...

    def derive(self, iteration: int) -> None:
        """Apply the deltas, and send heads to their owners."""
        ...

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        ...

    def commit(self) -> None:
        """Make the epoch's changes final."""
        ...

    def rollback(self) -> None:
        """Undo the epoch completely."""
        ...

    def load(self, rows: Sequence[TraceRows | None]) -> None:
        """Load a block of a trace: the rows that each part owns."""
        ...

    def finish_restore(self) -> None:
        """Settle what was loaded or sent, and copy it; a commit keeps it."""
        ...


Owners: TypeAlias = "Mapping[str, int | None]"
"""The owning argument of each predicate; None: one part owns all of its facts."""

Place: TypeAlias = "Callable[[ProgramPlan, Owners], Parts]"
"""Makes empty parts for the plan of a part."""
