"""A hierarchy of a program, and the rules that keep track of what is stored of it.

A copy differs from the fact that it is made of in one argument, the class. Where no other rule
reads the copies at a class, they need not be stored: a fact and the hierarchy tell them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.lang import ast
from streamreasoner.lang.ast import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamreasoner.analysis.hierarchies.copying import Edges

CLASS = ast.Variable("#class", NOWHERE)
"""A variable that no rule has."""
_BELOW = ast.Variable("#below", NOWHERE)
_LACK = ast.Constant('"lack"', NOWHERE)
_EXCESS = ast.Constant('"excess"', NOWHERE)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Facts that rules copy from a class to those above it.

    Attributes:
        atom: An atom that the facts and their copies match: constants, and distinct variables.
        position: The position of the class; its argument is a variable.
        edges: What leads from a class to those above it, by copying rule.
        rules: The indexes of the copying rules.
        number: Which hierarchy of the program it is.
        schema: Atoms of constants and wildcards whose facts tell, with rules, what is wanted.
        steps: The same for what edges there are.
    """

    atom: ast.Atom
    position: int
    edges: tuple[Edges, ...]
    rules: tuple[int, ...]
    number: int
    schema: tuple[ast.Atom, ...] = ()
    steps: tuple[ast.Atom, ...] = ()

    @property
    def held(self) -> str:
        """The hidden predicate of the classes whose copies are stored; the engine asserts them."""
        return f"held@{self.number}"

    @property
    def wanted(self) -> str:
        """The hidden predicate of the classes whose copies rules read, and of those below them."""
        return f"wanted@{self.number}"

    @property
    def exists(self) -> str:
        """The hidden predicate that names predicates with facts, on which reading depends."""
        return f"exists@{self.number}"

    @property
    def differ(self) -> str:
        """The hidden predicate of `LACK`, if a wanted class is not held, and of `EXCESS`."""
        return f"differ@{self.number}"

    @property
    def hidden(self) -> tuple[str, ...]:
        """The hidden predicates, which have one argument."""
        return self.held, self.wanted, self.exists, self.differ

    def restricted(self, rule: ast.Rule, copied: Edges) -> ast.Rule:
        """A copying rule that makes copies at held classes only."""
        above = copied.atom.arguments[copied.above]
        held = ast.Atom(self.held, (above,), NOWHERE)
        return ast.Rule(rule.heads, (*rule.body, held), rule.span, rule.name)

    def upkeep(self, wanted: Sequence[ast.Rule]) -> Iterator[ast.Rule]:
        """The rules that tell which classes are wanted, given those of what is read."""
        yield from wanted
        for each in dict.fromkeys(self.edges):
            body = (ast.Atom(self.wanted, (CLASS,), NOWHERE), each.between(_BELOW, CLASS))
            yield rule_of(self.wanted, _BELOW, body)

    def comparison(self) -> Iterator[ast.Rule]:
        """The rules that compare the classes that are held with those that are wanted."""
        held, wanted = (ast.Atom(name, (CLASS,), NOWHERE) for name in (self.held, self.wanted))
        yield rule_of(self.differ, _LACK, (wanted, ast.Negation(held, NOWHERE)))
        yield rule_of(self.differ, _EXCESS, (held, ast.Negation(wanted, NOWHERE)))


Copied: TypeAlias = tuple[Hierarchy, ...]
"""What a program copies along hierarchies, encoded or not."""

LACK, EXCESS = _LACK.term, _EXCESS.term
"""The arguments of facts of `Hierarchy.differ`: a wanted class is not held, or another is."""


def rule_of(predicate: str, argument: ast.Expression, body: tuple[ast.Literal, ...]) -> ast.Rule:
    """A rule about a class."""
    return ast.Rule((ast.Atom(predicate, (argument,), NOWHERE),), body, NOWHERE)
