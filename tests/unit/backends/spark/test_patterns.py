"""Patterns: tables and SQL keep the facts that match, argument by argument."""

from __future__ import annotations

from itertools import product

from oracle.arithmetic import numeral
from unit.backends.spark.in_driver import Steps

from streamreasoner.backends.spark.queries import patterns, sql
from streamreasoner.plan.operands import Column, Pattern, Value

STEPS = Steps("its(?x, ?y) :- e(?x, ?y) .")
ARGUMENTS = (None, Column("x"), Column("y"), *(Value(numeral(number)) for number in (1, 2, 9)))
PATTERNS = [
    Pattern(predicate, arguments)
    for predicate in ("e", "its")
    for arguments in product(ARGUMENTS, repeat=2)
]
INTERN = STEPS.terms.intern


def test_a_table_and_a_query_keep_the_facts_that_match():
    """A fact matches if it has the constants, and one term for each variable."""
    rows = STEPS.relation([(fact,) for fact in STEPS.facts])
    for pattern in PATTERNS:
        constants = patterns.encode(pattern, INTERN)
        tests = sql.filtered(patterns.matches(pattern, constants))
        matching = [[fact] for fact in STEPS.facts if _matches(pattern, fact)]
        table = patterns.match_table(rows.table, pattern, constants)

        assert _facts(STEPS.runner.from_table(table)) == matching
        assert _facts(STEPS.runner.query(tests, rows=rows)) == matching


def test_places_are_where_variables_are_first():
    """The other positions of a variable are repetitions of its place."""
    for pattern in PATTERNS:
        found = patterns.places(pattern)
        names = [each.name if isinstance(each, Column) else None for each in pattern.arguments]

        assert found == {name: names.index(name) for name in names if name}
        assert patterns.repeated(pattern) == [
            (found[name], position)
            for position, name in enumerate(names)
            if name and found[name] != position
        ]


def test_heads_are_those_of_the_strata():
    """Each head is there with its ids and the number of its stratum, counted from 1."""
    plan = Steps("h(?x, 1) :- e(?x, _) .\nh(?x, 2) :- e(_, ?x), not h(?x, 1) .").program.plan

    assert patterns.heads(plan, {numeral(1): 7, numeral(2): 8}.__getitem__) == [
        ("h", ((1, 7),), 1),
        ("h", ((1, 8),), 2),
    ]


def _facts(relation):
    return sorted(map(list, STEPS.read(relation)))


def _matches(pattern, fact):
    predicate, args = fact
    bound = {}
    return predicate == pattern.predicate and all(
        each is None
        or (bound.setdefault(each.name, arg) if isinstance(each, Column) else INTERN(each.term))
        == arg
        for each, arg in zip(pattern.arguments, args, strict=True)
    )
