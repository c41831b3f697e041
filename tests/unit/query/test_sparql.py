"""Queries in SPARQL: forms of answers, functions, the total order, graphs, limits, refusals."""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap
from xml.parsers import expat

import numpy as np
import pyoxigraph
import pytest

from streamreasoner.errors import LimitError, ProgramError, QueryError
from streamreasoner.query.indexed_triples import IndexedTriples
from streamreasoner.query.sparql import formats
from streamreasoner.query.sparql.answers import Truth
from streamreasoner.query.sparql.evaluate import evaluate
from streamreasoner.query.sparql.facts import facts_of_arrays
from streamreasoner.query.sparql.limits import QueryLimits
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.nesting import DEEPEST

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
P = "<http://e.x/p>"
A, B, C = (f"<http://e.x/{name}>" for name in "abc")
G, H = "<http://e.x/g>", "<http://e.x/h>"


def integer(form: object) -> str:
    """An integer with a lexical form."""
    return f'"{form}"^^<{XSD}integer>'


def facts_of(*rows):
    """Facts of rows of terms."""
    dictionary = Dictionary()
    ids = [[dictionary.intern(term) for term in row] for row in rows]
    arrays = [
        np.array([row for row in ids if len(row) == arity], np.int32).reshape(-1, arity)
        for arity in (3, 4)
    ]
    return facts_of_arrays(dictionary, IndexedTriples(arrays[0]), arrays[1])


def ask(query: str, *rows, **limits):
    """The answer of a query about rows of terms, within limits."""
    return evaluate(query, facts_of(*rows), QueryLimits(**limits))


def value(expression: str) -> str | None:
    """The value of an expression."""
    ((term,),) = ask(f"SELECT ?v {{ BIND({expression} AS ?v) }}")
    return term


