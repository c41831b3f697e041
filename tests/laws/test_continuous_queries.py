"""The sum of the changes of a query's answers is what a SPARQL engine answers, after each epoch."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given, reject, settings
from sparql_judge import answers, comparable, fact, store
from sparql_strategies import EPOCHS, KNOWN, queries
from thorough import THOROUGH

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.errors import ProgramError
from streamreasoner.lang.ast import bracketed
from streamreasoner.program.checked import check_query
from streamreasoner.rdf.terms import Term

REFUSED = {"SR206", "SR240", "SR241", "SR244", "SR245", "SR260", "SR261"}


def reasoner_of(query):
    """A reasoner for a query, which some random queries are too odd for."""
    try:
        return Reasoner(check_query(query, "<query>", "answer"))
    except ProgramError as error:
        codes = {diagnostic.code for diagnostic in error.diagnostics}
    assert codes <= REFUSED
    reject()
    return None


def judged(facts, query):
    """The answers of Oxigraph, which has none if a row makes a literal a term's subject."""
    try:
        return answers(store(facts), query)
    except RuntimeError as error:
        if "is not a valid RDF 1.2 term" in str(error):
            reject()
        raise


def updates(changes):
    """Updates of triples and quads."""
    for terms, multiplicity in changes:
        yield Update(bracketed(len(terms)), tuple(map(Term.parse, terms)), multiplicity)


@example("SELECT ?w { VALUES ?w { 1 } ?x <urn:q> <<( ?w <urn:p> 1 )>> }", [[]])
@given(queries(), EPOCHS)
@settings(max_examples=20_000 if THOROUGH else 15)
def test_changes_of_answers_sum_to_those_of_an_engine(query, epochs):
    """Whatever is asserted and retracted."""
    reasoner = reasoner_of(query)
    state = {fact(each) for each in KNOWN}
    pending = [(each, 1) for each in state]
    found = Counter()
    for epoch in epochs:
        for each, present in epoch:
            changed = fact(each)
            if present != (changed in state):
                state ^= {changed}
                pending.append((changed, 1 if present else -1))
        known = [each for each in pending if bracketed(len(each[0])) in reasoner.program.arities]
        pending = []
        for change in reasoner.apply(updates(known)).changes:
            if change.predicate == "answer":
                terms = tuple(comparable(to_ntriples(term)) for term in change.args)
                found[terms] += change.multiplicity
        assert {key: count for key, count in found.items() if count} == dict.fromkeys(
            judged(state, query), 1
        )
