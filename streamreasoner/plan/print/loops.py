"""Delta plans as nested loops of text. Invariant: one line per node, in evaluation order.

`Δ` is the delta that drives a plan, `for` a join, `times` one that only counts its matches, and
`if` a step that only removes rows; `old` and `new` tell whether a join sees the transitions before
or after the current settle step. `shared by` names the column of the delta on which all that
follows depends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from streamreasoner.plan.algebra import Antijoin, Arrangement, Extend, Join, Select
from streamreasoner.plan.counted import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.plan.algebra import Step
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.print.parts import Text
    from streamreasoner.plan.program_plan import DeltaPlan

_INDENT = "  "


def loops(
    plan: DeltaPlan,
    text: Text,
    arrangements: Mapping[Arrangement, str],
    heads: Sequence[Pattern],
) -> Iterator[str]:
    """The lines of a plan, each nested in the previous one.

    Args:
        plan: The plan.
        text: Prints its parts.
        arrangements: Their names.
        heads: What its stratum derives.
    """
    delta = plan.delta
    name = plan.shared_by(heads)
    shared = "" if name is None else f", shared by {text.column(name)}"
    lines = [f"Δ {'not ' if delta.negated else ''}{text.pattern(delta.pattern)}{shared}"]
    lines += [_line(step, bound, text, arrangements, heads) for step, bound in plan.bound_steps]
    lines.append(f"derive {text.pattern(plan.head)}")
    yield from (_INDENT * depth + line for depth, line in enumerate(lines))


def _line(
    step: Step,
    bound: frozenset[str],
    text: Text,
    arrangements: Mapping[Arrangement, str],
    heads: Sequence[Pattern],
) -> str:
    match step:
        case Join():
            scanned = f"{step.scan.age.value} {text.pattern(step.scan.pattern)}"
            arrangement = Arrangement.of(step.scan.pattern, bound)
            if arrangement is None:
                return f"if {scanned}"
            counts = counted(step.scan.pattern, bound, heads) is not None
            return f"{'times' if counts else 'for'} {scanned} in {arrangements[arrangement]}"
        case Antijoin():
            return f"if not {step.scan.age.value} {text.pattern(step.scan.pattern)}"
        case Select(_, condition):
            return f"if {text.condition(condition)}"
        case Extend(_, computation):
            checks = computation.column in bound
            return f"{'if' if checks else 'let'} {text.computation(computation, checks=checks)}"
        case _:
            assert_never(step)
