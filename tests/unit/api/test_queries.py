"""Queries in Python: answers as rows and tables, an rdflib graph of an epoch, and its limits."""

from __future__ import annotations

import pytest
import rdflib

from streamreasoner import Reasoner, Update
from streamreasoner.errors import DataError, LimitError, ProgramError
from streamreasoner.query.sparql.limits import QueryLimits

EX = rdflib.Namespace("http://example.org/")
RULES = """@prefix ex: <http://example.org/> .
[?x, ex:reaches, ?z] :- [?x, ex:to, ?z] .
[?x, ex:reaches, ?z] :- [?x, ex:reaches, ?y], [?y, ex:to, ?z] .
"""
PREFIX = "PREFIX ex: <http://example.org/> "


@pytest.fixture
def reasoner():
    """A -> b -> 7."""
    reasoner = Reasoner.from_rules(RULES)
    reasoner.apply([Update.triple(EX.a, EX.to, EX.b), Update.triple(EX.b, EX.to, 7)])
    return reasoner


def test_a_query_reads_what_rules_derive(reasoner):
    """Rows have Python terms, and None where a variable has no value."""
    found = reasoner.query(PREFIX + "SELECT ?x ?none { ex:a ex:reaches ?x } ORDER BY ?x")
    assert found.columns == ("x", "none")
    assert found == [(EX.b, None), (7, None)]
    assert reasoner.query(PREFIX + "ASK { ex:a ex:reaches 7 }") is True


def test_a_base_resolves_relative_iris(reasoner):
    """Those of the text, and those of IRI()."""
    text = "SELECT ?x { <a> <reaches> ?x FILTER(?x = IRI('../b')) }"
    assert reasoner.query(text, base="http://example.org/d") == [(EX.b,)]
    assert reasoner.query(f"BASE <{EX}x/> " + text.replace("<a> <", "<../a> <../")) == [(EX.b,)]
    with pytest.raises(ProgramError, match="without a base"):
        reasoner.query(text)


def test_a_query_reads_the_last_epoch(reasoner):
    """Each epoch has its own answer, and that of an earlier one stays."""
    text = PREFIX + "SELECT ?x { ex:a ex:reaches ?x }"
    before = reasoner.query(text)
    reasoner.apply([Update.triple(EX.a, EX.to, EX.b, -1)])
    assert (len(before), len(reasoner.query(text))) == (2, 0)
    reasoner.add_rules("@prefix ex: <http://example.org/> . [ex:a, ex:reaches, ex:c] .")
    assert reasoner.query(text) == [(EX.c,)]


def test_answers_are_tables_and_texts(reasoner):
    """Tables have null where there is no value; texts have the prefixes of the program."""
    found = reasoner.query(PREFIX + "SELECT ?none ?x { ex:a ex:reaches ?x } ORDER BY ?x")
    assert found.to_arrow().to_pydict() == {
        "none": [None, None],
        "x": ["<http://example.org/b>", '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'],
    }
    assert found.to_pandas()["x"].tolist() == found.to_arrow()["x"].to_pylist()
    assert found.serialize("csv") == b"none,x\r\n,http://example.org/b\r\n,7\r\n"
    made = reasoner.query(PREFIX + "CONSTRUCT { ?x ex:from ex:a } { ex:a ex:reaches ?x }")
    assert made.columns == ("s", "p", "o")
    assert b"ex:b ex:from ex:a" in made.serialize()
    assert "<td>" in made._repr_html_()


def test_a_table_without_columns_has_its_rows(reasoner):
    """A query whose variables are none has solutions, too."""
    found = reasoner.query(PREFIX + "SELECT * { ex:a ex:to ex:b }")
    assert found == [()]
    assert (found.to_arrow().num_rows, found.to_pandas().shape) == (1, (1, 0))


def test_a_program_without_triples_has_an_empty_graph():
    """There are no triples to ask for, and none is made up."""
    reasoner = Reasoner.from_rules("path(?x, ?y) :- edge(?x, ?y) .")
    assert reasoner.query("SELECT * { ?s ?p ?o }") == []
    assert len(reasoner.graph()) == 0


def test_the_graph_is_one_epoch_for_rdflib(reasoner):
    """Lookups by any term, queries, and no changes."""
    graph = reasoner.graph()
    reasoner.apply([Update.triple(EX.b, EX.to, EX.c)])
    assert len(graph) == 5
    assert set(graph.objects(EX.a, EX.reaches)) == {EX.b, rdflib.Literal(7)}
    for pattern in (
        (EX.a, None, None),
        (None, EX.to, None),
        (None, None, rdflib.Literal(7)),
        (EX.a, None, EX.b),
        (None, EX.to, EX.b),
        (EX.a, EX.to, EX.b),
        (EX.none, None, None),
    ):
        wanted = {t for t in graph if all(p in (None, n) for p, n in zip(pattern, t, strict=True))}
        assert set(graph.triples(pattern)) == wanted
    graph.bind("ex", EX)
    assert [row.x for row in graph.query("SELECT ?x { ?x ex:to 7 }")] == [EX.b]
    assert graph.query("ASK { ?x ex:to ?y }").askAnswer
    assert len(graph.query("CONSTRUCT WHERE { ?x ex:to ?y }").graph) == 2
    bound = graph.query("SELECT ?y { ?x ex:to ?y }", initBindings={"x": EX.a})
    assert [row.y for row in bound] == [EX.b]
    with pytest.raises(DataError, match=r"cannot be changed.*Reasoner\.apply"):
        graph.add((EX.a, EX.to, EX.c))
    with pytest.raises(DataError, match="cannot be changed"):
        graph.remove((EX.a, None, None))


def test_mistakes_and_limits_are_errors(reasoner):
    """With the place of the mistake, or the limit."""
    with pytest.raises(ProgramError, match="SR260"):
        reasoner.query("SELECT")
    with pytest.raises(LimitError, match="1 is the limit"):
        reasoner.query("SELECT ?s { ?s ?p ?o }", limits=QueryLimits(rows=1))
