"""`/sparql` is the SPARQL 1.1 Protocol over one epoch, and its mistakes have answers."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from urllib.parse import urlencode

import pytest
from pipelines import DEADLINE_SECONDS
from serving import ask, serving
from stored_epochs import StoredReasoner

A, B, TO = (f"<http://example.org/{name}>" for name in ("a", "b", "to"))
RULES = """@prefix ex: <http://example.org/> .
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
        stored.run([("triple", (B, TO, A), 1)])
    with serving(directory) as found:
        yield found


def post(port, body, kind, **headers):
    """The answer to a posted query."""
    used = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_SECONDS)
    used.request("POST", "/sparql", body, {"Content-Type": kind, **headers})
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
    """In Turtle."""
    found = ask(port, "/sparql")
    assert "sd:SPARQL11Query" in found.body


@pytest.mark.parametrize(
    ("parameters", "status", "said"),
    [
        ({"query": "SELECT"}, 400, "SR260"),
        ({"query": "SELECT * { SERVICE <http://e.x/> {} }"}, 400, "SERVICE is not supported"),
        ({"query": SELECT, "format": "turtle"}, 400, "format=turtle is unknown"),
        ({"query": SELECT, "default-graph-uri": "x"}, 400, "default-graph-uri is unknown"),
    ],
)
def test_mistakes_have_answers(port, parameters, status, said):
    """With what is wrong."""
    found = ask(port, "/sparql", **parameters)
    assert found.status == status
    assert said in found.body


def test_bodies_are_limited_and_of_known_types(port):
    """Others are refused."""
    assert post(port, SELECT, "text/plain")[0] == 415
    assert post(port, b"\xff", QUERY)[0] == 400
    assert post(port, " " * (1 << 20) + SELECT, QUERY)[0] == 413
