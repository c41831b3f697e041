"""Repetitions of paths that may be empty: a given end that is in no triple leads to itself."""

from __future__ import annotations

import pytest
from rdflib import Graph

from streamreasoner import Reasoner
from streamreasoner.program.checked import check_query, check_text

PREFIX = "PREFIX ex: <http://example.org/> "
PATHS = ["(ex:p*)+", "(ex:p?)+", "(ex:p|ex:q*)+", "(^(ex:p?))+", "((ex:p+)?)+", "(ex:p+)+"]
FORMS = ["{{ ex:a {} ?x }}", "{{ ?x {} ex:a }}"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", PATHS)
def test_one_or_more_of_what_may_be_empty(path, form):
    """Once and continuously, on a graph without the term (SPARQL 1.1, section 18.4)."""
    query = f"{PREFIX}SELECT ?x {form.format(path)}"
    expected = {row.x.n3() for row in Graph().query(query)}

    once = Reasoner(check_text("p(?x) :- [?x, ?x, ?x] ."))
    assert {row[0].n3() for row in once.query(query)} == expected
    kept = Reasoner(check_query(query, "query.rq", "answer"))
    assert {fact[0].n3() for fact in kept.facts("answer")} == expected
