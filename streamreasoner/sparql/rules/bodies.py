"""Solutions as bodies of rules. Invariant: a body's matches are the solutions, one for one.

A pattern is a list of bodies, whose solutions are those of all of them. Which variables a body
binds is known from the body alone: a variable is bound in each of its solutions, in none, or it may
hold the constant `UNBOUND`, as an argument of an atom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import (
    NOWHERE,
    Atom,
    Comparison,
    Constant,
    Variable,
)
from streamreasoner.lang.binding import bound_by
from streamreasoner.lang.traversal import substituted, variables
from streamreasoner.rdf.vocabulary import UNBOUND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streamreasoner.lang.ast import Expression, Literal


@dataclass(frozen=True, slots=True)
class Body:
    """A conjunction of literals and the variables that it binds.

    Attributes:
        literals: What holds.
        bound: Names of the variables that are bound in every solution, in textual order.
        maybe: Names of the variables that may hold `UNBOUND`, in textual order.
    """

    literals: tuple[Literal, ...] = ()
    bound: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All variables that have a value in it."""
        return self.bound + self.maybe

    @property
    def computed(self) -> frozenset[str]:
        """Variables that no atom binds, so that an equality binds them."""
        return frozenset(self.bound).difference(bound_by_atoms(self.literals))

    def having(self, literals: Iterable[Literal], bound: Iterable[str] = ()) -> Body:
        """The body with more literals, which bind more variables."""
        names = dict.fromkeys((*self.bound, *bound))
        maybe = tuple(name for name in self.maybe if name not in names)
        return Body((*self.literals, *literals), tuple(names), maybe)

    def argument(self, name: str) -> Expression:
        """A variable as an argument of a head: itself, or `UNBOUND`."""
        known = name in self.bound or name in self.maybe
        return Variable(name, NOWHERE) if known else Constant(UNBOUND, NOWHERE)

    def split(self, names: Iterable[str]) -> list[Body]:
        """Bodies with the same solutions, in which these variables are bound or not."""
        bodies = [self]
        for name in names:
            if name in self.maybe:
                bodies = [part for body in bodies for part in _split(body, name)]
        return bodies

    def renamed(self, names: Mapping[str, str]) -> Body:
        """The body with other names of variables."""
        terms = {old: Variable(new, NOWHERE) for old, new in names.items()}
        return Body(
            tuple(substituted(literal, terms) for literal in self.literals),
            tuple(dict.fromkeys(names.get(name, name) for name in self.bound)),
            tuple(dict.fromkeys(names.get(name, name) for name in self.maybe)),
        )


NOTHING_GIVEN = Body()
"""No variable has its value before the query."""


def bound_by_atoms(literals: Iterable[Literal]) -> set[str]:
    """The variables that are arguments of positive atoms."""
    return {name for literal in literals if isinstance(literal, Atom) for name in bound_by(literal)}


def names_of(literals: Iterable[Literal]) -> dict[str, None]:
    """The variables of literals, in textual order."""
    return {variable.name: None for literal in literals for variable in variables(literal)}


def _split(body: Body, name: str) -> tuple[Body, Body]:
    unbound = Constant(UNBOUND, NOWHERE)
    test = Comparison(Variable(name, NOWHERE), "!=", unbound, NOWHERE)
    maybe = tuple(other for other in body.maybe if other != name)
    present = Body((*body.literals, test), (*body.bound, name), maybe)
    literals = tuple(substituted(literal, {name: unbound}) for literal in body.literals)
    return present, Body(literals, body.bound, maybe)
