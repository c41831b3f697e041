"""Delta plans as nested loops of text. Invariant: one line per node, in evaluation order.

`Δ` is the delta that drives a plan, `for` a join and `if` a step that only removes rows; `old` and
`new` tell whether a join sees the transitions before or after the current settle step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from streamreasoner.plan.algebra import Antijoin, Delta, Extend, Filter, Join

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.plan.algebra import Arrangement, DeltaPlan, Node
    from streamreasoner.plan.print.parts import Text

_INDENT = "  "


def loops(plan: DeltaPlan, text: Text, arrangements: Mapping[Arrangement, str]) -> Iterator[str]:
    """The lines of a plan, each nested in the previous one.

    Args:
        plan: The plan.
        text: Prints its parts.
        arrangements: Their names.
    """
    for depth, node in enumerate(plan.nodes):
        yield _INDENT * depth + _line(node, text, arrangements)
    yield _INDENT * len(plan.nodes) + f"derive {text.pattern(plan.head)}"


def looks_up(join: Join) -> bool:
    """Whether all arguments of a join are bound: it looks up one fact, without an arrangement."""
    return len(join.key) + len(join.pattern.constants) == len(join.pattern.arguments)


def _line(node: Node, text: Text, arrangements: Mapping[Arrangement, str]) -> str:
    match node:
        case Delta(pattern, negated):
            return f"Δ {'not ' if negated else ''}{text.pattern(pattern)}"
        case Join(_, pattern, age) if not looks_up(node):
            return f"for {age.value} {text.pattern(pattern)} in {arrangements[node.arrangement]}"
        case Join(_, pattern, age):
            return f"if {age.value} {text.pattern(pattern)}"
        case Antijoin(_, pattern, age):
            return f"if not {age.value} {text.pattern(pattern)}"
        case Filter(_, condition):
            return f"if {text.condition(condition)}"
        case Extend(_, computation):
            word = "if" if node.checks else "let"
            return f"{word} {text.computation(computation, checks=node.checks)}"
        case _:
            assert_never(node)
