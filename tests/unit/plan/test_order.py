"""The order of joins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.plan.algebra import Select
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.operands import Column, Pattern, Value
from streamreasoner.plan.order.expected import Heads
from streamreasoner.plan.order.small import small_predicates
from streamreasoner.program import check_text


def order(text):
    """The predicates that the plan of the first atom joins, in order, in the last stratum."""
    *_, stratum = lower(check_text(text)).strata
    return [join.scan.pattern.predicate for join in stratum.plans[0].steps]


def test_the_text_breaks_ties():
    """Two atoms with equally many open positions are joined as they are written."""
    assert order("h(?y, ?z) :- a(?x), first(?x, ?y), then(?x, ?z) .") == ["first", "then"]


def test_the_atom_that_leaves_less_open_is_joined_first():
    """An atom with fewer open positions comes first, whatever the text says."""
    text = "h(?y) :- a(?x), wide(?x, ?z, ?w, ?v), narrow(?x, ?y, ?z) ."
    assert order(text) == ["narrow", "wide"]


def test_conditions_run_as_soon_as_their_columns_are_bound():
    """Whatever the text says, and tests before computations, also those a computation enables."""
    text = "h(?w) :- a(?x), b(?x, ?y), ?v = ?y + 1, ?w = ?y * 2, ?v > 3, ?y > 1, ?x < 5 ."
    (stratum,) = lower(check_text(text)).strata
    steps = [
        node.condition.left.name if isinstance(node, Select) else type(node).__name__
        for node in stratum.plans[0].steps
    ]

    assert steps == ["x", "Join", "y", "Extend", "v", "Extend"]


def test_an_atom_that_shares_no_variable_is_last():
    """A product is never cheaper than a join, because each row meets all facts."""
    assert order("h(?y, ?z) :- a(?x), apart(?z), near(?x, ?y) .") == ["near", "apart"]


SCHEMA = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
some(?p, ?d, ?c) :- [?c, owl:someValuesFrom, ?d], [?c, owl:onProperty, ?p] .
"""


def test_what_follows_from_a_schema_is_joined_before_data():
    """Even if it has more open positions: each datum then meets the few axioms that name it."""
    rule = "h(?x, ?c) :- a(?y, ?d), b(?y, ?x), some(?p, ?d, ?c) ."
    assert order(SCHEMA + rule) == ["some", "b"]
    assert order(rule) == ["b", "some"]


def test_what_the_stratum_derives_is_joined_last():
    """It grows with each iteration; axioms that are given go first, though they bind more."""
    rule = "sub(?x, ?z) :- sub(?x, ?y), sub(?x, ?w), both(?y, ?w, ?z) ."
    assert order(rule) == ["both", "sub"]
    assert order(f"{rule}\nboth(?x, ?x, ?x) :- sub(?x, ?x) .") == ["sub", "both"]


A, B = "<urn:a>", "<urn:b>"
X, Y = Column("x"), Column("y")


@pytest.mark.parametrize(
    ("arguments", "derived"),
    [
        pytest.param((X, Y), True, id="any"),
        pytest.param((X, Value(A)), True, id="of one head"),
        pytest.param((Value(B), Y), True, id="of another"),
        pytest.param((Value(B), Value(A)), True, id="of either"),
        pytest.param((Value(A), Value(B)), False, id="of none"),
    ],
)
def test_a_head_derives_what_its_constants_allow(arguments, derived):
    """As `Pattern.fits` says of each head."""
    heads = [Pattern("p", (X, Value(A))), Pattern("p", (Value(B), X)), Pattern("q", (X, Y))]
    pattern = Pattern("p", arguments)

    assert Heads(heads).derive(pattern) == derived
    assert derived == any(head.fits("p", pattern.constants) for head in heads)


CELLS = st.tuples(*[st.sampled_from((X, Y, None, Value(A), Value(B)))] * 2)


@given(st.lists(CELLS, max_size=4), CELLS)
def test_the_index_of_heads_finds_what_a_search_does(heads, cells):
    """For any heads, of any constants."""
    patterns = [Pattern("p", each) for each in heads]
    pattern = Pattern("p", cells)

    found = any(head.fits("p", pattern.constants) for head in patterns)
    assert Heads(patterns).derive(pattern) == found


def test_a_predicate_is_small_only_if_all_its_rules_are():
    """Recursion is allowed, and a rule over data, or mere facts, make it large."""
    rules = """
        up(?a, ?b) :- [?a, rdfs:subClassOf, ?b] .
        up(?a, ?c) :- up(?a, ?b), up(?b, ?c), not asserted [?a, ex:old, _] .
        up(?a, ?b) :- asserted [?a, owl:equivalentClass, ?b] .
        mixed(?a) :- up(?a, _) .
        mixed(?a) :- [?a, ex:in, _] .
        over(?a) :- mixed(?a) .
        kind(?p) :- [?p, a, owl:TransitiveProperty] .
        typed(?x) :- [?x, a, ex:Thing] .
        fact(1) .
        copy(?x) :- fact(?x) .
    """
    prefixes = """
        @prefix ex: <http://example.org/> .
        @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"""
    assert small_predicates(check_text(prefixes + rules).rules) == {"up", "kind"}


def test_a_predicate_that_only_recursion_derives_is_of_the_input():
    """Nothing is known of its size, so the text breaks ties."""
    rules = [*check_text("p(?x, ?z) :- p(?x, ?y), p(?y, ?z) . q(1) :- p(1, 1) .").rules]

    assert small_predicates(rules) == frozenset()
