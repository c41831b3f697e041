"""Solutions are read back from every format as they were, whatever their literals are."""

from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree as ET

import numpy as np
import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sparql_judge import written

from streamreasoner.errors import QueryError
from streamreasoner.query.sparql.answers import Solutions
from streamreasoner.query.sparql.query_terms import UNBOUND, QueryTerms
from streamreasoner.query.sparql.solutions_text import WRITERS, to_csv, to_json, to_tsv, to_xml
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import canonical, parse, to_ntriples

XSD = "http://www.w3.org/2001/XMLSchema#"
NAMES = ("x", "été")
SPARQL = "{http://www.w3.org/2005/sparql-results#}"
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
XML_TEXTS = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n\r<>&'\""),
    max_size=6,
)


def terms(texts):
    """Terms, or none, with literals of these texts."""
    literals = texts.map(to_ntriples)
    return st.one_of(
        st.none(),
        literals,
        literals.map(lambda term: f"{term}@en-gb"),
        literals.map(lambda term: f"{term}@ar--rtl"),
        literals.map(lambda term: f"<<( <http://e.x/a> <http://e.x/p> {term} )>>"),
        literals.map(
            lambda term: f"<<( _:b1 <http://e.x/p> <<( _:b2 <http://e.x/p> {term} )>> )>>"
        ),
        literals.map(lambda term: f"{term}^^<http://e.x/type,>"),
        st.sampled_from(
            ["<http://e.x/a,b>", "_:b1", f'"01"^^<{XSD}integer>', f'"1.50"^^<{XSD}decimal>']
        ),
    )


def rows(texts=TEXTS):
    """Rows of two terms each."""
    return st.lists(st.tuples(terms(texts), terms(texts)), max_size=4)


def solutions(found, names=NAMES):
    """Solutions of rows of terms."""
    known = QueryTerms(Dictionary())
    ids = [
        [UNBOUND if term is None else known.find(canonical(term)) for term in row] for row in found
    ]
    return Solutions(names, np.array(ids, np.int32).reshape(len(found), len(names)), known, {})


def read_back(text, form):
    """What pyoxigraph reads."""
    found = pyoxigraph.parse_query_results(text, format=form)
    return [
        tuple(None if row[name] is None else canonical(written(row[name])) for name in NAMES)
        for row in found
    ]


@given(rows())
def test_json_is_read_back(found):
    """By pyoxigraph, from one line that ends."""
    text = to_json(solutions(found))
    assert text.endswith("}\n")
    assert json.loads(text)["head"] == {"vars": [*NAMES]}
    assert read_back(text, pyoxigraph.QueryResultsFormat.JSON) == [*solutions(found)]


@given(rows())
def test_tab_separated_values_are_read_back(found):
    """By pyoxigraph; numbers are short, and keep their lexical forms."""
    assert read_back(to_tsv(solutions(found)), pyoxigraph.QueryResultsFormat.TSV) == [
        *solutions(found)
    ]


@given(rows())
def test_comma_separated_values_are_read_back(found):
    """By a reader of RFC 4180; a row without values is not an empty line."""
    text = to_csv(solutions(found))
    header, *others = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert header == [*NAMES]
    assert others == [["" if term is None else plain(term) for term in row] for row in found]


def plain(term):
    """A term as a cell."""
    parsed = parse(canonical(term))
    return f"_:{parsed.value}" if term.startswith("_:") else parsed.value


def all_text(term):
    """The text of a term, that of a triple term from left to right."""
    return term.value if term.components is None else "".join(map(all_text, term.components))


@given(rows(XML_TEXTS))
def test_xml_is_well_formed_and_read_back(found):
    """By a parser that makes a line feed of a carriage return that is written as it is."""
    root = ET.fromstring(to_xml(solutions(found)))  # noqa: S314 - our own text
    results = root.findall(f"{SPARQL}results/{SPARQL}result")
    texts = [
        {each.get("name"): "".join(each.itertext()) for each in result.findall(f"{SPARQL}binding")}
        for result in results
    ]
    assert texts == [
        {
            name: all_text(parse(canonical(term)))
            for name, term in zip(NAMES, row, strict=True)
            if term is not None
        }
        for row in found
    ]


@pytest.mark.parametrize("character", ["\x01", "\x0b", "\x1f", "\ufffe", "\uffff"])
def test_what_xml_cannot_have_is_refused(character):
    """With the character, and the formats that have it."""
    answer = solutions([(to_ntriples(f"a{character}"), None)])
    with pytest.raises(QueryError, match=f"U\\+{ord(character):04X}.*json, csv and tsv"):
        to_xml(answer)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("json", '{"head":{"vars":[]},"results":{"bindings":[{},{}]}}\n'),
        ("csv", "\r\n\r\n\r\n"),
        ("tsv", "\n\n\n"),
    ],
)
def test_solutions_without_variables_are_counted(name, text):
    """The header, and a line for each of them."""
    assert WRITERS[name](solutions([(), ()], ())) == text
    assert to_xml(solutions([(), ()], ())).count("<result>") == 2


def test_a_solution_without_values_keeps_its_line():
    """In a table of one column, too."""
    answer = solutions([(None,), ('"x"',)], ("x",))
    assert to_csv(answer) == 'x\r\n""\r\nx\r\n'
    assert to_tsv(answer) == '?x\n\n"x"\n'