# As tests/values has them for rules, the functions are tested there; these are what SPARQL calls.
@pytest.mark.parametrize(
    ("expression", "term"),
    [
        ("1 + 1", integer(2)),
        ("-(3)", integer(-3)),
        ("+(3)", integer(3)),
        ("+'x'", None),
        ("1 / 2", f'"0.5"^^<{XSD}decimal>'),
        ("'a' = 'a'", f'"true"^^<{XSD}boolean>'),
        ("'a' = 'a'@en", f'"false"^^<{XSD}boolean>'),
        ("1 = 1.0", f'"true"^^<{XSD}boolean>'),
        ("1 = 'x'", f'"false"^^<{XSD}boolean>'),
        ("<http://e.x/a> < <http://e.x/b>", None),
        ("'x'^^<http://e.x/unit> = 'y'^^<http://e.x/unit>", None),
        ("'x'^^<http://e.x/unit> = 'x'^^<http://e.x/unit>", f'"true"^^<{XSD}boolean>'),
        (f"'NaN'^^<{XSD}double> = 'NaN'^^<{XSD}double>", f'"false"^^<{XSD}boolean>'),
        (f"'NaN'^^<{XSD}double> = 'NaN'^^<{XSD}float>", f'"false"^^<{XSD}boolean>'),
        (f"'NaN'^^<{XSD}double> < 1", f'"false"^^<{XSD}boolean>'),
        (f"'NaN'^^<{XSD}double> < 'x'", None),
        ("1 IN (2, 1/0, 1)", f'"true"^^<{XSD}boolean>'),
        ("1 IN (2, 1/0)", None),
        ("1 NOT IN ()", f'"true"^^<{XSD}boolean>'),
        ("IF(1/0, 1, 2)", None),
        ("IF('', 1, 2)", integer(2)),
        ("COALESCE(1/0, ?none, 7)", integer(7)),
        ("BOUND(?none)", f'"false"^^<{XSD}boolean>'),
        ("(1/0 = 1) || true", f'"true"^^<{XSD}boolean>'),
        ("(1/0 = 1) && true", None),
        ("!(1/0 = 1)", None),
        ("STRLEN('abc')", integer(3)),
        ("SUBSTR('abc', 2)", '"bc"'),
        ("UCASE('a'@en)", '"A"@en'),
        ("REPLACE('aXbx', 'x', '-', 'i')", '"a-b-"'),
        ("REGEX('abc', '^A', 'i')", f'"true"^^<{XSD}boolean>'),
        ("REGEX('abc', '(')", None),
        ("STRBEFORE('abc', 'c')", '"ab"'),
        ("ENCODE_FOR_URI('a b')", '"a%20b"'),
        ("IRI('http://e.x/z')", "<http://e.x/z>"),
        ("IRI(1)", None),
        (f"STRDT('1', <{XSD}integer>)", integer(1)),
        (f"<{XSD}integer>('12')", integer(12)),
        (f"<{XSD}float>('1.5')", f'"1.5E0"^^<{XSD}float>'),
        (
            f"<{XSD}dateTime>('2020-01-01T00:00:00Z')",
            f'"2020-01-01T00:00:00Z"^^<{XSD}dateTime>',
        ),
        (f"<{XSD}dateTime>('x')", None),
        (f"YEAR('2020-01-01T00:00:00Z'^^<{XSD}dateTime>)", integer(2020)),
        ("MD5('abc')", '"900150983cd24fb0d6963f7d28e17f72"'),
        ("sameTerm(1, 1.0)", f'"false"^^<{XSD}boolean>'),
        (f"isNUMERIC('01'^^<{XSD}integer>)", f'"true"^^<{XSD}boolean>'),
        ("EXISTS { ?x ?y ?z }", f'"false"^^<{XSD}boolean>'),
        # A literal with a language differs from every other one; other unknown values may be equal.
        ("'x'@en != 'x'^^<http://e.x/unit>", f'"true"^^<{XSD}boolean>'),
        (f"'x'^^<{XSD}integer> = 'x'@en", f'"false"^^<{XSD}boolean>'),
        ("'x'^^<http://e.x/unit> != 'x'", None),
        ("'x'@en = 'x'@EN", f'"true"^^<{XSD}boolean>'),
        ("<http://e.x/a> IN (1, 'x', <http://e.x/a>)", f'"true"^^<{XSD}boolean>'),
        ("'x'^^<http://e.x/unit> IN ('x', <http://e.x/a>)", None),
        (f"'NaN'^^<{XSD}double> IN ('NaN'^^<{XSD}double>)", f'"false"^^<{XSD}boolean>'),
        # A time without a zone is within 14 hours of UTC; a date has no order with a time.
        (f"'2020-01-01'^^<{XSD}date> = '2020-01-01Z'^^<{XSD}date>", None),
        (f"'2020-01-01'^^<{XSD}date> < '2020-01-03Z'^^<{XSD}date>", f'"true"^^<{XSD}boolean>'),
        (
            f"'2020-01-01T00:00:00'^^<{XSD}dateTime> = '2020-01-02T00:00:00Z'^^<{XSD}dateTime>",
            f'"false"^^<{XSD}boolean>',
        ),
        (f"'2020-01-01T00:00:00Z'^^<{XSD}dateTime> > '2020-01-01Z'^^<{XSD}date>", None),
        (
            f"'2020-01-01T00:00:00Z'^^<{XSD}dateTime> != '2020-01-01Z'^^<{XSD}date>",
            f'"true"^^<{XSD}boolean>',
        ),
        # A float stays one, unless a double takes part.
        (f"'1.5'^^<{XSD}float> + 1", f'"2.5E0"^^<{XSD}float>'),
        (f"-('0.1'^^<{XSD}float>)", f'"-1.0E-1"^^<{XSD}float>'),
        (f"'1'^^<{XSD}float> / 3", f'"3.3333334E-1"^^<{XSD}float>'),
        (f"'1.5'^^<{XSD}float> * 1e0", f'"1.5E0"^^<{XSD}double>'),
        (f"'3e38'^^<{XSD}float> * 10", f'"INF"^^<{XSD}float>'),
        (f"ROUND('2.5'^^<{XSD}float>)", f'"3.0E0"^^<{XSD}float>'),
        (f"<{XSD}float>('16777217')", f'"1.6777216E7"^^<{XSD}float>'),
        (f"<{XSD}string>(1E0)", '"1"'),
        (f"<{XSD}string>(1.50)", '"1.5"'),
        (f"<{XSD}string>('1.0'^^<{XSD}decimal>)", '"1"'),
        (f"<{XSD}string>('+01'^^<{XSD}integer>)", '"1"'),
        (f"<{XSD}string>('1'^^<{XSD}boolean>)", '"true"'),
        (f"<{XSD}string>('0.1'^^<{XSD}float>)", '"0.1"'),
        (f"<{XSD}string>(123456.5e0)", '"123456.5"'),
        (f"<{XSD}string>(1e6)", '"1.0E6"'),
        (f"<{XSD}string>(-1e-7)", '"-1.0E-7"'),
        (f"<{XSD}string>('-INF'^^<{XSD}double>)", '"-INF"'),
        (f"<{XSD}string>('-0'^^<{XSD}double>)", '"-0"'),
        (f"<{XSD}string>({10**30})", f'"{10**30}"'),
        (f"<{XSD}string>('x'^^<{XSD}integer>)", '"x"'),
        (f"<{XSD}string>(<http://e.x/a>)", '"http://e.x/a"'),
        ("REGEX('a.b', 'A.B', 'iq')", f'"true"^^<{XSD}boolean>'),
        ("REGEX('axb', 'a.b', 'q')", f'"false"^^<{XSD}boolean>'),
        ("REGEX('ab', 'a b', 'x')", f'"true"^^<{XSD}boolean>'),
        ("REGEX('ab', 'a', CONCAT('g'))", None),
        ("REPLACE('a.b', '.', '$1', 'q')", '"a$1b"'),
        ("REPLACE('abc', 'b', 'x', 1)", None),
        ("sameTerm(BNODE('x'), BNODE('x'))", f'"true"^^<{XSD}boolean>'),
        ("sameTerm(BNODE('x'), BNODE('y'))", f'"false"^^<{XSD}boolean>'),
        ("BNODE('x'@en)", None),
        ("BNODE(1)", None),
    ],
)
def test_expression_has_the_value_that_the_specification_gives(expression, term):
    """Expression has the value that the specification gives."""
    assert value(expression) == term


