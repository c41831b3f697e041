"""Facts, literals and rules as text. Invariant: IRIs are shortened by the program's prefixes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.told_apart import APART, Written
from streamreasoner.explain.ground import atom_of
from streamreasoner.explain.proof import Absent, Satisfied
from streamreasoner.facts import Fact
from streamreasoner.lang import ast
from streamreasoner.lang.printer import print_expression, print_literal, print_rule

if TYPE_CHECKING:
    from collections.abc import Container, Mapping


@dataclass(frozen=True, slots=True)
class ExplanationPrinter:
    """Prints the parts of an explanation.

    Attributes:
        prefixes: Prefix name to IRI.
        hidden: Predicates whose atoms are left out of rules.
        written: Rules and atoms as they are written.
    """

    prefixes: Mapping[str, str]
    hidden: frozenset[str] = frozenset()
    written: Written = field(default=Written(()), compare=False, repr=False)

    def fact(self, fact: Fact) -> str:
        """`path(ex:a, ex:b)`."""
        return print_literal(self.written.atom(atom_of(fact)), self.prefixes)

    def part(self, part: ast.Literal | ast.Expression) -> str:
        """A literal or an expression."""
        match part:
            case ast.Atom():
                return print_literal(self.written.atom(part), self.prefixes)
            case ast.Negation(ast.Atom() as atom):
                return f"not {self.part(atom)}"
            case (
                ast.Negation()
                | ast.NegatedBody()
                | ast.Comparison()
                | ast.Disjunction()
                | ast.Call()
            ):
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
        rule = self.written.rule(rule)
        body = tuple(each for each in rule.body if not is_left_out(rule, each, self.hidden))
        text = print_rule(replace(rule, body=body), self.prefixes).removesuffix(" .")
        if len(body) == len(rule.body):
            return text
        return f"{text}, …" if body else f"{text} :- …"


def is_left_out(rule: ast.Rule, literal: ast.Literal, hidden: Container[str]) -> bool:
    """Whether an explanation says nothing of a literal, as it is about hidden predicates.

    A negation is part of what a rule says, unless its name or a comparison says it.
    """
    match literal:
        case ast.Atom(predicate):
            return predicate in hidden
        case ast.Negation(ast.Atom(predicate)):
            said = rule.name is not None or f"__{ast.UNDECIDED}" in predicate
            return predicate in hidden and said and not predicate.endswith(APART)
        case _:
            return False
