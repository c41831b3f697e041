"""OWL 2 RL on random ontologies: the closure is the oracle's, after every change."""

from __future__ import annotations

from functools import cache

from driver import Driver
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.owl_rl import SAME, closure, term
from ruleset_cases import assert_judged
from thorough import THOROUGH

from streamreasoner.program.load import load_program

NAMES = [f"<http://example.org/{name}>" for name in "abcdpqCD"]
AXIOMS = [
    "rdfs:subClassOf",
    "rdfs:subPropertyOf",
    "rdfs:domain",
    "rdfs:range",
    "owl:sameAs",
    "owl:sameAs",
    "owl:differentFrom",
    "owl:equivalentClass",
    "owl:equivalentProperty",
    "owl:disjointWith",
    "owl:propertyDisjointWith",
    "owl:inverseOf",
    "owl:complementOf",
    "owl:someValuesFrom",
    "owl:allValuesFrom",
    "owl:hasValue",
    "owl:onProperty",
    "owl:onClass",
    "owl:intersectionOf",
    "owl:unionOf",
    "owl:oneOf",
    "owl:members",
    "owl:propertyChainAxiom",
    "owl:hasKey",
    "rdf:first",
    "rdf:rest",
]
KINDS = [
    "owl:Class",
    "owl:ObjectProperty",
    "owl:FunctionalProperty",
    "owl:InverseFunctionalProperty",
    "owl:TransitiveProperty",
    "owl:SymmetricProperty",
    "owl:AsymmetricProperty",
    "owl:IrreflexiveProperty",
    "owl:AllDifferent",
    "owl:AllDisjointClasses",
    "owl:AllDisjointProperties",
    "owl:Thing",
    "owl:Nothing",
]
NAME = st.sampled_from(NAMES)
TRIPLES = st.one_of(
    st.tuples(NAME, NAME, NAME),
    st.tuples(NAME, st.just(term("rdf:type")), NAME),
    st.tuples(NAME, st.sampled_from(list(map(term, AXIOMS))), NAME),
    st.tuples(NAME, st.just(term("rdf:type")), st.sampled_from(list(map(term, KINDS)))),
    st.tuples(
        NAME,
        st.sampled_from([term("owl:maxCardinality"), term("owl:maxQualifiedCardinality")]),
        st.sampled_from([term("0"), term("1")]),
    ),
    st.tuples(NAME, st.just(term("rdf:rest")), st.just(term("rdf:nil"))),
)


@cache
def driver():
    """A state without input, for all examples until one fails."""
    driver = Driver(load_program("owl-rl"), store=None)
    driver.apply([])
    return driver


def judge(triples):
    """The closure that the oracle finds; that a term is itself is not compared."""
    derived, false = closure(triples)
    return derived, false, lambda each: each[0] != each[2] or each[1] != SAME


@settings(max_examples=2_000 if THOROUGH else 20)
@given(st.lists(TRIPLES, min_size=1, max_size=12, unique=True), st.data())
def test_any_ontology(triples, data):
    """All at once, after some are gone, and after they come back; nothing remains of them."""
    facts = [("triple", each) for each in triples]
    gone = data.draw(st.sets(st.sampled_from(facts)))
    try:
        check(facts, gone)
    except BaseException:
        driver.cache_clear()
        raise


def check(facts, gone):
    """Compare every state with the oracle."""
    ours = driver()
    empty = ours.trace(ours.predicates)
    ours.apply([(*fact, 1) for fact in facts])
    trace = ours.trace(ours.predicates)
    assert_judged(ours.closure(), facts, judge)

    ours.apply([(*fact, -1) for fact in gone])
    assert_judged(ours.closure(), [fact for fact in facts if fact not in gone], judge)

    ours.apply([(*fact, 1) for fact in gone])
    assert ours.trace(ours.predicates) == trace

    ours.apply([(*fact, -1) for fact in facts])
    assert ours.trace(ours.predicates) == empty
