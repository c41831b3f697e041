"""Negation that is circular. Invariant: what is shown is a cycle of rules of the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.derive import derive
from streamreasoner.analysis.strata.guards import is_flow
from streamreasoner.lang.diagnostic import line_of
from streamreasoner.lang.printer import print_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streamreasoner.analysis.strata.derive import Reason
    from streamreasoner.analysis.strata.guards import Guarded
    from streamreasoner.lang.ast import Atom, Expression, Rule


@dataclass(frozen=True, slots=True)
class Circle:
    """A cycle through negation.

    Attributes:
        rule: Index of a rule of it that negates.
        guard: What it negates.
        steps: The cycle as text.
    """

    rule: int
    guard: Atom
    steps: str


def circle(
    guarded: Guarded,
    rules: Sequence[Rule],
    facts: Iterable[Atom],
    prefixes: Mapping[str, str],
) -> Circle | None:
    """A cycle through negation that facts close; None if there is none.

    Args:
        guarded: How the schema decides the negation of a stratum.
        rules: The rules of the program in normal form.
        facts: The facts that its rules read.
        prefixes: Prefixes to print IRIs with.
    """
    reasons = derive(guarded.rules, (*guarded.facts, *facts))
    reason = reasons.get(guarded.circular)
    if reason is None:
        return None
    shown = _Shown(guarded, rules, reasons, prefixes)
    first = reason[1][0]
    if is_flow(first):
        return shown.to_guide(first)
    return shown.to_itself(first)


class _Shown:
    """The steps of a cycle as text."""

    def __init__(
        self,
        guarded: Guarded,
        rules: Sequence[Rule],
        reasons: Mapping[Atom, Reason],
        prefixes: Mapping[str, str],
    ) -> None:
        self._guarded = guarded
        self._rules = rules
        self._reasons = reasons
        self._prefixes = prefixes
        self._guards: dict[Expression, Atom] = {
            term: guard for guard, term in guarded.guards.items()
        }

    def to_guide(self, flow: Atom) -> Circle:
        """A guide that depends on what it guides."""
        guide = next(each for each in self._guarded.guides if self._guarded.reaches(flow, each))
        last = ", and says what rules derive, so it cannot depend on a negation"
        return self._circle([(flow, guide)], last)

    def to_itself(self, late: Atom) -> Circle:
        """Guards each of which waits for the one before, until one is met again."""
        path: list[tuple[Atom, Expression]] = []
        seen: dict[Expression, int] = {}
        while late.arguments[0] not in seen:
            seen[late.arguments[0]] = len(path)
            reason = self._reasons[late]
            assert reason is not None  # noqa: S101 - the path is longer than there are guards
            flow, before, _ = reason[1]
            path.append((flow, late.arguments[0]))
            late = before
        cycle = path[seen[late.arguments[0]] :][::-1]
        return self._circle([(flow, self._guards[term]) for flow, term in cycle], "")

    def _circle(self, path: Sequence[tuple[Atom, Atom]], last: str) -> Circle:
        steps: list[str] = []
        index = -1
        for flow, target in path:
            chain = self._chain(flow)
            first, _ = chain[0]
            index = first if index < 0 else index
            steps.append(f"{self._head(first)} needs not {self._text(self._guard_of(flow))}")
            for number, guides in chain[1:]:
                by = "".join(f" by {self._text(each)}" for each in guides)
                steps.append(f"{self._head(number)} follows from it{by}")
            steps[-1] += f", which may be {self._text(target)}"
        return Circle(index, self._guard_of(path[0][0]), "; ".join(steps) + last)

    def _chain(self, flow: Atom) -> list[tuple[int, tuple[Atom, ...]]]:
        """The rules that lead to a kind of facts, with the facts of their guides."""
        chain: list[tuple[int, tuple[Atom, ...]]] = []
        while True:
            reason = self._reasons[flow]
            if reason is None:
                return [(self._guarded.sources[flow], ()), *chain[::-1]]
            rule, premises = reason
            before = [each for each in premises if is_flow(each)]
            guides = tuple(each for each in premises if each not in before)
            chain.append((self._guarded.sources[rule], guides))
            if not before:
                return chain[::-1]
            flow = before[0]

    def _guard_of(self, flow: Atom) -> Atom:
        return self._guards[flow.arguments[0]]

    def _head(self, index: int) -> str:
        rule = self._rules[index]
        return f"{self._text(rule.head)} ({line_of(rule.span, self._rules[0].span)})"

    def _text(self, atom: Atom) -> str:
        return print_literal(atom, self._prefixes)