def test_relative_iris_are_resolved_against_the_base():
    """Relative iris are resolved against the base."""
    (row,) = ask("BASE <http://e.x/> SELECT (IRI('a') AS ?v) {}")
    assert row == (A,)


def test_literals_keep_their_lexical_forms():
    """Literals keep their lexical forms."""
    rows = [(A, P, integer(form)) for form in ("1", "01", "+1")]
    assert {o for _, o in ask("SELECT ?s ?o { ?s ?p ?o }", *rows)} == {row[2] for row in rows}
    assert len(ask(f"SELECT ?s {{ ?s ?p '01'^^<{XSD}integer> }}", *rows)) == 1
    assert list(ask("SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER(?o = 1) }", *rows)) == [
        (integer(3),)
    ]


def test_fresh_values_differ_from_row_to_row():
    """Fresh values differ from row to row."""
    rows = [(A, P, each) for each in (A, B, C)]
    found = ask("SELECT (UUID() AS ?u) (RAND() AS ?r) (BNODE() AS ?b) { ?s ?p ?o }", *rows)
    assert [len({*column}) for column in zip(*found, strict=True)] == [3, 3, 3]


def test_a_label_names_one_node_in_each_solution():
    """BNODE with a label is the same node in all of a solution, and another one in the next."""
    rows = [(A, P, '"x"'), (B, P, '"x"'), (C, P, '"y"')]
    found = list(
        ask("SELECT (BNODE(?o) AS ?b) (BNODE('y') AS ?c) (BNODE('x') AS ?d) { ?s ?p ?o }", *rows)
    )
    assert len({node for row in found for node in row}) == 6
    assert sorted((b == d, b == c) for b, c, d in found) == [
        (False, True),
        (True, False),
        (True, False),
    ]
    both = (
        "SELECT ?b ?c { { ?s ?p 'x' BIND(BNODE('l') AS ?b) } { ?t ?p 'x' BIND(BNODE('l') AS ?c) } }"
    )
    assert len({*ask(both, *rows)}) == 4


