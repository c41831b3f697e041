"""Proofs as RDF 1.2: valid Turtle, one IRI for a fact, and all premises of each derivation."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from streamreasoner import Reasoner
from streamreasoner.errors import DataError

EX, PROV, SR = "http://example.org/", "http://www.w3.org/ns/prov#", "urn:streamreasoner:"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
SOURCE_RULE = "http://www.w3.org/ns/shacl#sourceRule"
RULES = f"""@prefix ex: <{EX}> .
@rule "http://example.org/rules#b" [?x, a, ex:B] :- [?x, a, ex:A], not [?x, ex:no, _] .
[?x, a, ex:C] :- [?x, a, ex:B], name(?x, ?n), ?n != "" .
many(count(?x)) :- [?x, a, ex:C] .
[?v, ex:of, ?x] :- name(?x, ?v) .
[ex:x, a, ex:A] . [ex:y, a, ex:A] . name(ex:x, "a \\"quoted\\" name\\n") . name(ex:y, "b"@en) .
"""


def graph(text):
    """What pyoxigraph reads."""
    return [quad.triple for quad in ox.parse(text, format=ox.RdfFormat.TURTLE)]


def objects(triples, subject, predicate):
    """The objects of a subject and a predicate."""
    name = ox.NamedNode(predicate)
    return [each.object for each in triples if (each.subject, each.predicate) == (subject, name)]


def reifier(triples, kind):
    """The fact that says what ex:x is."""
    said = ox.Triple(
        ox.NamedNode(f"{EX}x"), ox.NamedNode(f"{RDF}type"), ox.NamedNode(f"{EX}{kind}")
    )
    [found] = [each.subject for each in triples if each.object == said]
    return found


def test_a_proof_is_a_graph_of_reifiers():
    """Each triple is reified once, and derived from its premises by its rule."""
    text = Reasoner.from_rules(RULES).explain("[ex:x, a, ex:C]").prov()
    triples = graph(text)
    a, b, c = (reifier(triples, kind) for kind in "ABC")
    [name] = [each.subject for each in triples if each.object == ox.Literal("name")]
    assert {*objects(triples, c, f"{PROV}wasDerivedFrom")} == {b, name}
    assert objects(triples, b, f"{PROV}wasDerivedFrom") == [a]
    assert objects(triples, b, SOURCE_RULE) == [ox.NamedNode(f"{EX}rules#b")]
    assert objects(triples, b, f"{SR}absent") == [ox.Literal("[ex:x, ex:no, _]")]
    assert not objects(triples, a, f"{PROV}wasDerivedFrom")
    assert objects(triples, a, f"{SR}statedAt")
    assert objects(triples, ox.NamedNode(f"{EX}rules#b"), f"{SR}text")


def test_facts_have_the_same_iris_in_all_documents():
    """So documents about different facts can be merged, and the same question has one answer."""
    reasoner = Reasoner.from_rules(RULES)
    one, other = (graph(reasoner.explain(f"[ex:x, a, ex:{kind}]").prov()) for kind in "BC")
    assert reifier(one, "B") == reifier(other, "B")
    assert {*one} <= {*other}


def test_any_fact_has_provenance():
    """Aggregates, facts of other predicates, and triples that are not RDF, with any characters."""
    reasoner = Reasoner.from_rules(RULES)
    many = graph(reasoner.explain("many(2)").prov())
    assert [each.object.value for each in many if each.predicate.value == f"{SR}matches"] == ["2"]
    assert len([each for each in many if each.predicate.value == f"{PROV}wasDerivedFrom"]) >= 4
    odd = graph(reasoner.explain('["b"@en, ex:of, ex:y]').prov())
    assert ox.Literal("triple") in [each.object for each in odd]
    quoted = graph(reasoner.explain("[ex:x, a, ex:C]").prov())
    assert ox.Literal('a "quoted" name\n') in [each.object for each in quoted]


def test_an_absent_fact_is_refused():
    """Nothing has derived it; the other formats say what is missing."""
    with pytest.raises(DataError, match="is not present"):
        Reasoner.from_rules(RULES).explain("[ex:z, a, ex:C]").prov()


def test_annotations_name_facts_and_rules_as_proofs_do():
    """The graph of annotations has a proof's reifiers and rules; a constraint has none."""
    rules = f"{RULES}!wrong(?x) :- [?x, a, ex:C] .\n@annotate ex:provenance ."
    reasoner = Reasoner.from_rules(rules)
    quads = reasoner.facts("quad").to_arrow().to_pylist()
    text = "".join(f"{row['s']} {row['p']} {row['o']} .\n" for row in quads)
    annotations = {(each.subject, each.predicate, each.object) for each in graph(text)}
    for kind in "BC":
        triples = graph(reasoner.explain(f"[ex:x, a, ex:{kind}]").prov())
        fact = reifier(triples, kind)
        for predicate in (f"{RDF}reifies", SOURCE_RULE):
            [value] = objects(triples, fact, predicate)
            assert (fact, ox.NamedNode(predicate), value) in annotations
    assert len(quads) == 2 * 4


def test_annotations_are_published_where_triples_are():
    """A program that says what is published need not name the predicate of annotations."""
    program = Reasoner.from_rules(f"{RULES}@output triple .\n@annotate ex:provenance .").program
    assert program.published == {"triple", "quad"}
