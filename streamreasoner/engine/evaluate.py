"""The walk over a delta plan. Invariant: it alone decides the order of a backend's leaves.

What a leaf returns is up to the backend: a DataFrame that Spark will run, or instructions that the
columnar kernels interpret.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, assert_never

from streamreasoner.plan.algebra import (
    Antijoin,
    Delta,
    DeltaPlan,
    Extend,
    Filter,
    Join,
    Node,
    Pattern,
)

R = TypeVar("R")
H_co = TypeVar("H_co", covariant=True)


class Leaves(Protocol[R, H_co]):
    """The relational operations of a backend on relations of type R; heads are of type H.

    A relation has the columns of its node, an iteration and a sign.
    """

    def delta(self, node: Delta) -> R:
        """The changed transitions of the settled delta, for facts matching the pattern."""
        ...

    def join(self, node: Join, left: R) -> R:
        """*left* joined with old or new transitions: greatest iteration, product of signs."""
        ...

    def antijoin(self, node: Antijoin, left: R) -> R:
        """The rows of *left* whose fact of a lower stratum is absent, in its old or new state."""
        ...

    def filter(self, node: Filter, left: R) -> R:
        """The rows of *left* for which the condition holds."""
        ...

    def extend(self, node: Extend, left: R) -> R:
        """The rows of *left* with a value, as a new column or equal to the existing one."""
        ...

    def project(self, left: R, head: Pattern) -> H_co:
        """The head facts of *left*, one iteration later."""
        ...


def evaluate(plan: DeltaPlan, leaves: Leaves[R, H_co]) -> H_co:
    """Evaluate what the delta of one atom derives, with the leaves of a backend."""
    return leaves.project(_walk(plan.input, leaves), plan.head)


def _walk(node: Node, leaves: Leaves[R, Any]) -> R:
    match node:
        case Delta():
            return leaves.delta(node)
        case Join():
            return leaves.join(node, _walk(node.input, leaves))
        case Antijoin():
            return leaves.antijoin(node, _walk(node.input, leaves))
        case Extend():
            return leaves.extend(node, _walk(node.input, leaves))
        case Filter():
            return leaves.filter(node, _walk(node.input, leaves))
        case _:
            assert_never(node)
