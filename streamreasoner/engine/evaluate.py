"""The walk over a delta plan. Invariant: it alone decides the order of a backend's leaves.

What a leaf returns is up to the backend, such as instructions that the columnar kernels interpret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, assert_never

from streamreasoner.plan.algebra import Antijoin, Extend, Join, Select

if TYPE_CHECKING:
    from streamreasoner.plan.algebra import Delta, Scan, Step
    from streamreasoner.plan.operands import Comparison, Computation, Pattern, Test
    from streamreasoner.plan.program_plan import DeltaPlan

R = TypeVar("R")
H_co = TypeVar("H_co", covariant=True)


class Leaves(Protocol[R, H_co]):
    """The relational operations of a backend on relations of type R; heads are of type H.

    A relation has the columns of its node, an iteration and a sign.
    """

    def delta(self, node: Delta) -> R:
        """The changed transitions of the settled delta, for facts matching the pattern."""
        ...

    def join(self, scan: Scan, left: R) -> R:
        """*left* joined with old or new transitions: greatest iteration, product of signs."""
        ...

    def antijoin(self, scan: Scan, left: R) -> R:
        """The rows of *left* whose fact of a lower stratum is absent, in its old or new state."""
        ...

    def select(self, condition: Comparison | Test, left: R) -> R:
        """The rows of *left* for which the condition holds."""
        ...

    def extend(self, computation: Computation, left: R) -> R:
        """The rows of *left* with a value, as a new column or equal to the existing one."""
        ...

    def project(self, left: R, head: Pattern) -> H_co:
        """The head facts of *left*, one iteration later."""
        ...


def evaluate(plan: DeltaPlan, leaves: Leaves[R, H_co]) -> H_co:
    """Evaluate what the delta of one atom derives, with the leaves of a backend."""
    rows = leaves.delta(plan.delta)
    for step in plan.steps:
        rows = applied(step, rows, leaves)
    return leaves.project(rows, plan.head)


def applied(step: Step, rows: R, leaves: Leaves[R, Any]) -> R:
    """The rows after a step."""
    match step:
        case Join():
            return leaves.join(step.scan, rows)
        case Antijoin():
            return leaves.antijoin(step.scan, rows)
        case Select():
            return leaves.select(step.test, rows)
        case Extend(_, computation):
            return leaves.extend(computation, rows)
        case _:
            assert_never(step)
