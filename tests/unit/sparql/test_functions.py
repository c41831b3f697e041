"""Each function of SPARQL has the values and errors of an engine, continuous and asked once."""

from __future__ import annotations

import pytest
from sparql_judge import answers, comparable, fact, store
from sparql_strategies import PREFIXES

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.program.checked import check_query
from streamreasoner.rdf.terms import Term
from streamreasoner.rdf.vocabulary import UNBOUND
from streamreasoner.sparql.functions import CONDITIONS, SEARCHES, VALUES

TERMS = (
    *("0", "1", "-2", "1.5", "-2.5", "2.5", "true", "false"),
    *('""', '"x"', '"Xy z"', '"x"@en', '"Xyx"@fr', '"3"', '"1.25"', '"1e2"', '"true"'),
    *('"http://example.org/b"', '"a%b"', '"日本"', '"abc"^^xsd:integer', '"t"^^ex:type', "ex:a"),
    '"2026-03-04T05:06:07Z"^^xsd:dateTime',
    '"2026-03-04T05:06:07.5+02:00"^^xsd:dateTime',
    '"NaN"^^xsd:double',
    *(
        '"x"@en--ltr',
        '"שלום"@he--rtl',
        "<<( ex:a ex:p 1 )>>",
        "<<( ex:a ex:q <<( ex:a a 'x' )>> )>>",
    ),
)
EXPRESSIONS = (
    *("abs(?y)", "ceil(?y)", "floor(?y)", "round(?y)", "-?y", "+?y"),
    *("?y + 1", "?y - 1.5", "?y * 2", "?y / 2", "1 / ?y"),
    *(
        "concat(?y, 'a')",
        "concat(?y, 'a'@en)",
        "concat(?y)",
        "strlen(?y)",
        "ucase(?y)",
        "lcase(?y)",
    ),
    *("substr(?y, 2)", "substr(?y, 0, 2)", "substr(?y, -1, 3)", "encode_for_uri(?y)"),
    *("strafter(?y, 'x')", "strafter(?y, '')", "strbefore(?y, 'y')", "strbefore(?y, 'y'@fr)"),
    *("replace(?y, 'x', 'z')", "replace(?y, '(X)', '[$1]', 'i')", "regex(?y, '^X.', 'i')"),
    *("contains(?y, 'x')", "strstarts(?y, 'x'@en)", "strends(?y, 'y')", "regex(?y, 'x')"),
    *("contains(?y, 'x'@fr)", "strstarts('x', ?y)", "strends('x'@en, ?y)", "contains(?y, ?y)"),
    *("str(?y)", "lang(?y)", "datatype(?y)", "iri(?y)", "uri(?y)"),
    *("strdt(?y, xsd:integer)", "strlang(?y, 'de')", "strlangdir(?y, 'he', 'rtl')"),
    *("langdir(?y)", "haslang(?y)", "haslangdir(?y)", "strlangdir('x', 'en', 'up')"),
    *("istriple(?y)", "subject(?y)", "predicate(?y)", "object(?y)", "object(object(?y))"),
    *("triple(ex:a, ex:p, ?y)", "triple(?y, ex:p, 1)", "triple(ex:a, ?y, 1)", "<<( ex:a a ?y )>>"),
    *(
        "?y = <<( ex:a ex:p 1.0 )>>",
        "sameterm(?y, <<( ex:a ex:p 1 )>>)",
        "?y in (<<(ex:a ex:p 1)>>)",
    ),
    *("xsd:integer(?y)", "xsd:decimal(?y)", "xsd:double(?y)", "xsd:boolean(?y)", "xsd:string(?y)"),
    *("xsd:float(?y)", "xsd:dateTime(?y)", "xsd:date(?y)", "xsd:dateTime(xsd:date(?y))"),
    *("regex(?y, 'X y', 'xi')", "regex(?y, '.', 'q')"),
    *(
        "regex('Xy', ?y)",
        "regex('xy', ?y, 'i')",
        "replace('axb', concat(?y, 'x'), '-')",
        "regex(?y, ?y)",
    ),
    *("year(?y)", "month(?y)", "day(?y)", "hours(?y)", "minutes(?y)", "seconds(?y)"),
    *("timezone(?y)", "tz(?y)", "?y < '2026-03-04T05:06:08Z'^^xsd:dateTime"),
    *("md5(?y)", "sha1(?y)", "sha256(?y)", "sha384(?y)", "sha512(?y)"),
    *("isnumeric(?y)", "isiri(?y)", "isuri(?y)", "isliteral(?y)", "isblank(?y)"),
    *("sameterm(?y, 1)", "langmatches(lang(?y), '*')", "langmatches(lang(?y), 'EN')"),
    *(
        "?y = 1",
        "?y != 1",
        # Engines differ on NaN: it is not less than any number, or has no order.
        "str(?y) != 'NaN' && ?y < 2",
        "?y >= 'x'",
        "?y = true",
        "?y != 'x'",
        "?y = ex:a",
        "?y != ex:a",
    ),
    *("?y in (1, 'x')", "?y not in (1, 'x')", "strlen(?y) && true", "!abs(?y)"),
    *(
        "coalesce(?unknown, ?y + 1)",
        "coalesce(strlen(?y), -?y, 'none')",
        "bound(?y)",
        "strlen(str(?y)) > 1",
    ),
)
FACTS = tuple(fact((f"ex:s{index}", "ex:p", term, "")) for index, term in enumerate(TERMS))


