"""The pattern of EXISTS is evaluated for each solution, in questions and in continuous queries."""

from __future__ import annotations

import pytest
from sparql_judge import answers, store
from sparql_strategies import PREFIXES
from unit.sparql.test_operators import EPOCHS, apply, asked, present

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.program.checked import check_query

PATTERNS = (
    "OPTIONAL { ?x ex:q ?z } FILTER(!bound(?z))",
    "?y ?p ?o OPTIONAL { ?x ex:q ?z } FILTER(!bound(?z))",
    "?z ex:q ?z OPTIONAL { ?y ex:r ?z }",
    "OPTIONAL { ?y ex:q ?z FILTER(?z != ?x) } FILTER(?z = ex:a || !bound(?z))",
    "?z ex:q ?w MINUS { ?y ex:r ?w }",
    "?x ex:p ?z MINUS { ?x ex:q ?w }",
    "ex:a ex:p ?z MINUS { ?x ex:q ?w }",
    "?z ex:q ?w BIND(?y AS ?v) FILTER(?v != ?w)",
    "BIND(?x AS ?v) FILTER(?v = ex:a)",
    "{ BIND(?y AS ?v) FILTER(?v > 0) } UNION { FILTER(?x = ex:b) }",
    "{ FILTER(?x = ex:a) }",
    "{ ?z ex:q ?w FILTER(?z = ?x) } { ?x ex:r ?v }",
    "VALUES (?x ?z) { (ex:a UNDEF) (ex:b ex:c) } ?z ex:q ?y",
    "SELECT ?z { ?x ex:q ?z }",
    "SELECT ?x { ?x ex:q ?z } ORDER BY DESC(?z) LIMIT 1",
    "SELECT ?x ?z { ?x ex:q ?z } ORDER BY ?z LIMIT 1 OFFSET 1",
    "SELECT ?x (COUNT(*) AS ?n) { ?x ?p ?z } GROUP BY ?x HAVING (COUNT(*) > 1)",
    "SELECT (COUNT(*) AS ?n) { ?x ex:q ?z } HAVING (COUNT(*) > 1)",
    "{ SELECT ?x (COUNT(?z) AS ?n) { OPTIONAL { ?x ex:q ?z } } GROUP BY ?x } FILTER(?n = 1)",
    "OPTIONAL { ?x ex:q ?z } FILTER NOT EXISTS { OPTIONAL { ?y ex:p ?u } FILTER(?u = ?x) }",
    "SELECT ?x { ?x ?p ?z FILTER NOT EXISTS { SELECT ?z { ?z ex:p ?x } } }",
    "FILTER EXISTS { FILTER(?x = ex:a) }",
    "?x ex:q* ?z FILTER(?z = 1)",
    "?y ex:q? ?y",
    "GRAPH ex:g { OPTIONAL { ?x ex:p ?z } FILTER(!bound(?z)) }",
    "GRAPH ?g { ?v ex:k ?v OPTIONAL { ?x ex:p ?z } FILTER(bound(?z)) }",
    "GRAPH ex:g { ?x ex:p* ?y }",
)
QUERIES = (
    *(f"SELECT ?x ?y {{ ?x ex:p ?y FILTER EXISTS {{ {each} }} }}" for each in PATTERNS),
    *(f"SELECT ?x ?y {{ ?x ex:p ?y FILTER NOT EXISTS {{ {each} }} }}" for each in PATTERNS[::3]),
    *(
        f"SELECT ?x ?y {{ ?x ex:p ?y FILTER(EXISTS {{ {each} }} || ?y = 1) }}"
        for each in PATTERNS[1::4]
    ),
    *(
        f"SELECT * {{ ?x ex:p ?y OPTIONAL {{ ?y ex:r ?z }} FILTER EXISTS {{ {each} }} }}"
        for each in PATTERNS[:12]
    ),
    (
        "SELECT ?x (COUNT(*) AS ?n) { ?x ex:p ?y FILTER EXISTS "
        "{ OPTIONAL { ?y ex:q ?z } FILTER(!bound(?z)) } } GROUP BY ?x"
    ),
    (
        "SELECT * { GRAPH ?g { ?x ex:p ?y FILTER NOT EXISTS "
        "{ OPTIONAL { ?y ex:q ?z FILTER(?x != ?z) } FILTER(bound(?z)) } } }"
    ),
)


@pytest.mark.parametrize("query", QUERIES)
def test_values_of_outside_are_seen_in_all_parts_of_the_pattern(query):
    """In OPTIONAL, MINUS, BIND, filters and what a sub-query selects, after every epoch."""
    reasoner = Reasoner(check_query(PREFIXES + query, "query.rq", "answer"))
    for changes, state in EPOCHS[:3]:
        apply(reasoner, changes)
        expected = answers(store(state), PREFIXES + query)

        assert present(reasoner, "answer") == expected
        known = Reasoner.from_rules("@input triple/3, quad/4 .")
        apply(known, dict.fromkeys(state, 1))
        assert asked(known, query) == expected


@pytest.mark.parametrize(
    "pattern", ["BIND(ex:a AS ?x)", "SELECT (ex:a AS ?x) {}", "{ ?z ex:q ?y BIND(?z AS ?x) }"]
)
def test_what_the_pattern_assigns_is_compared(pattern):
    """A value that EXISTS gives a variable of outside has to be the one that it has."""
    query = f"SELECT ?x ?y {{ ?x ex:p ?y FILTER EXISTS {{ {pattern} }} }}"
    joined = f"SELECT DISTINCT ?x ?y {{ ?x ex:p ?y {{ {pattern} }} }}"
    reasoner = Reasoner(check_query(PREFIXES + query, "query.rq", "answer"))
    for changes, _ in EPOCHS[:3]:
        apply(reasoner, changes)
        assert present(reasoner, "answer") == asked(reasoner, query) == asked(reasoner, joined)


@pytest.mark.parametrize("path", ["ex:p*", "ex:p?", "^(ex:q*)", "(ex:p|ex:q?)"])
def test_a_path_of_no_steps_begins_at_nodes(path):
    """As where the variable is bound by another pattern: 77 is in no triple."""
    query = f"SELECT ?x {{ VALUES ?x {{ 77 ex:a }} FILTER EXISTS {{ ?x {path} ?z }} }}"
    reasoner = Reasoner(check_query(PREFIXES + query, "query.rq", "answer"))
    for changes, _ in EPOCHS[:3]:
        apply(reasoner, changes)
        assert (
            present(reasoner, "answer") == asked(reasoner, query) == {("<http://example.org/a>",)}
        )
