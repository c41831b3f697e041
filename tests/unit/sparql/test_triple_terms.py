"""Triple terms in queries mean the same asked once and kept up to date, as for an engine."""

from __future__ import annotations

import pyoxigraph
import pytest
from sparql_judge import answers, comparable, store, written
from sparql_strategies import PREFIXES

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.lang.ast import bracketed
from streamreasoner.rdf.terms import Term, canonical
from streamreasoner.rdf.vocabulary import UNBOUND

TEXT = f"""{PREFIXES}
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
ex:a ex:b ex:c {{| ex:source ex:x ; ex:since 3 |}} .
<< ex:a ex:b << ex:x ex:y "z"@en--ltr ~ ex:r2 >> ~ ex:r >> ex:q 1 .
ex:s ex:p <<( ex:k ex:l <<( ex:m ex:n 5 )>> )>> , <<( ex:c ex:c ex:c )>> .
ex:c ex:p ex:s .
ex:g {{ ex:s ex:p <<( ex:a ex:b ex:c )>> . ex:a ex:b ex:c ~ ex:rr }}
"""
FACTS = [
    tuple(
        canonical(written(term))
        for term in (quad.subject, quad.predicate, quad.object, quad.graph_name)
        if not isinstance(term, pyoxigraph.DefaultGraph)
    )
    for quad in pyoxigraph.parse(TEXT, format=pyoxigraph.RdfFormat.TRIG)
]
PATTERNS = (
    "<< ?s ?p ?o >> ?q ?z",
    "?s ex:b ?o {| ex:since ?z |}",
    "?s ?p <<( ?k ?l <<( ?m ?n ?x )>> )>> FILTER(?x = 5.0)",
    "?s ?p <<( ex:k ?l ?z )>> BIND(<<( ?u ex:n 5 )>> AS ?t)",
    "?s ?p <<( ex:k ?l ?z )>> BIND(<<( ex:m ex:n 5.0 )>> AS ?t) FILTER(?t = ?z)",
    "?s ?p <<( ?a ?b ?a )>>",
    "?s ?p <<( _:x ?b ?c )>> . _:x ?b ?c",
    '?s ?p <<( "x" ?b ?c )>>',
    "<<( ?a ?b ?c )>> ?p ?o",
    "<<( ex:a ex:b ex:c )>> ?p ?o",
    "?x ex:p/ex:p <<( ex:k ex:l ?z )>>",
    "?x (ex:p|ex:q)+ <<( ?k ex:l <<( ?m ?n ?v )>> )>>",
    "?x ex:p* <<( ?k ?k ?v )>>",
    "?x !ex:q <<( ?k ?l ex:c )>>",
    "<<( ex:k ex:l ?z )>> ^ex:p ?x",
    "?x ?q ?y FILTER EXISTS { ?x ex:p <<( ?k ?l ?o )>> }",
    "?x ?q ?y FILTER EXISTS { << ?x ?q ?y ~ ?r >> OPTIONAL { ?r ?d ?n } FILTER(?n > 1) }",
    "?x ?q ?y FILTER NOT EXISTS { ?r rdf:reifies <<( ?x ?q ?y )>> }",
    "?x ?q ?y OPTIONAL { ?r rdf:reifies <<( ?x ?q ?y )>> . ?r ex:since ?n FILTER(?n > 2) }",
    "?x ?q ?y MINUS { << ?x ?q ?y >> ex:since ?n }",
    "?x ?q ?y OPTIONAL { ?x ex:nope ?v } OPTIONAL { ?r rdf:reifies <<( ?x ?q ?v )>> }",
    "GRAPH ?g { ?x ?q <<( ?a ?b ?c )>> }",
    "GRAPH ?g { ?x ex:p+ <<( ?a ?b ?c )>> }",
    "GRAPH ex:g { << ?a ?b ?c >> ?d ?e } << ?a ?b ?c >> ?f ?h",
    "VALUES ?t { <<( ex:a ex:b ex:c )>> 1 UNDEF } ?s ?p ?t",
    "?s ?p ?o BIND(TRIPLE(?s, ?p, ?o) AS ?t) ?r rdf:reifies ?t",
    "?s ?p ?o BIND(<<( ?s ?p ?o )>> AS ?t) OPTIONAL { ?r rdf:reifies ?t }",
    "?s ?p ?o FILTER(?o != <<( ex:k ex:l <<( ex:m ex:n 5.0 )>> )>>)",
    "?s ?p ?o FILTER(?o IN (1, <<( ex:k ex:l <<( ex:m ex:n 5.0 )>> )>>))",
    "{ SELECT ?a (COUNT(?r) AS ?n) { << ?a ?b ?c ~ ?r >> } GROUP BY ?a }",
    "{ SELECT DISTINCT ?t { ?s ?p ?t FILTER(isTRIPLE(?t)) } }",
    '?s ?p ?o FILTER(LANGDIR(OBJECT(?o)) = "ltr" || hasLANG(?o))',
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_has_the_solutions_of_an_engine(pattern):
    """Asked once, and continuous when facts come, go and come again."""
    prefix = "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
    query = f"{PREFIXES}{prefix}SELECT * {{ {pattern} }}"
    expected = answers(store(FACTS), query)
    reasoner = Reasoner.from_rules("@input triple/3 .\n@input quad/4 .\n")
    reasoner.add_query("answer", query)
    for changed in (FACTS, FACTS[::2], FACTS[1::3]):
        for sign in (1, -1, 1) if changed is FACTS else (-1, 1):
            reasoner.apply(
                Update(bracketed(len(fact)), tuple(map(Term.parse, fact)), sign) for fact in changed
            )
    for table in (reasoner.facts("answer").to_arrow(), reasoner.query(query).to_arrow()):
        rows = zip(*table.to_pydict().values(), strict=True)
        assert {
            tuple(UNBOUND if each is None else comparable(each) for each in row) for row in rows
        } == expected
