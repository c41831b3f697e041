"""Facts, literals and rules as text. Invariant: IRIs are shortened by the program's prefixes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.explain.ground import atom_of
from streamreasoner.explain.proof import Absent, Satisfied
from streamreasoner.lang import ast
from streamreasoner.lang.printer import print_expression, print_literal, print_rule
from streamreasoner.query.facts import Fact

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ExplanationPrinter:
    """Prints the parts of an explanation.

    Attributes:
        prefixes: Prefix name to IRI.
    """

    prefixes: Mapping[str, str]

    def fact(self, fact: Fact) -> str:
        """`path(ex:a, ex:b)`."""
        return print_literal(atom_of(fact), self.prefixes)

    def part(self, part: ast.Literal | ast.Expression) -> str:
        """A literal or an expression."""
        match part:
            case ast.Atom() | ast.Negation() | ast.Comparison() | ast.Disjunction() | ast.Call():
                return print_literal(part, self.prefixes)
            case _:
                return print_expression(part, self.prefixes)

    def premise(self, premise: Fact | Absent | Satisfied) -> str:
        """A part of a body that holds."""
        match premise:
            case Fact():
                return self.fact(premise)
            case Absent(atom):
                return f"not {self.part(atom)}"
            case Satisfied(literal):
                return self.part(literal)

    def rule(self, rule: ast.Rule) -> str:
        """The rule in normal form, without its dot."""
        return print_rule(rule, self.prefixes).removesuffix(" .")
