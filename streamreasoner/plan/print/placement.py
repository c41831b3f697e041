"""How a program is divided among parts, as text. Invariant: the division is the one that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.plan.operands import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.plan.division import Division, Placed
    from streamreasoner.plan.print.parts import Text
    from streamreasoner.plan.program_plan import Copy, RulePlan


def owners(division: Division, arities: Mapping[str, int]) -> Iterator[str]:
    """The argument of each predicate that tells which part owns a fact."""
    for name, arity in arities.items():
        position = division.owners[name]
        owner = "one part owns all" if position is None else f"by argument {position}"
        yield f"{name}/{arity}: {owner}"


def homes(rules: Sequence[tuple[str, RulePlan, Placed]], text: Text) -> Iterator[str]:
    """Where each rule finds its solutions, and what its atoms read there.

    Args:
        rules: The rules, each with its label.
        text: Prints parts of plans.
    """
    for label, rule, placed in rules:
        home = placed.home
        where = (
            f"the owner of {text.pattern(home)}"
            if isinstance(home, Pattern)
            else f"the part of {text.column(home)}"
        )
        sent = "heads are sent to their owners" if placed.sends else "heads stay"
        yield f"{label}  in {where}; {sent}"
        for atom in rule.tree.patterns:
            yield f"  {text.pattern(atom)}: {_read(placed.reads.get(atom))}"
        for atom in rule.tree.negated:
            yield f"  not {text.pattern(atom)}: {_read(placed.reads.get(atom))}"


def copies(division: Division, text: Text) -> Iterator[str]:
    """The facts that parts have without owning them."""
    for copy in division.copies:
        yield f"{text.pattern(copy.pattern)}: {_read(copy)}"


def _read(copy: Copy | None) -> str:
    if copy is None:
        return "owned"
    return "in every part" if copy.position is None else f"a copy by argument {copy.position}"
