"""Reasons for the order of strata. Invariant: a reason names an atom and the rules deriving it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.dependency import unifies
from streamreasoner.lang.ast import Atom, Constant, Negation
from streamreasoner.lang.normal_form import aggregates_matches
from streamreasoner.lang.printer import print_literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.lang.ast import Rule
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_plan import ProgramPlan
    from streamreasoner.program.checked import CheckedProgram


@dataclass(frozen=True, slots=True)
class _Need:
    rule: int
    how: str
    atom: Atom
    derivers: tuple[int, ...]


class Reasons:
    """The dependencies of the rules of each stratum."""

    def __init__(
        self, checked: CheckedProgram, plan: ProgramPlan, prefixes: Mapping[str, str]
    ) -> None:
        self._rules = checked.rules
        self._plan = plan
        self._prefixes = prefixes
        heads: dict[str, list[tuple[int, Pattern]]] = {}
        for number, stratum in enumerate(plan.strata, start=1):
            for head in stratum.heads:
                heads.setdefault(head.predicate, []).append((number, head))
        self._derived_in = {
            index: next(
                number for number, head in heads[rule.head.predicate] if _covers(head, rule.head)
            )
            for index, rule in enumerate(checked.rules)
        }
        self._derivers: dict[str, list[int]] = {}
        for index, rule in enumerate(checked.rules):
            self._derivers.setdefault(rule.head.predicate, []).append(index)

    def is_recursive(self, number: int) -> bool:
        """Whether a rule of the stratum reads what the stratum derives."""
        return any(
            self._derived_in[deriver] == number
            for need in self._needs(number)
            for deriver in need.derivers
        )

    def of(self, number: int) -> Iterator[str]:
        """Reasons for the position of a stratum of the plan, counted from 1."""
        for need in self._needs(number):
            strata: dict[int, list[str]] = {}
            for deriver in need.derivers:
                label = f"R{deriver + 1}"
                strata.setdefault(self._derived_in[deriver], []).append(label)
            sources = ", ".join(
                f"S{stratum} ({', '.join(labels)})" for stratum, labels in sorted(strata.items())
            )
            if sources:
                atom = print_literal(need.atom, self._prefixes)
                yield f"R{need.rule + 1} {need.how} {atom} of {sources}"

    def _needs(self, number: int) -> Iterator[_Need]:
        rules = self._plan.strata[number - 1].rules
        for index in dict.fromkeys(rule.source for rule in rules if not rule.added):
            rule = self._rules[index]
            for how, atom in dict.fromkeys(_atoms(rule)):
                derivers = tuple(
                    other
                    for other in self._derivers.get(atom.predicate, ())
                    if unifies(atom, self._rules[other].head)
                )
                yield _Need(index, how, atom, derivers)


def _atoms(rule: Rule) -> Iterator[tuple[str, Atom]]:
    aggregated = aggregates_matches(rule.head)
    for literal in rule.body:
        match literal:
            case Atom():
                yield "aggregates" if aggregated else "reads", literal
            case Negation(Atom() as atom):
                yield "negates", atom
            case _:
                pass


def _covers(pattern: Pattern, head: Atom) -> bool:
    """Whether the constants of a head agree with a pattern that a stratum derives."""
    constants = dict(pattern.constants)
    return all(
        constants.get(position, argument.term) == argument.term
        for position, argument in enumerate(head.arguments)
        if isinstance(argument, Constant)
    )