def test_groups_and_slices_inside_graph_are_of_each_graph():
    """A sub-query within GRAPH ?g is one for each graph, with solutions or without."""
    rows = [(A, P, B, G), (B, P, B, G), (C, P, A, H), (A, P, integer(4), H)]
    count = "SELECT ?g ?n ?m { GRAPH ?g { SELECT (COUNT(*) AS ?n) (MAX(?s) AS ?m) { ?s ?p %s } } }"
    assert sorted(ask(count % "?o", *rows)) == [(G, integer(2), B), (H, integer(2), C)]
    assert sorted(ask(count % B, *rows), key=str) == [(G, integer(2), B), (H, integer(0), None)]
    best = "SELECT ?g ?s { GRAPH ?g { SELECT ?s { ?s ?p ?o } ORDER BY DESC(?s) %s } }"
    assert sorted(ask(best % "LIMIT 1", *rows)) == [(G, B), (H, C)]
    assert sorted(ask(best % "OFFSET 1", *rows)) == [(G, A), (H, A)]
    assert list(ask(best % "LIMIT 3 OFFSET 2", *rows)) == []


def test_sums_of_floats_are_floats():
    """A double among them makes a double; the least and the greatest are terms as they are."""
    single = [(A, P, f'"{form}"^^<{XSD}float>') for form in ("0.1", "0.20")]
    query = "SELECT (SUM(?o) AS ?sum) (AVG(?o) AS ?avg) (MAX(?o) AS ?max) { ?s ?p ?o }"
    assert list(ask(query, *single)) == [
        (f'"3.0E-1"^^<{XSD}float>', f'"1.5E-1"^^<{XSD}float>', f'"0.20"^^<{XSD}float>')
    ]
    ((total, _, _),) = ask(query, *single, (A, P, f'"1"^^<{XSD}double>'))
    assert total.endswith(f"<{XSD}double>")


def test_a_long_list_is_looked_up():
    """A value that is equal to a member is found, whatever the length of the list."""
    members = ", ".join(f"<http://e.x/{number}>" for number in range(0, 2000, 2))
    assert len(ask(f"SELECT ?o {{ ?s ?p ?o FILTER(?o IN ({members}, 1)) }}", *PAIRS)) == 1000


def test_order_is_total_and_what_is_unbound_is_first():
    """Order is total and what is unbound is first."""
    terms = [integer(10), integer(9), '"x"', B, "_:b"]
    rows = [(A, P, term) for term in terms]
    query = "SELECT ?o { { ?s ?p ?o } UNION { ?s ?p ?q } } ORDER BY %s(?o) LIMIT 6 OFFSET %d"
    ascending = [row[0] for row in ask(query % ("ASC", 4), *rows)]
    assert ascending == [None, "_:b", B, integer(9), integer(10), '"x"']
    descending = [row[0] for row in ask(query % ("DESC", 0), *rows)]
    assert descending == [*ascending[:0:-1], None]


def test_distinct_solutions_keep_the_order():
    """Distinct solutions keep the order."""
    rows = [(A, P, B), (A, P, C), (B, P, A)]
    found = ask("SELECT DISTINCT ?s { ?s ?p ?o } ORDER BY DESC(?s)", *rows)
    assert list(found) == [(B,), (A,)]


