"""Binding: which equalities bind variables of a rule, and which are filters."""

from __future__ import annotations

import pytest

from streamreasoner.errors import ProgramError
from streamreasoner.lang.binding import bindings
from streamreasoner.lang.parser import parse
from streamreasoner.lang.printer import print_expression, print_literal
from streamreasoner.program.checked import check_text


def bound(body, head="p(1)"):
    """The assignments and the filters of a rule with this body, printed."""
    found = bindings(parse(f"{head} :- {body} .").rules[0])
    return (
        [f"{name} := {print_expression(expression)}" for name, expression in found.assignments],
        [print_literal(literal) for literal in found.filters],
    )


def codes(text):
    """Codes of the errors in a text."""
    with pytest.raises(ProgramError) as caught:
        check_text(text)
    return [item.code for item in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("body", "assignments", "filters"),
    [
        ("a(?x)", [], []),
        ("a(?x), ?y = ?x + 1", ["y := ?x + 1"], []),
        ("a(?x), ?x + 1 = ?y", ["y := ?x + 1"], []),
        ("?y = ?x + 1, a(?x)", ["y := ?x + 1"], []),
        ("a(?x), ?z = ?y * 2, ?y = ?x + 1", ["y := ?x + 1", "z := ?y * 2"], []),
        ("a(?x), ?y = 1, ?y = ?x", ["y := 1"], ["?y = ?x"]),
        ("a(?x), ?y = ?x, ?z = ?y", ["y := ?x", "z := ?y"], []),
        ("a(?x, ?y), ?y = ?x + 1", [], ["?y = ?x + 1"]),
        ("a(?x), b(?y + 1), ?y = ?x", ["y := ?x"], []),
        ("a(?x), ?x < 3, not b(?x), is_iri(?x)", [], ["?x < 3", "not b(?x)", "is_iri(?x)"]),
        ("a(?x), not b(?y), ?y = ?x + 1", ["y := ?x + 1"], ["not b(?y)"]),
        ("a(?x), ?x = ?y, ?y = 1, ?x = 2", ["y := ?x"], ["?y = 1", "?x = 2"]),
        ("a(?x), ?u = ?v, ?v = ?x, ?u = 5", ["v := ?x", "u := ?v"], ["?u = 5"]),
        ("a(_), ?y = 1, ?y = 1", ["y := 1"], ["?y = 1"]),
        ("a(?x), ?y != ?x", [], ["?y != ?x"]),
        ("a(?x), ?y = ?y", [], ["?y = ?y"]),
        ("a(?x), ?y = ?z", [], ["?y = ?z"]),
    ],
)
def test_the_first_equality_that_can_bind_does(body, assignments, filters):
    """An equality binds the unbound variable on one of its sides; afterwards it is a comparison."""
    assert bound(body) == (assignments, filters)


def test_what_is_assigned_may_be_used_everywhere():
    """Heads, negations, tests, comparisons, aggregates and atoms may use assigned variables."""
    checked = check_text("""
        p(?y, ?z + 1) :- a(?x), ?y = ?x + 1, ?z = ?y * 2, not b(?z, _), ?y < 9, c(?z * 2) .
        q(?x, sum(?y)) :- a(?x), ?y = ?x * 2, is_number(?y) .
    """)

    assert checked.warnings == ()


def test_each_alternative_binds_on_its_own():
    """A variable may be assigned in one alternative and be an argument in another."""
    text = "p(?x, ?y) :- a(?x), (b(?x, ?y) | ?y = ?x + 1{}) ."

    assert [len(bindings(rule).assignments) for rule in check_text(text.format("")).rules] == [0, 1]
    assert codes(text.format(" | c(?x)")) == ["SR201"]


def test_a_body_without_atoms_binds_by_assignments():
    """It has one match, so nothing is unbound."""
    assert check_text("p(?x, ?y) :- not a(1), ?x = 1, ?y = ?x + 1 .").strata == ((0,),)
    assert check_text("p(?x, ?y) :- ?x = 1, ?y = ?x + 1 .").warnings == ()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a(?x), ?y = ?y + 1", ["SR207"]),
        ("a(?x), ?y = ?z + 1, ?z = ?y - 1", ["SR207"]),
        ("a(?x), ?y = ?z + 1, ?z = ?w, ?w = -?y", ["SR207"]),
        ("a(?x), ?y = ?z", ["SR202"]),
        ("a(?x), ?y = ?z + 1", ["SR202"]),
        ("a(?x), ?y = ?z + ?w, ?w = ?w + 1", ["SR202", "SR207"]),
        ("a(?x), ?y < 3, ?y < ?z", ["SR201", "SR202"]),
        ("a(?x + ?y)", ["SR202", "SR202"]),
        ("a(?x), not b(?y)", ["SR201"]),
        ("not a(?y), ?x = 1", ["SR201"]),
    ],
)
def test_an_unbound_variable_is_reported_once_at_its_root(body, expected):
    """Its other occurrences, and what is computed from it, are not reported as well."""
    assert codes(f"p(?x, ?y) :- {body} .") == expected
