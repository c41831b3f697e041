"""Trees to rule bodies. Invariant: a tree that a body cannot represent is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from streamreasoner.plan.algebra import (
    Antijoin,
    Delta,
    Extend,
    Incomplete,
    Join,
    PlanError,
    Product,
    Project,
    Relation,
    Scan,
    Select,
    spine,
)
from streamreasoner.plan.operands import Comparison, Computation, Pattern, Test
from streamreasoner.plan.program_plan import RuleBody

if TYPE_CHECKING:
    from streamreasoner.plan.algebra import Link


def body_of(tree: Relation, rule: int | None = None) -> RuleBody:
    """Convert a completely lowered tree to the body that delta plans are made from.

    Args:
        tree: A Project over joins, selections and computed columns.
        rule: Index of its source rule.

    Raises:
        PlanError: The tree is not completely lowered.
    """
    if not isinstance(tree, Project):
        raise PlanError("The tree of a rule must end in a Project.")
    parts = _Parts()
    parts.add(tree.input)
    return RuleBody(
        tree.head, tuple(parts.patterns), tuple(parts.negated), tuple(parts.conditions), rule
    )


@dataclass(slots=True)
class _Parts:
    patterns: list[Pattern] = field(default_factory=list)
    negated: list[Pattern] = field(default_factory=list)
    conditions: list[Comparison | Computation | Test] = field(default_factory=list)

    def add(self, node: Relation) -> None:
        """Add a node and all nodes below it, inputs first: computations come after their inputs."""
        leaf, links = spine(node)
        match leaf:
            case Scan(pattern) | Delta(pattern):
                self.patterns.append(pattern)
            case Product(inputs):
                for input_ in inputs:
                    self.add(input_)
            case Join(left, right):
                self.add(left)
                self.add(right)
            case _:
                assert_never(leaf)
        for link in links:
            self._add_link(link)

    def _add_link(self, link: Link) -> None:
        match link:
            case Select(_, Comparison() | Test() as condition):
                self.conditions.append(condition)
            case Extend(_, computation):
                self.conditions.append(computation)
            case Antijoin():
                self.negated.append(link.scan.pattern)
            case Select() | Project() | Incomplete():
                raise PlanError(f"{type(link).__name__} cannot be part of a rule body.")
            case _:
                assert_never(link)
