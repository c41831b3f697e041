"""Canonical text of terms, and Python values of terms."""

from __future__ import annotations

import math
from decimal import Decimal

import pyoxigraph
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.api.nodes import from_ntriples, to_ntriples
from streamreasoner.errors import TermError
from streamreasoner.rdf.term_kind import TermKind
from streamreasoner.rdf.terms import Term, canonical

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

ACCEPTED = {
    "<http://example.org/a>": "<http://example.org/a>",
    "<http://example.org/\\u00e9>": "<http://example.org/é>",
    "<http://example.org/\\U0001F600>": "<http://example.org/\U0001f600>",
    "<urn:isbn:0451450523>": "<urn:isbn:0451450523>",
    "<javascript:alert(1)>": "<javascript:alert(1)>",
    "<http://[::1]:8080/a?b#c>": "<http://[::1]:8080/a?b#c>",
    "<HTTP://example.org/../b>": "<HTTP://example.org/../b>",
    "_:b": "_:b",
    "_:0.a": "_:0.a",
    "_:é·": "_:é·",
    '""': '""',
    '"x"': '"x"',
    '"\\u00e9"': '"é"',
    '"\\U0001f600"': '"\U0001f600"',
    '"\\\'"': '"\'"',
    '"\\t\\b\\n\\r\\f\\"\\\\"': '"\\t\\b\\n\\r\\f\\"\\\\"',
    '"\t\b\x0c\x00\x0b\x7f\ufffe\uffff"': '"\\t\\b\\f\\u0000\\u000B\\u007F\\uFFFE\\uFFFF"',
    '"\x80\u2028\u202e"': '"\x80\u2028\u202e"',
    f'"x"^^<{XSD}string>': '"x"',
    f'"x"^^<{XSD}strin\\u0067>': '"x"',
    f'"x" ^^\t<{XSD}string>': '"x"',
    f'"01"^^<{XSD}integer>': f'"01"^^<{XSD}integer>',
    f'"not a number"^^<{XSD}integer>': f'"not a number"^^<{XSD}integer>',
    '"x"@EN-gb': '"x"@en-gb',
    '"x" @en': '"x"@en',
    '"x"@EN--ltr': '"x"@en--ltr',
    "<<(<a:s><a:p>_:o)>>": "<<( <a:s> <a:p> _:o )>>",
    '<<( _:s\t<a:\\u0070> <<( <a:s> <a:p> ") >>\\u0022"@EN--rtl)>> )>>': (
        '<<( _:s <a:p> <<( <a:s> <a:p> ") >>\\""@en--rtl )>> )>>'
    ),
}

REFUSED = [
    "",
    " ",
    "x",
    "1",
    "true",
    "?x",
    "ex:a",
    "<",
    "<>",
    "<a>",
    "</a>",
    "<:a>",
    "<1x:y>",
    "<http://example.org/a",
    "<http://example.org/a b>",
    "<http://example.org/\\u0020>",
    "<http://example.org/\\n>",
    "<http://example.org/\\ud800>",
    "<http://example.org/%zz>",
    "<http://example.org/a|b>",
    "<http://example.org/{a}>",
    "<http://example.org/a>b>",
    "<http://example.org:port/>",
    "<http://example.org/#a#b>",
    "<http://example.org/a> ",
    " <http://example.org/a>",
    "_:",
    "_:-a",
    "_:a.",
    "_:.a",
    "_:a b",
    "_:·a",
    '"',
    '"x',
    '"x""',
    '"a\nb"',
    '"a\rb"',
    '"\\q"',
    '"\\u12"',
    '"\\ud800"',
    '"\\uD83D\\uDE00"',
    '"\\U00110000"',
    '"\\UFFFFFFFF"',
    "'x'",
    '"""x"""',
    '"x"@',
    '"x"@1',
    '"x"@en-',
    '"x"@en_gb',
    '"x"@waytoolongtag',
    '"x"^^',
    '"x"^^<a>',
    '"x"^^"y"',
    '"x"^<http://example.org/a>',
    f'"x"^^<{RDF}langString>',
    f'"x"^^<{RDF}dirLangString>',
    '"\ud800"',
    "<http://example.org/\udfff>",
    '"x"@en--LTR',
    '"x"@en--',
    "<<( <http://a/s> <http://a/p> )>>",
    "<< <http://a/s> <http://a/p> <http://a/o> >>",
    "<<( <http://a/s> <http://a/p> <http://a/o>",
    "<<( <http://a/s> _:p <http://a/o> )>>",
    '<<( "s" <http://a/p> <http://a/o> )>>',
    "<<( <http://a/s> <http://a/p> <a> )>>",
    "<<( <<( <http://a/s> <http://a/p> <http://a/o> )>> <http://a/p> <http://a/o> )>>",
]


@pytest.mark.parametrize(("text", "expected"), ACCEPTED.items())
def test_canonical_text(text, expected):
    """A valid term has the canonical text that the RDF 1.2 note on N-Triples defines."""
    assert canonical(text) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize("text", REFUSED)