def test_groups_have_aggregates_and_conditions():
    """Groups have aggregates and conditions."""
    rows = [(A, P, integer(1)), (A, P, integer(2)), (B, P, integer(5)), (C, P, '"x"')]
    found = ask(
        "SELECT ?s (COUNT(*) AS ?n) (SUM(?o) AS ?t) (AVG(?o) AS ?v) (MIN(?o) AS ?l) (MAX(?o) AS ?m)"
        " (SAMPLE(?o) AS ?one) (GROUP_CONCAT(?o; SEPARATOR=',') AS ?c)"
        " { ?s ?p ?o } GROUP BY ?s HAVING (COUNT(*) > 1 || MAX(?o) = 'x')",
        *rows,
    )
    one_and_a_half = f'"1.5"^^<{XSD}decimal>'
    of_a = (integer(2), integer(3), one_and_a_half, integer(1), integer(2), integer(1), '"1,2"')
    assert sorted(found) == [
        (A, *of_a),
        (C, integer(1), None, None, '"x"', '"x"', '"x"', '"x"'),
    ]


def test_aggregates_of_nothing_are_those_of_the_specification():
    """Aggregates of nothing are those of the specification."""
    (row,) = ask(
        "SELECT (COUNT(?o) AS ?n) (SUM(?o) AS ?t) (AVG(?o) AS ?v) (MIN(?o) AS ?m)"
        " (GROUP_CONCAT(?o) AS ?c) { ?s ?p ?o }"
    )
    assert row == (integer(0), integer(0), integer(0), None, '""')


MERGED = f"SELECT ?s FROM {G} FROM {H} {{ ?s ?p {C} }}"  # noqa: S608 - not SQL
NAMED = f"SELECT ?g FROM NAMED {G} {{ GRAPH ?g {{ ?s ?p ?o }} }}"  # noqa: S608


def test_graphs_are_apart_from_the_default_graph():
    """Graphs are apart from the default graph, unless FROM merges them."""
    rows = [(A, P, B), (B, P, C, G), (C, P, A, H), (B, P, C, H)]
    assert list(ask("SELECT ?o { ?s ?p ?o }", *rows)) == [(B,)]
    assert sorted(ask("SELECT ?g ?s { GRAPH ?g { ?s ?p ?o } }", *rows)) == [
        (G, B),
        (H, B),
        (H, C),
    ]
    assert sorted(ask("SELECT ?g { GRAPH ?g {} }", *rows)) == [(G,), (H,)]
    assert list(ask(MERGED, *rows)) == [(B,)]
    assert list(ask(NAMED, *rows)) == [(G,)]


def test_paths_match_terms_that_no_triple_has():
    """Paths match terms that no triple has."""
    assert list(ask(f"SELECT ?x {{ {C} {P}* ?x }}", (A, P, B))) == [(C,)]
    assert ask(f"ASK {{ {C} {P}* {C} }}", (A, P, B)) == Truth(holds=True)
    assert sorted(ask(f"SELECT ?x {{ {A} {P}+ ?x }}", (A, P, B), (B, P, A))) == [(A,), (B,)]


def test_construct_makes_each_triple_once_and_only_triples():
    """Construct makes each triple once and only triples."""
    rows = [(A, P, B), (A, P, '"x"'), (B, P, B)]
    found = ask("CONSTRUCT { ?o ?p ?s . ?s ?q ?o } { ?s ?p ?o OPTIONAL { ?o ?r ?q } }", *rows)
    assert sorted(found) == [(A, B, B), (B, B, B), (B, P, A), (B, P, B)]
    blank = ask("CONSTRUCT { _:x ?p ?s . _:x ?p ?o } { ?s ?p ?o }", *rows)
    assert len({s for s, _, _ in blank}) == 3
    assert len(ask("CONSTRUCT WHERE { ?s ?p ?o }", *rows)) == 3


