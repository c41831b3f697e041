"""Annotations tell which rules derive a triple: exactly those that do, in any state."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import THOROUGH

from streamreasoner import Reasoner, Term, Update
from streamreasoner.program import check_text
from streamreasoner.program.graphs.annotations import rule_iri
from streamreasoner.rdf.minted import fact_iri

PREFIX = "@prefix ex: <http://example.org/> .\n"
RULES = """
[?x, ex:t, ?y] :- [?x, ex:p, ?y] .
[?x, ex:t, ?z] :- [?x, ex:p, ?y], [?y, ex:t, ?z] .
[?x, ex:t, ?y], [?y, a, ex:B] :- [?x, ex:q, ?y] .
[?x, a, ex:B] :- [?x, a, ex:A] .
@rule "http://example.org/rules#alone" [?x, a, ex:Alone] :- [?x, a, ex:A], not [?x, ex:t, _] .
[?x, ex:says, <<( ?x ex:q ?y )>>] :- [?x, ex:q, ?y], [?y, ex:p, _] .
[?x, ex:q, ?x] :- [?x, ex:says, <<( ?x ex:q ?x )>>] .
[?x, ex:reached, count(?y)] :- [?x, ex:t, ?y] .
[?x, ex:first, min(?y)] :- [?x, ex:p, ?y] .
[?x, ex:first, min(?y)] :- [?x, ex:q, ?y] .
[?x, ex:two, lowest(?y, 2)] :- [?x, ex:t, ?y] .
[?n, ex:of, ?x] :- [?x, ex:reached, ?n] .
""".strip().splitlines()
NODES = [f"<http://example.org/{name}>" for name in ("a", "b", "c", "p")]
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TRIPLES = [
    *((s, f"<http://example.org/{p}>", o) for p in ("p", "q") for s in NODES for o in NODES),
    *((node, TYPE, "<http://example.org/A>") for node in NODES),
]
GRAPH = "<http://example.org/provenance>"
REIFIES = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"
SOURCE_RULE = "<http://www.w3.org/ns/shacl#sourceRule>"
EPOCHS = st.lists(
    st.lists(st.tuples(st.sampled_from(TRIPLES), st.sampled_from((1, 1, -1))), max_size=8),
    min_size=1,
    max_size=4,
)


def owing_nothing(epochs):
    """The epochs without retractions of what is not asserted."""
    present = set()
    for epoch in epochs:
        kept = []
        for triple, sign in epoch:
            if (triple in present) == (sign < 0):
                present ^= {triple}
                kept.append((triple, sign))
        yield kept


def update(triple, sign):
    """An update of a triple of canonical terms."""
    return Update("triple", tuple(map(Term.parse, triple)), sign)


def rows(reasoner, predicate="triple"):
    """Facts of a predicate as tuples of canonical terms."""
    return {tuple(row.values()) for row in reasoner.facts(predicate).to_arrow().to_pylist()}


def derives(rule, closure):
    """The triples that a rule derives of the triples of a closure, in one step."""
    heads, body = rule.split(":-", 1)
    head = heads.replace("[", "derived(").replace("]", ")").replace(" a,", f" {TYPE},")
    body = body.replace("[", "given(").replace("]", ")").replace(" a,", f" {TYPE},")
    alone = Reasoner.from_rules(f"{PREFIX}@input given/3 .\n{head}:-{body}")
    alone.apply(Update("given", tuple(map(Term.parse, triple))) for triple in closure)
    return rows(alone, "derived")


def expected(closure):
    """The annotations of all triples that the rules derive."""
    found = set()
    for rule in RULES:
        heads, body = rule.split(" :- ", 1)
        name, heads = heads.split(" [", 1) if heads.startswith("@rule") else ("", heads[1:])
        for part in heads.split("], ["):
            text = f"{name} [{part.rstrip(']')}] :- {body}"
            (checked,) = check_text(PREFIX + text).rules
            for triple in derives(f"[{part.rstrip(']')}] :- {body}", closure):
                if triple in closure and triple[0][0] in "<_":
                    fact = fact_iri("triple", triple)
                    found.add((fact, REIFIES, f"<<( {' '.join(triple)} )>>", GRAPH))
                    found.add((fact, SOURCE_RULE, rule_iri(checked), GRAPH))
    return found


@pytest.fixture(scope="module")
def reasoners():
    """A reasoner that annotates, and one that does not."""
    text = PREFIX + "\n".join(RULES)
    return Reasoner.from_rules(f"{text}\n@annotate ex:provenance ."), Reasoner.from_rules(text)


@settings(max_examples=300 if THOROUGH else 10)
@given(epochs=EPOCHS.map(owing_nothing).map(list))
def test_annotations_are_the_rules_that_derive(reasoners, epochs):
    """A rule annotates the triples that it derives by itself of all triples, after each epoch."""
    annotating, plain = reasoners
    for epoch in epochs:
        updates = [update(*each) for each in epoch]
        annotating.apply(updates)
        plain.apply(updates)

        closure = rows(annotating)
        assert closure == rows(plain)
        assert rows(annotating, "quad") == expected(closure)
    undone = [update(triple, -sign) for epoch in epochs for triple, sign in epoch]
    annotating.apply(undone)
    plain.apply(undone)
    assert not rows(annotating, "quad")
