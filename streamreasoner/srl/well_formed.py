"""Well-formedness (SPARQL 1.2 RL, Well-formedness Conditions). Invariant: from left to right.

V is the set of variables defined so far: patterns define theirs, SET its own, FILTER and NOT none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang.ast import Variable
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.sparql.algebra import Apply, TripleTerm, variables_of
from streamreasoner.sparql.rule_set import Absence, Assignment, Filter, Triple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamreasoner.sparql.algebra import Expression, Node
    from streamreasoner.sparql.rule_set import Element, Rule, RuleSet


def ill_formed(rule_set: RuleSet) -> Iterator[Diagnostic]:
    """Report each use of a variable that is not defined before it, and each second definition."""
    for rule in rule_set.rules:
        defined: set[str] = set()
        yield from _elements(rule.body, defined)
        yield from _heads(rule, defined, rule_set.blank_nodes)


def variables(node: Expression | Node | Triple) -> Iterator[Variable]:
    """The variables of an expression, a term or a triple, in textual order."""
    match node:
        case Variable() | TripleTerm():
            yield from variables_of(node)
        case Apply(_, arguments):
            for each in arguments:
                yield from variables(each)
        case Triple():
            for term in node.terms:
                yield from variables(term)
        case _:
            pass


def _elements(elements: Iterable[Element], defined: set[str]) -> Iterator[Diagnostic]:
    for element in elements:
        match element:
            case Triple():
                defined.update(each.name for each in variables(element))
            case Filter(condition):
                yield from _undefined(condition, defined, "FILTER")
            case Absence(body):
                yield from _elements(body, {*defined})
            case Assignment(variable, expression):
                yield from _undefined(expression, defined, "SET")
                if variable.name in defined:
                    yield Diagnostic(
                        "SR271",
                        f"SET assigns ?{variable.name}, which is defined before it",
                        variable.span,
                        "assign another variable, and compare both: "
                        f"`FILTER (?{variable.name} = ?new)`",
                    )
                defined.add(variable.name)
            case _:
                assert_never(element)


def _undefined(expression: Expression, defined: set[str], where: str) -> Iterator[Diagnostic]:
    for each in variables(expression):
        if each.name not in defined:
            yield Diagnostic(
                "SR271",
                f"?{each.name} is not defined before this {where}",
                each.span,
                "a body is read from left to right: move the pattern that has the variable before "
                "it",
            )


def _heads(rule: Rule, defined: set[str], blank_nodes: frozenset[str]) -> Iterator[Diagnostic]:
    known = defined | blank_nodes
    for triple in rule.head:
        for each in variables(triple):
            if each.name not in known:
                yield Diagnostic(
                    "SR271",
                    f"?{each.name} of the head is not defined in the body",
                    each.span,
                    "a pattern or SET of the body defines it; what is in NOT stays inside",
                )