EFFECTIVE = {
    **dict.fromkeys(("1", "-2", "1.5", "-2.5", "2.5", "true"), True),
    **dict.fromkeys(('"x"', '"Xy z"', '"3"', '"1.25"', '"1e2"', '"true"'), True),
    **dict.fromkeys(('"http://example.org/b"', '"a%b"', '"日本"'), True),
    **dict.fromkeys(("0", "false", '""', '"NaN"^^xsd:double'), False),
}
"""Effective boolean values; the other terms have none. Engines differ (SPARQL 1.2, 17.2.2)."""


def found(query):
    """The answers of a query about the facts: continuous, and asked once."""
    reasoner = Reasoner(check_query(query, "query.rq", "answer"))
    reasoner.apply(Update(TRIPLE, tuple(map(Term.parse, terms))) for terms in FACTS)
    tables = (reasoner.facts("answer").to_arrow(), reasoner.query(query).to_arrow())
    return [
        {tuple(UNBOUND if each is None else comparable(each) for each in row)
         for row in zip(*table.to_pydict().values(), strict=True)}
        for table in tables
    ]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_has_the_values_of_an_engine(expression):
    """For terms of all kinds; where it has an error, the variable is unbound."""
    query = f"{PREFIXES}SELECT ?s ?z {{ ?s ex:p ?y BIND({expression} AS ?z) }}"

    assert found(query) == [answers(store(FACTS), query)] * 2


@pytest.mark.parametrize("expression", ["?y && true", "?y || false", "if(?y, true, false)"])
def test_a_term_has_the_effective_boolean_value_of_the_specification(expression):
    """An ill-typed number has none, nor has a text with a language."""
    query = f"{PREFIXES}SELECT ?y ?z {{ ?s ex:p ?y BIND({expression} AS ?z) }}"
    expected = {
        (comparable(terms[2]), comparable(to_ntriples(EFFECTIVE[written])))
        if written in EFFECTIVE
        else (comparable(terms[2]), UNBOUND)
        for written, terms in zip(TERMS, FACTS, strict=True)
    }

    assert found(query) == [expected] * 2


def test_filters_take_the_effective_boolean_value():
    """True passes, false passes its negation, and what has none passes neither."""
    for negated, truth in (("", True), ("!", False)):
        query = f"{PREFIXES}SELECT ?s {{ ?s ex:p ?y FILTER({negated}?y) }}"
        expected = {
            (comparable(terms[0]),)
            for written, terms in zip(TERMS, FACTS, strict=True)
            if EFFECTIVE.get(written) is truth
        }

        assert found(query) == [expected] * 2


def test_every_function_is_tried():
    """None of the table is missing above."""
    text = " ".join(EXPRESSIONS).upper()
    names = [*VALUES, *CONDITIONS, *SEARCHES]
    known = {
        name: name.upper().replace("<HTTP://WWW.W3.ORG/2001/XMLSCHEMA#", "XSD:") for name in names
    }

    assert [name for name in names if f"{known[name].rstrip('>')}(" not in text] == []
