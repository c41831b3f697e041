"""A program with the ids of its constants. Invariant: what queries need of it is computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.backends.spark.queries import columns, sql
from streamreasoner.backends.spark.queries.columns import PLAIN
from streamreasoner.backends.spark.queries.patterns import encode, heads
from streamreasoner.state.version import StateVersion

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.plan.program_plan import ProgramPlan


@dataclass(frozen=True, slots=True)
class EncodedProgram:
    """What queries need to know of a program.

    Attributes:
        plan: The program.
        width: Number of argument columns: the largest arity.
        stratum_of: SQL for the stratum of a fact; 0 if no head derives it.
        lattice_of: SQL for the number of the lattice that a fact belongs to, or PLAIN.
        meaning: A text of all that the stored transitions depend on.
    """

    plan: ProgramPlan
    width: int
    stratum_of: str
    lattice_of: str
    meaning: str

    @classmethod
    def of(cls, plan: ProgramPlan, intern: Callable[[str], int]) -> EncodedProgram:
        """Encode the constants of a program."""
        strata = heads(plan, intern)
        lattices = [
            (lattice.pattern.predicate, encode(lattice.pattern, intern), number)
            for number, lattice in enumerate(plan.lattices)
        ]
        return cls(
            plan,
            width=max(1, *plan.arities.values()),
            stratum_of=sql.first_that_holds(strata, 0),
            lattice_of=sql.first_that_holds(lattices, PLAIN),
            meaning=repr((StateVersion.current(), strata, lattices, plan.lattices)),
        )

    @property
    def fact(self) -> tuple[str, ...]:
        """The columns that identify a fact."""
        return columns.fact(self.width)
