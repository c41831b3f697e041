"""ORDER BY with LIMIT and OFFSET is kept up to date: the first solutions of a determined order."""

from __future__ import annotations

from itertools import cycle

import pytest
from rdflib import URIRef
from sparql_judge import comparable
from sparql_strategies import EX, PREFIXES
from unit.sparql.test_operators import EPOCHS, apply, present

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.program.checked import check_query
from streamreasoner.rdf.vocabulary import UNBOUND

PATTERNS = {
    "?x ?y": "?x ex:p ?y",
    "?y": "{ ?x ex:p ?y } UNION { ?x ex:q ?y } UNION { ?y ex:p ?x }",
    "?x ?z": "?x ex:p ?y OPTIONAL { ?y ex:q ?z }",
    "?x ?n": "{ SELECT ?x (COUNT(*) AS ?n) { ?x ex:p ?y } GROUP BY ?x }",
    "?z": "?x ex:k ?y BIND(?y + 1 AS ?z)",
}
"""The variables that are selected, and a pattern that binds them."""
ORDERS = ("", "?x DESC(?y)", "DESC(?z) ?x", "(?y + 1)", "DESC(isIRI(?y)) ?n", "?unknown DESC(?x)")
SLICES = (("", 2), (" OFFSET 1", None), (" OFFSET 2", 3), ("", 1000), (" OFFSET 1", 1))


@pytest.mark.parametrize("modifier", ["", "DISTINCT "])
@pytest.mark.parametrize("selected", PATTERNS)
def test_a_slice_is_of_the_whole_order(selected, modifier):
    """Ties are decided by the row, and equal rows count as often as they occur unless DISTINCT."""
    clause = f"SELECT {modifier}{selected} {{ {PATTERNS[selected]} }}"
    wanted = []
    for order, (offset, limit) in zip(ORDERS, cycle(SLICES), strict=False):
        if modifier and not {*selected.split()} >= {
            each for each in ("?x", "?y", "?z", "?n") if each in order
        }:
            continue  # what decides between equal rows is not selected
        end = "" if limit is None else f" LIMIT {limit}"
        order_by = f" ORDER BY {order}" if order else ""
        wanted.append((f"{clause}{order_by}{end}{offset}", order, int(offset[8:] or 0), limit))
    reasoners = [
        Reasoner(check_query(PREFIXES + query, "query.rq", "answer")) for query, *_ in wanted
    ]
    for changes, _ in EPOCHS[:2]:
        for reasoner, (query, order, offset, limit) in zip(reasoners, wanted, strict=True):
            apply(reasoner, changes)
            rows = [*reasoner.query(f"{PREFIXES}{clause} ORDER BY {order} {selected}")]
            end = None if limit is None else offset + limit
            assert present(reasoner, "answer") == {row(each) for each in rows[offset:end]}, query


def row(terms):
    """A row as comparable terms."""
    return tuple(UNBOUND if each is None else comparable(to_ntriples(each)) for each in terms)


OTHERS = {
    # a slice of each graph
    "SELECT ?graph ?x { GRAPH ?graph { SELECT ?x { ?x ex:k ?y } ORDER BY ?x LIMIT 1 } }": 2,
    # equal rows are where the first of them is
    "SELECT DISTINCT ?y { ?x ex:k ?y } ORDER BY DESC(?x) ?y LIMIT 3": 3,
    # inside of what negates and counts it
    "SELECT (COUNT(*) AS ?n) { { SELECT ?y { ?x ex:k ?y } ORDER BY ?y LIMIT 5 } ?x ex:k ?y }": 1,
    "SELECT ?x { ?x ex:k ex:a MINUS { SELECT ?x { ?x ex:k ex:a } ORDER BY ?x LIMIT 3 } }": 1,
    "ASK { ?x ex:k ?y } LIMIT 0": 0,
    "SELECT ?x { ?x ex:k ?y } LIMIT 0": 0,
    "SELECT ?x { ?x ex:nothing ?y } ORDER BY ?x LIMIT 3": 0,
    "SELECT ?x ?y { ?x ex:k ?y } LIMIT 7": 7,
}
"""Queries about what never changes, and how many answers they have."""


@pytest.mark.parametrize("query", OTHERS)
def test_a_slice_stands_wherever_a_query_does(query):
    """In a group, a graph, a negation; a slice of nothing has no answer."""
    reasoner = Reasoner(check_query(PREFIXES + query, "query.rq", "answer"))
    for changes, _ in EPOCHS:
        apply(reasoner, changes)

    assert len(present(reasoner, "answer")) == OTHERS[query]


def test_only_the_solutions_that_enter_and_leave_are_changes():
    """Of 300 players the best three, while the best one of each epoch leaves."""
    query = f"{PREFIXES}SELECT ?x ?n {{ ?x ex:score ?n }} ORDER BY DESC(?n) LIMIT 3"
    reasoner = Reasoner(check_query(query, "query.rq", "answer"))
    players = range(300)
    reasoner.apply(score(each, 1) for each in players)
    for best in reversed(players[3:]):
        changes = reasoner.apply([score(best, -1)]).changes
        found = {
            (each.args[1], each.multiplicity) for each in changes if each.predicate == "answer"
        }

        assert found == {(best, -1), (best - 3, 1)}


def score(number, multiplicity):
    """An update of the score of the player who has this one."""
    player = URIRef(f"{EX}player{number}")
    return Update(TRIPLE, (player, URIRef(f"{EX}score"), number), multiplicity)


def test_an_answer_is_explained_by_its_row():
    """The proof of a sliced answer has the solution, not those that it was chosen from."""
    query = f"{PREFIXES}SELECT ?x ?n {{ ?x ex:score ?n }} ORDER BY ?n LIMIT 2"
    reasoner = Reasoner(check_query(query, "query.rq", "answer"))
    reasoner.apply(score(each, 1) for each in range(9))
    proof = str(reasoner.explain("answer", URIRef(f"{EX}player1"), 1))

    assert "player1" in proof
    assert "player0" not in proof


@pytest.mark.parametrize("end", ["LIMIT 1", "ORDER BY ?x LIMIT 3", "OFFSET 1", "LIMIT 0"])
@pytest.mark.parametrize("pattern", ["ex:a ex:p ex:b", "[] ex:p ex:b", "?n ex:p ex:b", ""])
@pytest.mark.parametrize("modifier", ["", "DISTINCT "])
def test_a_slice_may_be_of_rows_without_values(pattern, end, modifier):
    """Nothing is left to compare, and there are as many rows as in a question."""
    query = f"SELECT {modifier}?x {{ {{ SELECT {modifier}?x {{ {pattern} }} {end} }} }}"
    reasoner = Reasoner(check_query(PREFIXES + query, "query.rq", "answer"))
    for changes, _ in EPOCHS[:3]:
        apply(reasoner, changes)
        assert len(present(reasoner, "answer")) == len({*reasoner.query(PREFIXES + query)})