def test_describe_follows_blank_nodes():
    """Describe follows blank nodes."""
    rows = [(A, P, "_:b"), ("_:b", P, B), (B, P, C)]
    assert sorted(ask(f"DESCRIBE {A}", *rows)) == [(A, P, "_:b"), ("_:b", P, B)]
    assert sorted(ask("DESCRIBE ?x { ?x ?p ?y FILTER(isIRI(?y)) }", *rows)) == [
        (B, P, C),
        ("_:b", P, B),
    ]


def test_truths_and_triples_have_formats_of_their_own():
    """Truths and triples have formats of their own."""
    yes = ask("ASK {}")
    assert formats.written(yes, "json") == b'{"head":{},"boolean":true}\n'
    assert b"<boolean>true</boolean>" in formats.written(yes, "xml")
    triples = ask("CONSTRUCT WHERE { ?s ?p ?o }", (A, P, integer("01")))
    assert formats.written(triples, "ntriples").decode() == f"{A} {P} {integer('01')} .\n"
    assert "e:a e:p 01" in formats.written(triples, "turtle", {"e": "http://e.x/"}).decode()
    query = "PREFIX e: <http://e.x/b> PREFIX f: <http://e.x/> CONSTRUCT WHERE { ?s ?p ?o }"
    named = formats.written(ask(query, (A, P, B)), "turtle", {"e": "http://e.x/"}).decode()
    assert "f:a f:p e: ." in named
    with pytest.raises(QueryError, match=r"cannot be written as csv\. Choose one of: json, xml"):
        formats.written(yes, "csv")


@pytest.mark.parametrize("name", [each.name for each in formats.TRIPLES])
@pytest.mark.parametrize(
    ("triple", "in_xml"),
    [
        ((A, P, B), True),
        (("_:0.x", P, "_:0"), True),
        ((A, P, '"a\\rb\\n\\t<&é"@en-gb'), True),
        ((A, "<http://e.x/a?b=1&c%20d>", B), True),
        ((A, "<http://e.x/1>", B), False),
        ((A, f"<{RDF}li>", B), False),
        ((A, P, '"\\u0001"'), False),
        ((A, P, '"\\uFFFE"'), False),
        (("_:0", P, f'<<( _:0 {P} <<( _:0 {P} "x"@en--rtl )>> )>>'), True),
        ((A, P, '"x"@en-gb--ltr'), True),
    ],
)
def test_triples_are_read_back_or_refused(name, triple, in_xml):
    """RDF/XML has not all predicates and characters; labels of nodes may be others.

    JSON-LD 1.1 has no triple terms, and Turtle announces the terms of RDF 1.2.
    """
    answer = ask("CONSTRUCT WHERE { ?s ?p ?o }", triple)
    is_new = "--" in triple[2]
    if name == "json-ld" and triple[2].startswith("<<("):
        with pytest.raises(QueryError, match=r"JSON-LD 1\.1 has none\. Choose one of: turtle, ntr"):
            formats.written(answer, name)
        return
    if name == "rdf-xml" and not in_xml:
        with pytest.raises(
            QueryError, match=r"cannot say\. Choose one of: turtle, ntriples, json-ld"
        ):
            formats.written(answer, name)
        return
    media_type = next(each.accepted[0] for each in formats.TRIPLES if each.name == name)
    syntax = pyoxigraph.RdfFormat.from_media_type(media_type)
    assert syntax is not None
    data = formats.written(answer, name, {"": "http://e.x/", "e": "http://e.x/"})
    assert data.startswith(b'VERSION "1.2"\n') == (is_new and name == "turtle")
    if name == "rdf-xml":
        expat.ParserCreate(namespace_separator=" ").Parse(data, True)  # noqa: FBT003
    found = pyoxigraph.Dataset(pyoxigraph.parse(data, format=syntax))
    expected = pyoxigraph.Dataset(
        pyoxigraph.parse(" ".join((*triple, ".")), format=pyoxigraph.RdfFormat.N_TRIPLES)
    )
    for each in (found, expected):
        each.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    assert found == expected


