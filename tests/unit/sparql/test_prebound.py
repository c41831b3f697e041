"""Queries with variables that have values: as if each value stood in the text of the query."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import rdflib

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.lang.ast import NOWHERE, Constant
from streamreasoner.lang.parser import parse
from streamreasoner.lang.places import placed
from streamreasoner.program.checked import check_all
from streamreasoner.rdf.vocabulary import UNBOUND
from streamreasoner.sparql.algebra import Alternative, Inverse
from streamreasoner.sparql.parse import parse_query
from streamreasoner.sparql.prebound import derive_prebound
from streamreasoner.sparql.rules.rulebook import UnsupportedError

EX = "http://example.org/"
PREFIX = f"PREFIX : <{EX}> "
DATA = """@prefix : <http://example.org/> .
:a :p :b, 1, 2 ; :q :c . :b :p :c ; :q "x"@en . :c :r :a, 3 . :e :p 5 ; :q :b . :d :q 2 .
"""
GIVEN = (f"<{EX}a>", f"<{EX}b>", f"<{EX}z>", '"x"@en')
PATH = "(:q|^:p)"
QUERIES = (
    "SELECT $this ?x { $this :p ?x }",
    "SELECT $this ?x { ?x ?p ?o FILTER (?o = $this) }",
    "SELECT $this { FILTER ($this = :a) }",
    "SELECT $this { { FILTER (false) } UNION { FILTER ($this != :a) } }",
    "SELECT $this ?x { BIND (str($this) AS ?x) FILTER (bound($this)) }",
    "SELECT $this ?x { OPTIONAL { ?x :q ?y FILTER (?y = $this) } }",
    "SELECT $this ?x { ?x :q ?y FILTER NOT EXISTS { ?x :p ?z OPTIONAL { $this :q ?z } } }",
    "SELECT $this { FILTER NOT EXISTS { $this :p* :c } }",
    "SELECT $this ?x { $this :p* ?x }",
    "SELECT $this ?x { ?x (:p|:q)* $this }",
    "SELECT $this ?x { ?x ?y ?z . ?x :p? $this FILTER EXISTS { $this :q? ?x } }",
    "SELECT $this (COUNT(?y) AS ?x) { $this :p ?y } GROUP BY $this",
    "SELECT (COUNT(?y) AS ?x) { $this :p ?y }",
    "SELECT (SUM(?y) AS ?x) { $this :p ?y }",
    "SELECT $this ?x { { SELECT $this (SUM(?y) AS ?x) { $this :p ?y } GROUP BY $this } }",
    "SELECT $this ?x { { SELECT $this ?x { ?x :q $this } } ?x ?p ?o }",
    "SELECT $this ?x { $this :p ?x FILTER (?x < $limit || $limit = 1) }",
    "SELECT $this ?x { $this $PATH ?x }",
    "SELECT $this ?x { $this ?p ?x } ORDER BY DESC(?x) LIMIT 1",
    "SELECT $this ?x { { $this :p ?x } UNION { :c :r ?x } } ORDER BY ?x LIMIT 2 OFFSET 1",
    "SELECT $this ?x { { SELECT $this ?x { ?x ?p $this } ORDER BY ?x LIMIT 1 } }",
    "SELECT $this ?x { $this :p ?x FILTER EXISTS { OPTIONAL { ?x :p ?y } FILTER (!bound(?y)) } }",
)


def as_rules(query):
    """A reasoner that keeps the answers of a query up to date: a given value and ?x."""
    p, q = (Constant(f"<{EX}{name}>", NOWHERE) for name in "pq")
    two = Constant('"2"^^<http://www.w3.org/2001/XMLSchema#integer>', NOWHERE)
    terms = {"limit": two, "PATH": Alternative((q, Inverse(p)))}
    parsed = parse_query(PREFIX + query)
    rules = derive_prebound(parsed, "answer", ("given", ("this",)), terms, ("this", "x"))
    program = parse("".join(f"given({term}) . " for term in GIVEN), "<given>")
    located = placed(tuple(rules), lambda _: program.rules[0].span)
    return Reasoner(check_all([replace(program, rules=(*program.rules, *located))]))


def answers(reasoner):
    """The present answers, as texts; None is unbound."""
    return {
        tuple(None if str(term) == UNBOUND[1:-1] else to_ntriples(term) for term in fact)
        for fact in reasoner.facts("answer")
    }


def asked(query, reasoner):
    """What the query answers when it is asked with each value in place of its variable."""
    text = query.replace("bound($this)", "true").replace("GROUP BY $this", "GROUP BY (1 AS ?g)")
    while (less := re.sub(r"(SELECT [^{]*)\$this", r"\1", text)) != text:
        text = less
    text = (
        text.replace("SELECT  {", "SELECT (1 AS ?y) {")
        .replace("$limit", "2")
        .replace("$PATH", PATH)
    )
    found = set()
    for term in GIVEN:
        answer = reasoner.query(PREFIX + text.replace("$this", term))
        rows = answer.to_arrow().to_pylist()
        found.update((term, row.get("x")) for row in rows)
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_a_given_variable_is_each_of_its_values(query):
    """The answers are those of the query with the value in its text, after every change."""
    reasoner = as_rules(query)
    triples = list(rdflib.Graph().parse(data=DATA))
    for first, last, sign in ((0, 7, 1), (7, 12, 1), (3, 6, -1), (0, 2, -1)):
        reasoner.apply(Update.triple(*each, multiplicity=sign) for each in triples[first:last])

        assert answers(reasoner) == asked(query, reasoner)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT $this { $this ?p ?o MINUS { $this ?p 1 } }", "MINUS"),
        ("SELECT $this { VALUES ?any { true } }", "VALUES"),
        ("SELECT $this { SERVICE <http://e/> { ?a ?b ?c } }", "SERVICE"),
        ("SELECT $this { $this ?p ?o { SELECT ?a { ?a ?b ?c } } }", "does not select $this"),
        ("SELECT $this { BIND (true AS $this) }", "cannot assign the pre-bound variable $this"),
    ],
)
def test_what_shacl_does_not_allow_is_refused(query, message):
    """Appendix A of SHACL; the message names what is wrong."""
    with pytest.raises(UnsupportedError, match=re.escape(message)):
        as_rules(query)
