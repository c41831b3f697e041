"""A request of SPARQL Update changes what is asserted, as a whole, and says what it cannot do."""

from __future__ import annotations

import pytest
import rdflib

from streamreasoner import Reasoner, Update
from streamreasoner.errors import DataError, LimitError, ProgramError, QueryError
from streamreasoner.query.sparql.limits import QueryLimits

EX = rdflib.Namespace("http://example.org/")
RULES = """@prefix ex: <http://example.org/> .
@input quad/4 .
[?x, ex:reaches, ?z] :- [?x, ex:to, ?z] .
[?x, ex:reaches, ?z] :- [?x, ex:reaches, ?y], [?y, ex:to, ?z] .
[ex:rule, ex:says, 1] .
"""
PREFIX = "PREFIX ex: <http://example.org/> "
DERIVED = "cannot delete <http://example.org/.*: not asserted, but derived"


@pytest.fixture
def reasoner():
    """A -> b -> c."""
    reasoner = Reasoner.from_rules(RULES)
    reasoner.update(f"{PREFIX} INSERT DATA {{ ex:a ex:to ex:b . ex:b ex:to ex:c }}")
    return reasoner


def reached(reasoner):
    """The nodes that are reached from a."""
    found = reasoner.query(PREFIX + "SELECT ?x { ex:a ex:reaches ?x }")
    return {str(node).rpartition("/")[2] for (node,) in found}


def test_a_request_is_one_epoch_with_its_consequences(reasoner):
    """Its difference has what rules derive, and a fact is asserted once."""
    before = reasoner.update("").epoch
    diff = reasoner.update(
        PREFIX + "INSERT DATA { ex:a ex:to ex:b } ; DELETE DATA { ex:b ex:to ex:c } ;"
        "INSERT DATA { ex:b ex:to ex:d }"
    )
    assert (diff.epoch, reached(reasoner)) == (before + 1, {"b", "d"})
    assert {(fact.predicate, *fact.args[:2], fact.multiplicity) for fact in diff.derived} == {
        ("triple", node, EX.reaches, sign) for node in (EX.a, EX.b) for sign in (1, -1)
    }


def test_each_operation_reads_what_the_former_ones_imply(reasoner):
    """WHERE matches what rules derive from what the request has inserted or deleted before."""
    reasoner.update(
        PREFIX + "INSERT DATA { ex:c ex:to ex:d } ;"
        "INSERT { ex:a ex:found ?x } WHERE { ex:a ex:reaches ?x } ;"
        "DELETE WHERE { ex:a ex:to ?x } ;"
        "INSERT { ex:a ex:left ?x } WHERE { ex:a ex:reaches ?x }"
    )
    found = reasoner.query(PREFIX + "SELECT ?p (COUNT(*) AS ?n) { ex:a ?p ?o } GROUP BY ?p")
    assert found == [(EX.found, 3)]


def test_a_fact_that_would_stay_is_not_deleted_in_silence(reasoner):
    """What rules derive and what the program states is refused; a derived fact that goes is not."""
    before = set(reasoner.facts())
    for request in (
        "DELETE DATA { ex:a ex:reaches ex:c }",
        "DELETE WHERE { ex:b ex:reaches ?x }",
        "DELETE DATA { ex:rule ex:says 1 }",
        "INSERT DATA { ex:x ex:to ex:y } ; DELETE WHERE { ex:x ex:reaches ?y }",
    ):
        with pytest.raises(QueryError, match=DERIVED):
            reasoner.update(PREFIX + request)
    assert set(reasoner.facts()) == before
    reasoner.update(PREFIX + "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(?s != ex:rule) }")
    assert list(reasoner.facts()) == [(EX.rule, EX.says, 1)]
    assert not reasoner.update(PREFIX + "DELETE DATA { ex:none ex:to ex:none }").changes


def test_a_fact_that_is_asserted_and_derived_stays_derived(reasoner):
    """Deleting it takes the assertion back, however often it was made."""
    fact = Update.triple(EX.a, EX.reaches, EX.c)
    reasoner.apply([fact, fact])
    diff = reasoner.update(PREFIX + "DELETE DATA { ex:a ex:reaches ex:c }")
    assert reached(reasoner) == {"b", "c"}
    assert [each.multiplicity for each in diff.derived] == [1]


def test_where_reads_asserted_facts_only_if_it_is_told_to(reasoner):
    """Then, what it finds can be deleted."""
    both = "DELETE { ?x ?p ex:c } INSERT { ?x ex:was ?p } WHERE { ?x ?p ex:c }"
    reasoner.update(PREFIX + both, inferred=False)
    found = reasoner.query(PREFIX + "SELECT ?x ?p { ?x ex:was ?p }")
    assert found == [(EX.b, EX.to)]
    with pytest.raises(QueryError, match=DERIVED):
        reasoner.update(PREFIX + "DELETE DATA { ex:a ex:reaches ex:b }", inferred=False)


