"""Rules that differ in constants. Invariant: what they derive stays the same, and its places.

Thousands of shapes, one for each class, that derive one property of their instances differ in the
class and in the value. They become facts of a table, and one rule that reads it:

    [?this, ex:hasTag, ?object] :- shacl_table1(?class, ?object), shacl_instance(?this, ?class) .
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.lang.ast import NOWHERE, TRIPLE, Atom, Constant, Rule, Variable
from streamreasoner.lang.constants import RDF_TYPE
from streamreasoner.shapes.rules.conformance import INSTANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.shapes.inference import ShapeRule

_Key: TypeAlias = "tuple[object, ...]"

LEAST = 32
"""Fewer rules stay as they are, each with its name in explanations."""

_THIS, _CLASS, _OBJECT = (Variable(name, NOWHERE) for name in ("this", "class", "object"))


def in_tables(rules: Sequence[Rule], inferred: dict[Rule, ShapeRule]) -> list[Rule]:
    """The rules, with tables in place of many that differ in class and object alone.

    Args:
        rules: The rules of shapes.
        inferred: The rules of shapes, by those that derive their triples; tables are added.
    """
    alike: dict[_Key, list[Rule]] = {}
    for rule in rules:
        if rule in inferred and _is_of_a_table(rule):
            owner = inferred[rule]
            key = rule.head.arguments[1], owner.layer, owner.order, owner.once
            alike.setdefault(key, []).append(rule)
    tables = [each for each in alike.values() if len(each) >= LEAST]
    replaced = {rule for table in tables for rule in table}
    made = [rule for rule in rules if rule not in replaced]
    for number, table in enumerate(tables, start=1):
        name = f"shacl_table{number}"
        first = table[0]
        head = Atom(TRIPLE, (_THIS, first.head.arguments[1], _OBJECT), NOWHERE)
        body = Atom(name, (_CLASS, _OBJECT), NOWHERE), Atom(INSTANCE, (_THIS, _CLASS), NOWHERE)
        rule = Rule((head,), body, first.span)
        inferred[rule] = inferred[first]
        made.append(rule)
        for each in table:
            columns = each.atoms[0].arguments[1], each.head.arguments[2]
            made.append(Rule((Atom(name, columns, each.span),), (), each.span))
    return made


def _is_of_a_table(rule: Rule) -> bool:
    match rule:
        case Rule(
            (Atom(predicate, (Variable("this"), Constant(verb), Constant())),),
            (Atom(of, (Variable("this"), Constant())),),
        ):
            return predicate == TRIPLE and of == INSTANCE and verb != RDF_TYPE
        case _:
            return False
