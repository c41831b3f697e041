"""Triple terms in what is made of programs. Invariant: they stand where RDF 1.2 lets them stand."""

from __future__ import annotations

import json

import pytest

from streamreasoner import Reasoner, Update
from streamreasoner.errors import TermError
from streamreasoner.rdf.terms import Term
from streamreasoner.shapes.graph import read_graph

EX = "http://example.org/"
SAYS, S = Term.parse(f"<{EX}says>"), Term.parse(f"<{EX}s>")
QUOTED = Term.parse('<<( <urn:a> <urn:b> <<( _:x <urn:c> "v"@ar--rtl )>> )>>')
SHAPES = """@prefix ex: <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
ex:S sh:targetSubjectsOf ex:says ; sh:property [ sh:path ex:says ; %s ] .
"""


def said(reasoner):
    """The reasoner, after it was told a triple with a triple term."""
    reasoner.apply([Update.triple(S, SAYS, QUOTED)])
    return reasoner


def test_a_continuous_query_makes_no_triple_term_a_subject():
    """A solution whose template is not a triple of RDF constructs nothing."""
    query = f"CONSTRUCT {{ ?o <{EX}of> ?s . ?s <{EX}copy> ?o }} WHERE {{ ?s <{EX}says> ?o }}"
    reasoner = Reasoner.from_rules("p(?x) :- [?x, ?x, ?x] .")
    reasoner.add_query("q", query)
    said(reasoner)
    [triple] = [each for each in reasoner.facts("triple") if str(each[1]) == f"{EX}copy"]
    assert triple[2] == QUOTED
    assert len(reasoner.facts("triple")) == 2


@pytest.mark.parametrize(
    "kind", ["IRI", "BlankNode", "Literal", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral"]
)
def test_a_triple_term_has_none_of_the_node_kinds(kind, tmp_path):
    """Stated by itself, and within a condition on other shapes."""
    (tmp_path / "own.ttl").write_text(SHAPES % f"sh:nodeKind sh:{kind}")
    within = f"sh:qualifiedValueShape [ sh:nodeKind sh:{kind} ] ; sh:qualifiedMinCount 1"
    (tmp_path / "within.ttl").write_text(SHAPES % within)
    for name in ("own.ttl", "within.ttl"):
        report = said(Reasoner.from_rules(tmp_path / name)).validate()
        assert not report.conforms, name
        if name == "own.ttl":
            [result] = report.results
            assert result.value == str(QUOTED)
            assert str(QUOTED) in report.text
            assert json.loads(report.to_json())["results"][0]["value"] == str(QUOTED)
            with pytest.raises(TermError, match="rdflib does not have triple terms"):
                _ = report.graph


def test_labels_in_shapes_are_of_their_file():
    """Inside of triple terms too."""
    text = "<urn:s> <urn:p> <<( _:b <urn:p> _:c )>> . _:b <urn:p> 1 ."
    graph = read_graph({"one.ttl": text, "two.ttl": text})
    assert [*graph.objects("<urn:s>", "<urn:p>")] == [
        "<<( _:b <urn:p> _:c )>>",
        "<<( _:f1.b <urn:p> _:f1.c )>>",
    ]
    assert {"_:b", "_:f1.b"} <= {*graph.triples}
