"""The oracle on cases small enough to work out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from oracle import closure, derived, evaluate, holds
from strategies import scenarios, total

from streamreasoner.analysis import check_text
from streamreasoner.lang.ast import Comparison, Constant, Span

XSD = "http://www.w3.org/2001/XMLSchema#"
SPAN = Span("x", 1, 1, 1, 2, 0, 1)
PATH = check_text("path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z) .")


def edges(*pairs):
    """Facts of `edge`, once each."""
    return {("edge", tuple(pair)): 1 for pair in pairs}


def test_a_trace_counts_derivations_by_the_iteration_they_are_complete():
    """On a chain of three edges the longest path has two derivations, complete at iteration 2."""
    trace = evaluate(PATH, edges("ab", "bc", "cd"))

    assert trace["path", ("a", "b")] == {1: 1}
    assert trace["path", ("a", "c")] == {2: 1}
    assert trace["path", ("a", "d")] == {3: 2}
    assert len(closure(trace)) == 9
    assert len(derived(trace)) == 6


def test_a_fact_below_zero_needs_as_many_derivations_to_appear():
    """A fact asserted -2 times and derived at 1, 1 and 2 is present from iteration 2 on."""
    checked = check_text(
        "q(?x) :- a(?x) .\nq(?x) :- b(?x) .\nq(?x) :- q(?y), next(?y, ?x) .\nr(?x) :- q(?x) ."
    )
    facts = {("a", ("1",)): 1, ("b", ("1",)): 1, ("a", ("0",)): 1, ("next", ("0", "1")): 1}
    trace = evaluate(checked, {**facts, ("q", ("1",)): -2})

    assert trace["q", ("1",)] == {0: -2, 1: 2, 2: 1}
    assert trace["r", ("1",)] == {1: 1}
    assert ("q", ("1",)) not in closure(evaluate(checked, {**facts, ("q", ("1",)): -3}))


def test_lower_strata_are_seen_at_iteration_zero():
    """However late a fact appears in its stratum, the next stratum begins with it."""
    checked = check_text(
        "p(?y) :- p(?x), next(?x, ?y) .\ntop(?x) :- p(?x), last(?x) .",
    )
    facts = {("next", pair): 1 for pair in (("1", "2"), ("2", "3"))}
    trace = evaluate(checked, {**facts, ("p", ("1",)): 1, ("last", ("3",)): 1})

    assert trace["p", ("3",)] == {2: 1}
    assert trace["top", ("3",)] == {1: 1}


def test_wildcards_count_every_fact():
    """Each combination of body facts is one derivation, also those a wildcard matches."""
    trace = evaluate(check_text("node(?x) :- edge(?x, _) ."), edges("ab", "ac", "ad"))

    assert trace["node", ("a",)] == {1: 3}


@pytest.mark.parametrize(
    ("left", "right", "true"),
    [
        (f'"1"^^<{XSD}integer>', f'"1.0"^^<{XSD}decimal>', "= <= >="),
        (f'"1"^^<{XSD}integer>', f'"1.5E0"^^<{XSD}double>', "!= < <="),
        (
            f'"9223372036854775807"^^<{XSD}integer>',
            f'"9223372036854775806"^^<{XSD}long>',
            "!= > >=",
        ),
        ('"a"', '"b"', "!= < <="),
        ('"\\n"', '"a"', "!= < <="),
        ('"1"', f'"1"^^<{XSD}integer>', "!="),
        ('"a"@en', '"b"@en', "!="),
        ("<http://example.org/a>", "<http://example.org/b>", "!="),
        ("<http://example.org/a>", "<http://example.org/a>", "= <= >="),
        (f'"NaN"^^<{XSD}double>', f'"1"^^<{XSD}integer>', "!="),
        (f'"NaN"^^<{XSD}double>', f'"NaN"^^<{XSD}double>', "= <= >="),
        (f'"false"^^<{XSD}boolean>', f'"1"^^<{XSD}boolean>', "!= < <="),
        (f'"2020-01-01"^^<{XSD}date>', f'"2020-01-01T00:00:00Z"^^<{XSD}dateTime>', "= <= >="),
        (f'"ten"^^<{XSD}integer>', f'"1"^^<{XSD}integer>', "!="),
    ],
)
def test_comparisons_are_of_values(left, right, true):
    """Numbers, strings, booleans and instants compare by value, all else is only itself."""
    found = [
        operator
        for operator in ("=", "!=", "<", "<=", ">", ">=")
        if holds(Comparison(Constant(left, SPAN), operator, Constant(right, SPAN), SPAN), {})
    ]

    assert found == true.split()


@given(scenarios())
def test_generated_programs_are_accepted_and_their_traces_are_minimal(scenario):
    """The strategy yields legal programs, and no trace holds a zero or a count before its time."""
    trace = evaluate(scenario.checked, total(scenario.epochs))

    assert all(counts and all(counts.values()) for counts in trace.values())
    assert all(count > 0 for counts in trace.values() for i, count in counts.items() if i)
    assert derived(trace) <= closure(trace) <= trace.keys()
