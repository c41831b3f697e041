"""Facts that match a pattern, and their order."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.facts import Fact, FactPattern, decode_facts, in_order, matching, sort_key
from streamreasoner.lang.ast import NOWHERE, Constant, Variable, Wildcard
from streamreasoner.rdf.dictionary import Dictionary

XSD = "http://www.w3.org/2001/XMLSchema#"
IN_ORDER = (
    "_:b",
    "<http://e/a>",
    "<http://e/b>",
    f'"true"^^<{XSD}boolean>',
    f'"-1"^^<{XSD}integer>',
    f'"2"^^<{XSD}integer>',
    f'"2.5"^^<{XSD}decimal>',
    f'"10"^^<{XSD}integer>',
    f'"2026-01-01"^^<{XSD}date>',
    '"10"',
    '"2"',
)


def test_facts_are_sorted_by_value():
    """Facts are sorted by predicate, then by the total order of terms."""
    facts = [Fact(name, (term,)) for name in ("edge", "path") for term in IN_ORDER]
    shuffled = Random(7).sample(facts, len(facts))

    assert sorted(shuffled, key=sort_key) == facts


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (None, [("a", "a"), ("a", "b"), ("b", "a")]),
        ((Constant("a", NOWHERE), Wildcard(NOWHERE)), [("a", "a"), ("a", "b")]),
        ((Constant("unknown", NOWHERE), Wildcard(NOWHERE)), []),
        ((Variable("x", NOWHERE), Variable("x", NOWHERE)), [("a", "a")]),
        ((Variable("x", NOWHERE), Variable("y", NOWHERE)), [("a", "a"), ("a", "b"), ("b", "a")]),
    ],
)
def test_a_pattern_chooses_facts(arguments, expected):
    """Constants match themselves, a repeated variable one term, and all else any term."""
    dictionary = Dictionary()
    a, b = dictionary.intern("a"), dictionary.intern("b")
    args = np.array([[a, a], [a, b], [b, a]], dtype=np.int32)
    chosen = matching(FactPattern("f", arguments), args, dictionary)

    assert [fact.arguments for fact in decode_facts("f", args[chosen], dictionary)] == expected


@given(st.lists(st.tuples(st.sampled_from(IN_ORDER), st.sampled_from(IN_ORDER))))
def test_rows_are_sorted_as_their_facts(rows):
    """The order of rows of ids is that of the facts."""
    dictionary = Dictionary()
    ids = [[dictionary.intern(term) for term in row] for row in rows]
    args = np.array(ids, dtype=np.int32).reshape(-1, 2)

    found = decode_facts("f", in_order(args, dictionary), dictionary)

    assert found == sorted((Fact("f", row) for row in rows), key=sort_key)


def test_facts_without_arguments_are_decoded():
    """Rows without columns are facts too."""
    args = np.empty((1, 0), dtype=np.int32)

    assert decode_facts("f", in_order(args, Dictionary()), Dictionary()) == [Fact("f", ())]
