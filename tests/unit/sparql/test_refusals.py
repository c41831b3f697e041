"""What is not answered rightly is refused by name, at its place."""

from __future__ import annotations

import pytest

from streamreasoner.errors import ProgramError
from streamreasoner.program.checked import check_query

PREFIXES = "PREFIX ex: <http://example.org/>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
UNSUPPORTED = {
    "SELECT ?x { SERVICE ex:s { ?x ex:p ?y } }": ("SERVICE", "another server"),
    "SELECT ?x { ?x ex:p ?y FILTER(RAND() < 0.5) }": ("RAND", "another value each time"),
    "SELECT ?x { ?x ex:p ?y BIND(NOW() AS ?z) }": ("NOW", "another value each time"),
    "SELECT ?x { ?x ex:p ?y BIND(UUID() AS ?z) }": ("UUID", "another value each time"),
    "DESCRIBE ex:a": ("DESCRIBE", "leaves open"),
    "SELECT ?x { ?x ex:p ?y FILTER(ex:f(?y)) }": ("ex:f", "is not supported"),
    "SELECT ?x { ?x ex:p ?y FILTER(ex:f(?y, 1)) }": ("ex:f", "is not supported"),
    "SELECT ?x { ?x ex:p ?y FILTER(xsd:time(?y) = 1) }": ("xsd:time", "is not supported"),
    "SELECT ?x { ?x ex:p ?y FILTER(xsd:integer(?y, 1)) }": ("xsd:integer", "takes 1 argument"),
    "SELECT ?x { ?x ex:p ?y FILTER REGEX(?y, 'a', ?x) }": ("REGEX", "are not constant"),
    "SELECT ?x { ?x ex:p ?y FILTER REGEX(?y, 'a', 'iw') }": ("REGEX", "no flag `w`"),
    "SELECT ?x { ?x ex:p ?y FILTER REGEX(?y, ?x, 'x') }": ("?x", "needs a constant pattern"),
    "SELECT ?x { ?x ex:p ?y BIND(REPLACE('a', 'a', ?y, 'q') AS ?z) }": ("?y", "needs a constant"),
}
MALFORMED = {
    "SELECT ?x { ?x ex:p }": "is not SPARQL",
    "SELECT ?x { ?x ex:p ?y": "ends here",
    "": "ends here",
    "SELECT ?x { ?x foaf:name ?y }": "`foaf:` is not declared",
    "SELECT ?x (COUNT(*) AS ?n) { ?x ex:p ?y }": "neither grouped nor aggregated",
    "SELECT ?x { ?x ex:p ?y } GROUP BY ?x HAVING(?y > 1)": "neither grouped nor aggregated",
    "SELECT * { ?x ex:p ?y } GROUP BY ?x": "has no GROUP BY",
    "SELECT ?x { ?x ex:p ?y BIND(1 AS ?y) }": "is bound already",
    "SELECT (1 AS ?y) { ?x ex:p ?y }": "is bound already",
    "SELECT ?x { VALUES (?x ?y) { (1) } }": "1 value for 2 variables",
    "SELECT ?x { ?x ex:p ?y FILTER(COUNT(?y) > 1) }": "SELECT, HAVING and ORDER BY only",
    "SELECT ?x { _:a ex:p ?y OPTIONAL { _:a ex:q ?x } }": "two graph patterns",
    "SELECT ?x { <a b> ex:p ?x }": "cannot contain the character ' '",
    'SELECT ?x { ?x ex:p "\\UFFFFFFFF" }': "is not a character",
    "INSERT DATA { ex:a ex:p ex:b }": "this is an update",
}


@pytest.mark.parametrize("query", UNSUPPORTED)
def test_what_has_no_rules_is_refused_at_its_place(query):
    """With the reason."""
    word, reason = UNSUPPORTED[query]
    with pytest.raises(ProgramError) as caught:
        check_query(PREFIXES + query, "query.rq", "answer")
    (diagnostic,) = caught.value.diagnostics
    text = PREFIXES + query
    assert diagnostic.code == "SR261"
    assert reason in diagnostic.message
    assert text[diagnostic.span.start : diagnostic.span.end] == word


@pytest.mark.parametrize("query", MALFORMED)
def test_what_is_no_query_is_refused(query):
    """No error of the parser gets out."""
    with pytest.raises(ProgramError) as caught:
        check_query(PREFIXES + query if query else "", "query.rq", "answer")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SR260"
    assert MALFORMED[query] in diagnostic.message


@pytest.mark.parametrize("name", ["1st", "a-b", "contains", "triple", ""])
def test_the_name_of_a_query_is_a_predicate(name):
    """Names of tests and of triples cannot name answers."""
    with pytest.raises(ProgramError, match="SR261"):
        check_query("ASK { ?x ?p ?y }", "query.rq", name)