def test_clear_is_of_what_is_asserted(reasoner):
    """What the program states stays, and so does what follows from it."""
    reasoner.update(PREFIX + "INSERT DATA { GRAPH ex:g { ex:a ex:b 1 } } ; CLEAR ALL")
    assert list(reasoner.facts()) == [(EX.rule, EX.says, 1)]
    assert list(reasoner.facts("quad")) == []


def test_blank_nodes_are_new_ones(reasoner):
    """In data once, in a template for each solution."""
    reasoner.update(PREFIX + "INSERT DATA { _:x ex:p _:y . _:y ex:p _:x }")
    reasoner.update(PREFIX + "INSERT DATA { _:x ex:p _:y }")
    reasoner.update(PREFIX + "INSERT { [] ex:of ?x } WHERE { ?x ex:to ?y }")
    assert len({s for s, p, _ in reasoner.facts() if p == EX.p}) == 3
    assert len({s for s, p, _ in reasoner.facts() if p == EX.of}) == 2


def test_documents_are_loaded_from_files(reasoner, tmp_path):
    """Into a graph or into those of the document, whose suffix says what it is."""
    (tmp_path / "a b.ttl").write_text("<http://e.x/s> <http://e.x/p> 1, 2 .")
    (tmp_path / "c.nq").write_text("<http://e.x/s> <http://e.x/p> <http://e.x/o> <http://e.x/g> .")
    file, quads = ((tmp_path / name).as_uri() for name in ("a b.ttl", "c.nq"))
    reasoner.update(f"LOAD <{file}> INTO GRAPH <http://e.x/h> ; LOAD <{quads}>")
    assert sorted(graph for *_, graph in reasoner.facts("quad")) == [
        rdflib.URIRef(f"http://e.x/{name}") for name in "ghh"
    ]
    reasoner.update(f"LOAD SILENT <{file}.none> ; LOAD SILENT <http://e.x/a.ttl>")
    for request, said in (
        (f"LOAD <{file}.none>", "none"),
        ("LOAD <http://e.x/a.ttl>", "Download the document first"),
        (f"LOAD <{quads}> INTO GRAPH <http://e.x/h>", "Leave INTO GRAPH out"),
    ):
        with pytest.raises((DataError, QueryError), match=said):
            reasoner.update(request)


@pytest.mark.parametrize(
    ("request_", "error", "said"),
    [
        ("INSERT DATA { ?x ex:p 1 }", ProgramError, "<update>:1:86: SR260 a variable"),
        ("SELECT * { ?s ?p ?o }", ProgramError, "not SPARQL from `SELECT` on"),
        ("COPY ex:none TO ex:g", QueryError, "COPY <http://example.org/none> fails"),
        ("MOVE ex:none TO ex:g", QueryError, "has no facts"),
        (
            "INSERT DATA { GRAPH ex:g { ex:a ex:b 1 } } ; CREATE GRAPH ex:g",
            QueryError,
            "CREATE GRAPH <http://example.org/g> fails",
        ),
        ("INSERT { ?s ex:p 1 } WHERE { SERVICE ex:s { ?s ?p ?o } }", QueryError, "SERVICE"),
    ],
)
def test_mistakes_change_nothing(reasoner, request_, error, said):
    """Whatever the operations before have done."""
    before = set(reasoner.facts())
    with pytest.raises(error, match=said):
        reasoner.update(f"{PREFIX}INSERT DATA {{ ex:new ex:to ex:new }} ; {request_}")
    assert set(reasoner.facts()) == before


def test_a_program_without_graphs_says_how_to_have_them():
    """As it says without triples."""
    reasoner = Reasoner.from_rules("p(?x) :- [?x, ?p, ?y] .")
    with pytest.raises(DataError, match="Add `@input quad/4"):
        reasoner.update("INSERT DATA { GRAPH <http://e.x/g> { <http://e.x/s> <http://e.x/p> 1 } }")
    reasoner.update("CLEAR ALL ; DROP SILENT GRAPH <http://e.x/g>")
    assert len(reasoner.facts()) == 0


def test_where_has_limits(reasoner):
    """And names resolve against the base."""
    with pytest.raises(LimitError, match="more than 1 solutions"):
        reasoner.update("INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }", limits=QueryLimits(steps=1))
    reasoner.update("INSERT DATA { <a> <to> <z> }", base="http://example.org/x")
    assert reached(reasoner) == {"b", "c", "z"}


def test_facts_that_expire_take_the_time_of_the_request():
    """And go when their time is over."""
    rules = '@expires [_, _, _] after "PT1M" .\nseen(?x) :- [?x, ?p, ?y] .'
    reasoner = Reasoner.from_rules(rules)
    insert = "INSERT DATA { <http://e.x/s> <http://e.x/p> %d }"
    reasoner.update(insert % 1, ts=0)
    reasoner.update(insert % 2, ts=30_000)
    assert len(reasoner.facts()) == 2
    reasoner.update("DELETE WHERE { ?s ?p 2 }", ts=40_000)
    assert [value for *_, value in reasoner.facts()] == [1]
    reasoner.update(insert % 3, ts=70_000)
    assert [value for *_, value in reasoner.facts()] == [3]