@pytest.mark.parametrize("name", [each.name for each in formats.SOLUTIONS])
def test_the_deepest_triple_term_is_written(name):
    """Nothing is evaluated by a recursion that it could exceed."""
    term = f"<<( {A} {P} " * DEEPEST + '"x"' + " )>>" * DEEPEST
    answer = ask("SELECT ?o { ?s ?p ?o } ORDER BY ?o", (A, P, term), (A, P, B))
    assert [*answer][1] == (term,)
    assert formats.written(answer, name).count(A[1:-1].encode()) == DEEPEST


def test_a_query_of_too_many_patterns_is_refused():
    """Which the engine of joins would do by its own error."""
    with pytest.raises(LimitError, match="more patterns than can be joined, about 1,000"):
        evaluate(f"SELECT * {{ ?s ?p ({'1 ' * 600}) }}", replace(facts_of((A, P, B)), index=None))


def test_many_patterns_that_nothing_matches_have_no_solution():
    """The index finds out before anything is joined."""
    assert [*ask(f"SELECT * {{ ?s ?p ({'1 ' * 600}) }}", (A, P, B))] == []


PAIRS = [(A, P, f"<http://e.x/{number}>") for number in range(2000)]


def test_query_that_takes_too_long_is_stopped():
    """Query that takes too long is stopped."""
    product = " ".join(f"?a{i} ?p{i} ?o{i} ." for i in range(4))
    with pytest.raises(LimitError, match=r"longer than 0.2 s"):
        ask(f"SELECT (COUNT(*) AS ?n) {{ {product} FILTER(?o0 != ?o1) }}", *PAIRS, seconds=0.2)


def test_query_with_too_many_rows_is_refused():
    """Query with too many rows is refused."""
    with pytest.raises(LimitError, match="2,000 rows, and 10 is the limit"):
        ask("SELECT ?o { ?s ?p ?o }", *PAIRS, rows=10)
    with pytest.raises(LimitError, match="more than 1,000 solutions"):
        ask("SELECT ?o { ?s ?p ?o FILTER(isIRI(?o)) }", *PAIRS, steps=1000)


@pytest.mark.parametrize(
    ("query", "error", "said"),
    [
        ("SELECT ?x {", ProgramError, "SR260"),
        ("SELECT ?x { ?x ex:p ?y }", ProgramError, "prefix `ex:` is not declared"),
        ("SELECT * { SERVICE <http://e.x/> { ?s ?p ?o } }", QueryError, "SERVICE is not supported"),
        ("SELECT (<http://e.x/f>(1) AS ?x) {}", QueryError, "calls <http://e.x/f>"),
        ("SELECT (<http://e.x/f>(1, 2) AS ?x) {}", QueryError, "calls <http://e.x/f>"),
        (f"SELECT (<{XSD}integer>(1, 2) AS ?x) {{}}", QueryError, "takes 1 argument, not 2"),
        ("SELECT (REGEX('x', 'x', 'gi') AS ?x) {}", QueryError, "no flag 'g'"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_name(query, error, said):
    """What cannot be answered is refused by name."""
    with pytest.raises(error, match=said):
        ask(query, (A, P, B, G))


def test_no_table_of_a_query_is_left():
    """No table of a query is left."""
    facts = facts_of(*starmap(lambda s, p, o: (s, p, o), PAIRS))
    connection = facts.connect()
    facts = replace(facts, connect=lambda: connection, index=None)
    evaluate("SELECT ?o { ?s ?p ?o FILTER(isIRI(?o)) MINUS { ?o ?p ?s } } ORDER BY ?o", facts)
    assert connection.execute(
        "select count(*) from duckdb_views() where not internal"
    ).fetchone() == (0,)
