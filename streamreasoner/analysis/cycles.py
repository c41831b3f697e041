"""Cyclic assignments. Invariant: each unbound variable is explained by one diagnostic.

A variable whose equality needs an unbound variable is unbound itself. Following these needs leads
either to a variable that nothing defines, which `safety` reports, or into a cycle.
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


class Cycles:
    """The equalities of a rule that bind nothing because they need unbound variables.

    Attributes:
        equalities: Unbound variable to its equalities, each with the unbound variables it needs.

    Args:
        filters: Literals of the body that are neither positive atoms nor assignments.
        bound: Bound variables.
    """

    def __init__(self, filters: tuple[Literal, ...], bound: frozenset[str]) -> None:
        self.equalities: dict[str, list[tuple[Literal, list[str]]]] = {}
        for literal in filters:
            for name, expression in definitions(literal, bound):
                needs = [
                    variable.name
                    for variable in variables(expression)
                    if variable.name not in bound
                ]
                self.equalities.setdefault(name, []).append((literal, needs))

    def report(self, undefined: list[str], prefixes: Mapping[str, str]) -> Iterator[Diagnostic]:
        """Report each cycle once; variables that need an `undefined` one are explained by that."""
        explained = set(undefined)
        for name in self.equalities:
            self._spread(explained)
            if name not in explained:
                members, equalities = self._cycle(name)
                explained.update(members)
                yield _circular(members, equalities, prefixes)

    def _spread(self, explained: set[str]) -> None:
        """Add the variables that need an explained one, transitively."""
        changed = True
        while changed:
            dependent = {
                name
                for name, equalities in self.equalities.items()
                if any(explained.intersection(needs) for _, needs in equalities)
            }
            changed = not dependent <= explained
            explained |= dependent

    def _cycle(self, name: str) -> tuple[list[str], list[Literal]]:
        """Follow the needs of `name` until a variable repeats."""
        path: list[str] = []
        used: list[Literal] = []
        while name not in path:
            path.append(name)
            # `?x = ?y` leads from ?x to ?y and straight back, so prefer another equality.
            others = [pair for pair in self.equalities[name] if pair[0] not in used[-1:]]
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