def test_refused_text(text):
    """Text other than one term of RDF 1.2 is refused, with a one-line message that says where."""
    with pytest.raises(TermError, match=r"\(at character \d+\)\.$") as caught:
        canonical(text)

    assert "\n" not in str(caught.value)


def test_long_terms_are_cut_in_messages():
    """An error does not repeat megabytes of input."""
    with pytest.raises(TermError) as caught:
        canonical('"' + "x" * 1_000_000)

    assert len(str(caught.value)) < 300


@given(st.text())
def test_any_string_is_a_plain_literal(text):
    """Every Python string without surrogates round-trips as a literal."""
    term = to_ntriples(text)

    assert from_ntriples(term) == text
    assert canonical(term) == term


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_literals_are_written_as_pyoxigraph_writes_them(text):
    """Escapes equal those of an independent writer of canonical N-Triples."""
    assert to_ntriples(text) == str(pyoxigraph.Literal(text))


@given(st.text())
def test_canonical_is_idempotent(text):
    """The result of `canonical` is accepted again, unchanged."""
    for candidate in (text, f"<http://a/{text}>", f"_:{text}", f'"{text}"', f'"x"@{text}'):
        try:
            once = canonical(candidate)
        except TermError:
            continue
        assert canonical(once) == once


@given(
    st.one_of(
        st.integers(),
        st.floats(allow_nan=False),
        st.booleans(),
        st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30),
        st.text(),
    )
)
def test_python_values_come_back(python_value):
    """Numbers, booleans and strings round-trip through N-Triples with their type."""
    back = from_ntriples(to_ntriples(python_value))

    assert back == python_value
    assert type(back) is type(python_value)


def test_nan_comes_back():
    """NaN, which equals nothing, is still NaN."""
    back = from_ntriples(to_ntriples(math.nan))

    assert isinstance(back, float)
    assert math.isnan(back)


@pytest.mark.parametrize(
    "text",
    [
        "<http://example.org/a>",
        "_:b1",
        '"x"@en-gb',
        f'"01"^^<{XSD}integer>',
        f'"zz"^^<{XSD}integer>',
        f'"1.5"^^<{XSD}double>',
        f'"1"^^<{XSD}boolean>',
        f'" a  b "^^<{XSD}token>',
        f'"2020-01-01"^^<{XSD}date>',
        f'"2020-02-30"^^<{XSD}date>',
        f'"0000-01-01T24:00:00"^^<{XSD}dateTime>',
        f'"P1D"^^<{XSD}duration>',
        f'"{"9" * 5000}"^^<{XSD}integer>',
        '"x"^^<http://example.org/datatype>',
    ],
)
def test_terms_come_back(text, caplog):
    """Reading a term into Python and writing it gives the same term, and logs nothing."""
    assert to_ntriples(from_ntriples(text)) == text
    assert caplog.records == []


def test_xml_literals_are_never_parsed():
    """An entity bomb in an XML literal is kept as text."""
    bomb = "<!DOCTYPE a [<!ENTITY b 'bb'>]><a>&b;</a>"
    literal = from_ntriples(str(Term(TermKind.LITERAL, bomb, datatype=RDF + "XMLLiteral")))

    assert isinstance(literal, rdflib.Literal)
    assert str(literal) == bomb
    assert literal.value is None


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (rdflib.URIRef("http://example.org/a"), "<http://example.org/a>"),
        (rdflib.BNode("b"), "_:b"),
        (rdflib.Literal("x"), '"x"'),
        (rdflib.Literal("x", lang="EN"), '"x"@en'),
        (rdflib.Literal(5), f'"5"^^<{XSD}integer>'),
        (rdflib.Literal("x", datatype=rdflib.XSD.string), '"x"'),
        (1.0, f'"1.0E0"^^<{XSD}double>'),
        (-0.0, f'"-0.0E0"^^<{XSD}double>'),
        (123456.789, f'"1.23456789E5"^^<{XSD}double>'),
        (math.inf, f'"INF"^^<{XSD}double>'),
        (Decimal("1.50"), f'"1.50"^^<{XSD}decimal>'),
        (True, f'"true"^^<{XSD}boolean>'),
    ],
)
def test_terms_from_python(node, expected):
    """Each rdflib node and Python value has one canonical text."""
    assert to_ntriples(node) == expected


@pytest.mark.parametrize(
    "node",
    [rdflib.BNode("a b"), Decimal("NaN"), None, object(), b"x", "\ud800", 10**5000],
    ids=["bnode", "nan", "none", "object", "bytes", "surrogate", "huge"],
)
def test_values_without_rdf_form(node):
    """A value that is not an RDF term raises a TermError."""
    with pytest.raises(TermError):
        to_ntriples(node)


def test_relative_rdflib_iris_are_refused():
    """Relative IRIs, which rdflib accepts, are refused."""
    with pytest.raises(TermError, match="No scheme"):
        to_ntriples(rdflib.URIRef("a"))
