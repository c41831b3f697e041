"""How graphs count: `each` is each graph by itself, `union` all of them as one."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import OWL, RDF, RDFS, BNode, URIRef
from thorough import THOROUGH

from streamreasoner import Reasoner, Update
from streamreasoner.program.load import load_program
from streamreasoner.rdf.graph_mode import GraphMode

EX = "http://example.org/"
A, B, C, P, Q, X, Y = (URIRef(EX + name) for name in "ABCpqxy")
L1, L2 = BNode("l1"), BNode("l2")
TRIPLES = [
    (A, RDFS.subClassOf, B), (B, RDFS.subClassOf, C), (A, OWL.equivalentClass, C),
    (P, RDFS.domain, A), (P, RDFS.range, B), (P, RDFS.subPropertyOf, Q), (Q, OWL.inverseOf, P),
    (P, RDF.type, OWL.TransitiveProperty), (Q, RDF.type, OWL.SymmetricProperty),
    (P, RDF.type, OWL.FunctionalProperty), (A, OWL.disjointWith, B), (X, OWL.sameAs, Y),
    (P, OWL.propertyChainAxiom, L1), (L1, RDF.first, Q), (L1, RDF.rest, L2), (L2, RDF.first, P),
    (L2, RDF.rest, RDF.nil), (A, OWL.intersectionOf, L1), (C, OWL.unionOf, L2),
    (A, RDF.type, OWL.Class), (C, OWL.hasValue, X), (C, OWL.onProperty, P),
    (X, RDF.type, A), (Y, RDF.type, B), (X, P, Y), (Y, P, X), (Y, Q, X), (X, Q, X),
]  # fmt: skip
GRAPHS = (None, URIRef(EX + "g"), URIRef(EX + "h"))
INPUT = st.tuples(st.sampled_from(TRIPLES), st.sampled_from(GRAPHS), st.sampled_from((1, 1, 1, -1)))
RULESETS = ("rho-df", "rdfs", "owl-rl")


def owing_nothing(epochs):
    """The epochs without retractions of what is not asserted: merged, they would cancel others."""
    counts = Counter()
    kept = [[] for _ in epochs]
    for number, epoch in enumerate(epochs):
        for triple, graph, sign in epoch:
            if counts[triple, graph] + sign >= 0:
                counts[triple, graph] += sign
                kept[number].append((triple, graph, sign))
    return kept


EPOCHS = st.lists(st.lists(INPUT, max_size=12), min_size=1, max_size=3).map(owing_nothing)


@lru_cache
def reasoner_of(rules, mode):
    """A reasoner that examples share, as planning takes longer than they do."""
    return Reasoner(load_program(rules, mode))


def update(triple, graph, sign):
    """An update of a triple, or of a quad."""
    return (
        Update("triple", triple, sign) if graph is None else Update("quad", (*triple, graph), sign)
    )


@contextmanager
def run(rules, mode, epochs):
    """A reasoner after all epochs, which are undone at the end."""
    reasoner = reasoner_of(rules, mode)
    try:
        for epoch in epochs:
            reasoner.apply(update(*each) for each in epoch)
        yield reasoner
        reasoner.apply(
            update(triple, graph, -sign) for epoch in epochs for triple, graph, sign in epoch
        )
    except BaseException:
        reasoner_of.cache_clear()
        raise


def outcome(reasoner):
    """The triples and the violations of the default graph."""
    violations = (each.args for each in reasoner.violations() if each.constraint == "inconsistent")
    return {*reasoner.facts()}, {*violations}


def within(reasoner, graph):
    """The triples of the quads of a graph, and its violations."""
    triples = {row[:3] for row in reasoner.facts("quad") if row[3] == graph}
    violations = (each for each in reasoner.violations() if each.constraint == "inconsistent_in")
    return triples, {each.args[:-1] for each in violations if each.args[-1] == graph}


def apart(rules, epochs, graphs):
    """The outcome of the quads of some graphs, merged as triples."""
    chosen = [
        [(triple, None, sign) for triple, graph, sign in epoch if graph in graphs]
        for epoch in epochs
    ]
    with run(rules, None, chosen) as reasoner:
        return outcome(reasoner)


@pytest.mark.parametrize("rules", RULESETS)
@settings(max_examples=500 if THOROUGH else 15)
@given(epochs=EPOCHS)
def test_each_graph_is_as_by_itself(rules, epochs):
    """With the default graph, which is as by itself, too; in any epochs, with retractions."""
    default = apart(rules, epochs, (None,))
    with run(rules, GraphMode.EACH, epochs) as reasoner:
        assert outcome(reasoner) == default
        for graph in GRAPHS[1:]:
            both = apart(rules, epochs, (None, graph))
            for own, given, all_ in zip(within(reasoner, graph), default, both, strict=True):
                assert own | given == all_


@pytest.mark.parametrize("rules", RULESETS)
@settings(max_examples=500 if THOROUGH else 15)
@given(epochs=EPOCHS)
def test_the_union_is_all_of_them_as_one(rules, epochs):
    """Quads are as the input has them; what is derived is in the default graph."""
    with run(rules, GraphMode.UNION, epochs) as reasoner:
        assert outcome(reasoner) == apart(rules, epochs, GRAPHS)
