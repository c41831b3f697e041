"""Reifiers and triple terms in the queries of shapes, exact as annotations come and go."""

from __future__ import annotations

import pytest

from streamreasoner import Reasoner, Term, Update
from streamreasoner.program.checked import check_source

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PREFIXES = f"""
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix ex: <http://example.org/> .
ex: sh:declare [ sh:prefix "ex" ; sh:namespace "http://example.org/" ],
    [ sh:prefix "rdf" ; sh:namespace "{RDF}" ] .
"""


def ex(name: str) -> str:
    """A term of the example."""
    return f"<http://example.org/{name}>"


def said(subject: str, value: str) -> str:
    """The triple term of a subject with a value of ex:p."""
    return f"<<( {ex(subject)} {ex('p')} {ex(value)} )>>"


DECIMAL = "<http://www.w3.org/2001/XMLSchema#decimal>"
FACTS = (
    (ex("a"), ex("p"), ex("b")),
    (ex("r1"), f"<{RDF}reifies>", said("a", "b")),
    (ex("r1"), ex("certainty"), f'"0.5"^^{DECIMAL}'),
    (ex("c"), ex("p"), ex("d")),
    (ex("r2"), f"<{RDF}reifies>", said("c", "d")),
    (ex("r2"), ex("certainty"), f'"0.9"^^{DECIMAL}'),
    (ex("e"), ex("p"), ex("f")),
)
CONSTRAINTS = {
    "an annotation": (
        "$this ex:p ?value {| ex:certainty ?c |} FILTER (?c < 0.8)",
        {(ex("a"), ex("b"))},
    ),
    "a reified triple": (
        "<< $this ex:p ?value ~ ?r >> ex:certainty ?c FILTER (?c > 0.8)",
        {(ex("c"), ex("d"))},
    ),
    "a triple without a reifier": (
        "$this ex:p ?value FILTER NOT EXISTS { ?r rdf:reifies <<( $this ex:p ?value )>> }",
        {(ex("e"), ex("f"))},
    ),
    "functions of triple terms": (
        "?r rdf:reifies ?value FILTER (SUBJECT(?value) = $this)",
        {(ex("a"), said("a", "b")), (ex("c"), said("c", "d"))},
    ),
}


def updates(facts: tuple[tuple[str, str, str], ...], sign: int = 1) -> list[Update]:
    """Facts that come or go."""
    return [Update("triple", tuple(map(Term.parse, each)), sign) for each in facts]


def results(reasoner: Reasoner) -> set[tuple[str, str | None]]:
    """Focus nodes and values of the results."""
    return {(each.focus, each.value) for each in reasoner.validate().results}


@pytest.mark.parametrize(("pattern", "expected"), CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_a_constraint_reads_reifiers(pattern: str, expected: set[tuple[str, str]]) -> None:
    """Its results are there with the annotations, and are those from scratch without each."""
    shapes = f"""{PREFIXES} ex:S a sh:NodeShape ; sh:targetSubjectsOf ex:p ;
        sh:sparql [ sh:prefixes ex: ; sh:select '''SELECT $this ?value WHERE {{ {pattern} }}''' ] .
    """
    program = check_source(shapes, "shapes.ttl")
    reasoner = Reasoner(program)
    reasoner.apply(updates(FACTS))
    assert results(reasoner) == expected

    for number, fact in enumerate(FACTS):
        fresh = Reasoner(program)
        fresh.apply(updates(FACTS[:number] + FACTS[number + 1 :]))
        reasoner.apply(updates((fact,), -1))
        assert results(reasoner) == results(fresh)
        reasoner.apply(updates((fact,)))
    assert results(reasoner) == expected


def test_a_rule_annotates_what_it_derives() -> None:
    """Each solution has a reifier of its own, which goes with it."""
    shapes = f"""{PREFIXES} ex:S a sh:NodeShape ; sh:targetSubjectsOf ex:p ;
        sh:rule [ a sh:SPARQLRule ; sh:prefixes ex: ; sh:construct '''
            CONSTRUCT {{ $this ex:q ?o {{| ex:from ?c |}} }}
            WHERE {{ $this ex:p ?o {{| ex:certainty ?c |}} }}''' ] ."""
    reasoner = Reasoner(check_source(shapes, "shapes.ttl"))
    reasoner.apply(updates(FACTS))

    def derived() -> set[tuple[str, str]]:
        rows = reasoner.facts().to_arrow().to_pylist()
        of = {row["s"]: row["o"] for row in rows if row["p"] == f"<{RDF}reifies>"}
        return {(of[row["s"]], row["o"]) for row in rows if row["p"] == ex("from")}

    first = (said("a", "b").replace(ex("p"), ex("q")), f'"0.5"^^{DECIMAL}')
    second = (said("c", "d").replace(ex("p"), ex("q")), f'"0.9"^^{DECIMAL}')
    assert derived() == {first, second}
    reasoner.apply(updates(FACTS[2:3], -1))
    assert derived() == {second}
