"""Formulas: what is not needed is not computed, and conditions have three outcomes."""

from __future__ import annotations

import pytest

from streamreasoner.lang.ast import Atom
from streamreasoner.lang.parser import parse
from streamreasoner.plan.expressions import application
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.values.formula import compute

TRUE, FALSE, NEITHER = "?x = 1", "?x = 2", "to_number(?s) = 1"


def value(text, x=1, s="s", *, overflowed=lambda: None):
    """The value of an expression of ?x and ?s, as a term."""
    head = parse(f"p({text}) :- q(?x, ?s) .").rules[0].head
    assert isinstance(head, Atom)
    function, variables = application(head.arguments[0])
    terms = {"x": to_ntriples(x), "s": to_ntriples(s)}
    return compute(function, [terms[each.name] for each in variables], overflowed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("coalesce(1 / 0, ?x)", 1),
        ("coalesce(?x, 1 / 0)", 1),
        ("coalesce(to_number(?s), ?s + 1)", None),
        ("coalesce(concat(?s, ?s), ?x)", "ss"),
        ("if(?x = 1, ?x + 1, 1 / 0)", 2),
        ("if(?x = 1, ?s + 1, 2)", None),
        ("if(?x = 1, coalesce(?s + 1, 7), 2)", 7),
        ("if(-?x < 0, if(?s = ?s, 1, 2), 3)", 1),
        ("if(to_number(?s) = 1, 1, 2)", None),
        ("coalesce(if(to_number(?s) = 1, 1, 2), 3)", 3),
    ],
)
def test_only_what_is_needed_is_computed(text, expected):
    """A part without a value matters only where the value is needed."""
    assert value(text) == (None if expected is None else to_ntriples(expected))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (f"({TRUE}, {TRUE})", True),
        (f"({TRUE}, {FALSE})", False),
        (f"({NEITHER}, {FALSE})", False),
        (f"({FALSE}, {NEITHER})", False),
        (f"({NEITHER}, {TRUE})", None),
        (f"({TRUE} | {NEITHER})", True),
        (f"({NEITHER} | {TRUE})", True),
        (f"({FALSE} | {FALSE})", False),
        (f"({NEITHER} | {FALSE})", None),
        ("not contains(?s, ?s)", False),
        ("not contains(?s, ?x)", None),
        ("not matches(?s, ?s)", False),
    ],
)
def test_conditions_are_those_of_sparql(condition, expected):
    """The tables of SPARQL 1.1, section 17.2, with `neither` for its error."""
    found = value(f"if({condition}, true, false)")

    assert found == (None if expected is None else to_ntriples(expected))


def test_an_overflow_is_reported_where_it_happens():
    """A part that is not computed cannot overflow."""
    calls = []
    text = "coalesce(9223372036854775807 + ?x, 1)"

    assert value(text, overflowed=lambda: calls.append(1)) == to_ntriples(1)
    assert value(f"if(?x = 2, {text}, 5)", overflowed=lambda: calls.append(2)) == to_ntriples(5)
    assert calls == [1]
