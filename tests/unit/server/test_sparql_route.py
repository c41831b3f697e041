"""`/sparql` is the SPARQL 1.2 Protocol over one epoch, and its mistakes have answers."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from urllib.parse import urlencode

import pytest
import rdflib
from pipelines import DEADLINE_SECONDS
from serving import ask, serving
from stored_epochs import StoredReasoner

A, B, TO = (f"<http://example.org/{name}>" for name in ("a", "b", "to"))
G, H = "http://example.org/g", "http://example.org/h"
RULES = """@input quad/4, triple/3 .
@prefix ex: <http://example.org/> .
[?x, ex:reaches, ?y] :- [?x, ex:to, ?y] .
"""
SELECT = "SELECT ?x { ?x <http://example.org/reaches> ?y }"
FORM, QUERY = "application/x-www-form-urlencoded", "application/sparql-query"


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """A server of a state with two epochs."""
    directory = tmp_path_factory.mktemp("state")
    with closing(StoredReasoner(directory, RULES, closure=True)) as stored:
        stored.run([("triple", (A, TO, B), 1)])
        graphs = [("quad", (A, TO, B, f"<{G}>"), 1), ("quad", (B, TO, A, f"<{H}>"), 1)]
        stored.run([("triple", (B, TO, A), 1), *graphs])
    with serving(directory) as found:
        yield found


def post(port, body, kind, address="/sparql", **headers):
    """The answer to a posted query."""
    used = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_SECONDS)
    used.request("POST", address, body, {"Content-Type": kind, **headers})
    found = used.getresponse()
    answer = found.status, found.getheader("Content-Type"), found.read().decode()
    used.close()
    return answer


def test_a_query_is_sent_in_three_ways(port):
    """By GET, as a form, and as it is."""
    got = ask(port, "/sparql", query=SELECT)
    assert (got.status, got.epoch) == (200, 1)
    assert got.headers["content-type"] == "application/sparql-results+json"
    assert len(got.json["results"]["bindings"]) == 2
    for body, kind in ((urlencode({"query": SELECT}), FORM), (SELECT, QUERY)):
        status, _, text = post(port, body, kind)
        assert (status, json.loads(text)) == (200, got.json)


@pytest.mark.parametrize(
    ("query", "accept", "media_type", "said"),
    [
        (SELECT, "text/csv", "text/csv; charset=utf-8", "x\r\n"),
        (SELECT, "application/sparql-results+xml", "application/sparql-results+xml", "<sparql"),
        (SELECT, "application/json", "application/json", '"bindings"'),
        (SELECT, "application/sparql-results+json;version=1.2", "application/sparql-res", '"head"'),
        (SELECT, "text/html, application/json;q=0.9, */*;q=0.1", "application/json", '"bindings"'),
        (SELECT, "text/csv;q=0.5, text/tab-separated-values;q=0.9", "text/tab-sep", "?x\n"),
        (SELECT, "text/html,application/xml;q=0.9,*/*;q=0.8", "application/xml", "<sparql"),
        ("ASK {}", "*/*", "application/sparql-results+json", '"boolean":true'),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "", "text/turtle; charset=utf-8", "ex:a"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "application/n-triples", "application/n-triples", A),
    ],
)
def test_the_client_chooses_the_format(port, query, accept, media_type, said):
    """Among those that the kind of the query has."""
    found = ask(port, "/sparql", query=query, headers={"Accept": accept} if accept else {})
    assert found.headers["content-type"].startswith(media_type)
    assert said in found.body


def test_without_a_query_the_service_describes_itself(port):
    """In Turtle, with the languages that it supports and their versions."""
    found = ask(port, "/sparql")
    assert "sd:SPARQL11Query" in found.body
    graph = rdflib.Graph().parse(data=found.body, format="turtle", publicID="http://e.x/sparql")
    described = {str(each).rpartition("#")[2] for each in graph.objects()}
    assert {"SPARQLQuery", "version-1.2", "version-1.2-basic", "version-1.1"} <= described


def test_the_version_is_announced(port):
    """In requests as a parameter of the address, form or media type; in answers that need it."""
    new = "SELECT * { BIND(<<( <a:s> <a:p> 'x'@ar--rtl )>> AS ?t) }"
    for version in ("1.1", "1.2-basic", "1.2"):
        assert ask(port, "/sparql", query=new, version=version).status == 200
        assert post(port, urlencode({"query": new, "version": version}), FORM)[0] == 200
        assert post(port, new, f"{QUERY}; version={version}")[0] == 200
    refused = ask(port, "/sparql", query=new, version="2.0")
    assert (refused.status, "Send one of 1.2, 1.2-basic, 1.1" in refused.body) == (400, True)
    assert post(port, new, f"{QUERY}; version=2.0")[0] == 415
    construct = "CONSTRUCT { <a:s> <a:p> ?x } { BIND(%s AS ?x) }"
    for query, accept, expected in (
        (new, "application/sparql-results+json", "; version=1.2"),
        (new, "application/sparql-results+xml", "; version=1.2"),
        (new, "application/json", ""),
        (SELECT, "application/sparql-results+json", ""),
        ("ASK {}", "application/sparql-results+json", ""),
        (construct % "'x'@ar--rtl", "text/turtle", "; charset=utf-8; version=1.2"),
        (construct % "'x'@ar--rtl", "application/n-triples; version=1.2", "; version=1.2"),
        (construct % "'x'@ar", "text/turtle", "; charset=utf-8"),
    ):
        found = ask(port, "/sparql", query=query, headers={"Accept": accept})
        assert found.headers["content-type"] == f"{accept.partition(';')[0]}{expected}"


@pytest.mark.parametrize(
    ("parameters", "status", "said"),
    [
        ({"query": "SELECT"}, 400, "SR260"),
        ({"query": "SELECT * { SERVICE <http://e.x/> {} }"}, 400, "SERVICE is not supported"),
        ({"query": SELECT, "format": "turtle"}, 400, "format=turtle is unknown"),
        ({"query": SELECT, "default-graph-uri": "x"}, 400, "default-graph-uri: Term"),
        ({"query": SELECT, "limit": "1"}, 400, "The parameter limit is unknown"),
        ({"query": [SELECT, SELECT]}, 400, "query is given twice"),
        ({"default-graph-uri": A}, 400, "The parameter query is missing"),
        ({"update": "CLEAR ALL"}, 400, "The server takes no updates"),
    ],
)
def test_mistakes_have_answers(port, parameters, status, said):
    """With what is wrong."""
    found = ask(port, f"/sparql?{urlencode(parameters, doseq=True)}")
    assert found.status == status
    assert said in found.body


def test_the_request_names_the_graphs(port):
    """As FROM and FROM NAMED do, in whose place it stands."""
    default, named = "SELECT ?s { ?s ?p ?o }", "SELECT ?g ?s { GRAPH ?g { ?s ?p ?o } }"
    asked = [
        (default, {"default-graph-uri": G}, [A]),
        (default, {"default-graph-uri": [G, H]}, [A, B]),
        (default, {"named-graph-uri": G}, []),
        (named, {"named-graph-uri": H}, [B]),
        (default.replace("{", f"FROM <{G}> {{", 1), {"default-graph-uri": H}, [B]),
    ]
    for query, graphs, subjects in asked:
        form = urlencode({"query": query, "format": "json", **graphs}, doseq=True)
        status, _, text = post(port, form, FORM)
        assert status == 200
        found = [f"<{row['s']['value']}>" for row in json.loads(text)["results"]["bindings"]]
        assert sorted(found) == subjects
        address = f"/sparql?{urlencode(graphs, doseq=True)}"
        assert post(port, query, QUERY, address=address, Accept="application/json")[2] == text


def test_bodies_are_limited_and_of_known_types(port):
    """Others are refused."""
    assert post(port, SELECT, "text/plain")[0] == 415
    assert post(port, b"\xff", QUERY)[0] == 400
    assert post(port, "query=%FF", FORM)[0] == 400
    assert post(port, "", FORM)[0] == 400
    assert post(port, SELECT, f"{QUERY}; charset=latin-1")[0] == 415
    assert post(port, SELECT, f"{QUERY}; charset=UTF-8")[0] == 200
    assert post(port, SELECT, f'{QUERY}; charset="utf-8"; version="1.2"')[0] == 200
    assert post(port, SELECT, f"{QUERY};version=1.2 ; charset=latin-1")[0] == 415
    assert post(port, " " * (1 << 20) + SELECT, QUERY)[0] == 413
