"""Queries over the state: the same lines for the same facts, and nothing changes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import THOROUGH

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.facts import FactPattern
from streamreasoner.lang.ast import Variable
from streamreasoner.lang.parser import parse
from streamreasoner.shell.listing import Queries
from streamreasoner.shell.output import FactPrinter

RULES = "@input c/1 .\nb(?x, ?y) :- a(?x, ?y) .\nb(?x, ?z) :- b(?x, ?y), a(?y, ?z) .\n"
TERMS = st.sampled_from((2, 10, 9.5, "x", "10"))
FACTS = st.lists(st.tuples(TERMS, TERMS), max_size=5)
PATTERNS = ("a(?x, ?y)", "b(_, ?y)", "b(?x, ?x)", "b(10, ?x)", "c(_)")


def pattern(text):
    """A pattern that is written as an atom."""
    atom = parse(f"p(1) :- {text} .").rules[0].body[0]
    return FactPattern(atom.predicate, atom.arguments)


def listed(queries):
    """Everything that can be asked."""
    found = [queries.predicates(), queries.rules(), queries.statistics(memory=False)]
    for each in map(pattern, PATTERNS):
        lines, total, number = queries.facts(each, None)
        assert (number, queries.count(each)[0].text) == (len(lines), total)
        assert queries.facts(each, 1) == (lines[:1], total, number)
        found += [lines, queries.trace(each)]
    return found


@settings(max_examples=500 if THOROUGH else 15)
@given(FACTS, st.randoms())
def test_the_lines_depend_on_the_facts_alone(facts, random):
    """Not on the order in which they came, nor on what was asked before."""
    shuffled = random.sample(facts, len(facts))
    first, second = (
        Queries(Reasoner.from_rules(RULES), FactPrinter({}), hidden=False) for _ in range(2)
    )
    first.reasoner.apply([Update("a", args) for args in facts])
    for args in shuffled:
        second.reasoner.apply([Update("a", args)])
    before = [second.reasoner.trace(name) for name in "abc"]
    found = listed(first)

    assert listed(second) == found == listed(first)
    assert [second.reasoner.trace(name) for name in "abc"] == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a(?x, ?y)", ["a(2, 10)", "a(9, 10)", "a(10, 2)"]),
        ("b(?x, ?x)", ["b(2, 2)", "b(10, 10)"]),
        ("b(9, _)", ["b(9, 2)", "b(9, 10)"]),
    ],
)
def test_facts_that_match_are_in_the_order_of_values(text, expected):
    """Numbers are sorted by value, not as text."""
    queries = Queries(Reasoner.from_rules(RULES), FactPrinter({}), hidden=False)
    queries.reasoner.apply([Update("a", args) for args in ((10, 2), (2, 10), (9, 10))])

    assert [line.text for line in queries.facts(pattern(text), None)[0]] == expected
    assert isinstance(pattern("b(?x, ?x)").arguments[0], Variable)
