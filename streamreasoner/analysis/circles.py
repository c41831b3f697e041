"""Assignments in a circle. Invariant: each unbound variable is explained by one mistake.

A variable whose equality needs an unbound variable is unbound itself. Following what is needed ends
at a variable that nothing defines, which safety reports, or comes round: that is a circle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.analysis.binding import definitions
from streamreasoner.lang.ast import variables
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.printer import print_literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.lang.ast import Literal


class Circles:
    """The equalities of a rule that bind nothing, as what they need has no value either.

    Attributes:
        equalities: Unbound variable to its equalities, with the unbound variables that each needs.

    Args:
        filters: Literals of the body that are neither positive atoms nor assignments.
        bound: Variables that are bound.
    """

    def __init__(self, filters: tuple[Literal, ...], bound: frozenset[str]) -> None:
        self.equalities: dict[str, list[tuple[Literal, list[str]]]] = {}
        for literal in filters:
            for name, expression in definitions(literal, bound):
                needs = [each.name for each in variables(expression) if each.name not in bound]
                self.equalities.setdefault(name, []).append((literal, needs))

    def report(self, loose: list[str], prefixes: Mapping[str, str]) -> Iterator[Diagnostic]:
        """Report each circle once; variables that need a `loose` one are explained by that."""
        explained = set(loose)
        for name in self.equalities:
            self._spread(explained)
            if name not in explained:
                members, equalities = self._circle(name)
                explained.update(members)
                yield _circular(members, equalities, prefixes)

    def _spread(self, explained: set[str]) -> None:
        """Add the variables that need an explained one, however far."""
        grown = True
        while grown:
            dependent = {
                name
                for name, equalities in self.equalities.items()
                if any(explained.intersection(needs) for _, needs in equalities)
            }
            grown = not dependent <= explained
            explained |= dependent

    def _circle(self, name: str) -> tuple[list[str], list[Literal]]:
        """Follow what is needed from `name` on until it comes round."""
        path: list[str] = []
        used: list[Literal] = []
        while name not in path:
            path.append(name)
            # `?x = ?y` leads from ?x to ?y and back: another equality says more.
            others = [each for each in self.equalities[name] if each[0] not in used[-1:]]
            literal, needs = (others or self.equalities[name])[0]
            used.append(literal)
            name = needs[0]
        start = path.index(name)
        return path[start:], used[start:]


def _circular(
    members: list[str], equalities: list[Literal], prefixes: Mapping[str, str]
) -> Diagnostic:
    ordered = sorted(dict.fromkeys(equalities), key=lambda literal: literal.span.start)
    printed = ", ".join(f"`{print_literal(literal, prefixes)}`" for literal in ordered)
    names = sorted(f"?{name}" for name in members)
    value = f"bind one of them in an atom of the body, or give it a value: `{names[0]} = …`"
    if len(ordered) < len(names):
        message = f"neither side of {printed} is bound by anything else"
        return Diagnostic("SR202", message, ordered[0].span, value)
    if len(names) == 1:
        message = f"'{names[0]}' is computed from itself: {printed}"
        hint = f"bind {names[0]} in an atom of the body, and give the result a name of its own"
    else:
        message = f"{' and '.join(names)} are computed from each other: {printed}"
        hint = value
    return Diagnostic("SR207", message, ordered[0].span, hint)
