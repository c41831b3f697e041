"""Terms of the commonest forms do not pass the parser, and are what it would make of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Literal, URIRef

from streamreasoner.api import nodes
from streamreasoner.api.nodes import from_ntriples, to_node, to_ntriples
from streamreasoner.errors import TermError
from streamreasoner.rdf import terms
from streamreasoner.rdf.terms import Term, canonical


@given(st.from_regex(nodes._COMMON_IRI, fullmatch=True))  # noqa: SLF001 - what is left out
def test_a_common_iri_is_its_own_canonical_form(text):
    """The parser takes it, and changes nothing."""
    assert to_ntriples(URIRef(text)) == canonical(f"<{text}>") == f"<{text}>"


@given(st.from_regex(nodes._COMMON_TEXT, fullmatch=True))  # noqa: SLF001 - what is left out
def test_a_common_text_is_its_own_canonical_form(text):
    """As a Python value and as a literal of rdflib, in both directions."""
    expected = canonical(f'"{text}"')
    assert to_ntriples(text) == to_ntriples(Literal(text)) == expected == f'"{text}"'
    assert from_ntriples(expected) == text


@given(st.integers() | st.integers(-(1 << 65), 1 << 65))
def test_an_integer_is_what_the_parser_makes_of_it(number):
    """Of any size, in both directions."""
    assert to_ntriples(number) == terms.to_ntriples(number)
    assert from_ntriples(to_ntriples(number)) == number


@given(st.text(max_size=8))
def test_other_texts_pass_the_parser(text):
    """Whatever is not common is canonical too, or is not a term."""
    try:
        expected = canonical(f"<{text}>")
    except TermError:
        with pytest.raises(TermError):
            to_ntriples(URIRef(text))
    else:
        assert to_ntriples(URIRef(text)) == expected
    try:
        found = to_ntriples(text)
    except TermError:
        found = None
    assert found is None or (canonical(found), from_ntriples(found)) == (found, text)


@pytest.mark.parametrize("term", ['<<( _:a <urn:p> <<( <urn:s> <urn:p> "x" )>> )>>', '"x"@ar--rtl'])
def test_what_rdflib_does_not_have_is_a_term_of_this_package(term):
    """It is given back as it was; as a node of rdflib it is refused by name."""
    value = from_ntriples(term)
    assert isinstance(value, Term)
    assert to_ntriples(value) == term
    with pytest.raises(TermError, match=r"rdflib does not have .*Ask with `facts`"):
        to_node(term)


@pytest.mark.parametrize("text", ['"01"', '"-0"', '"1"', '"+1"', f'"{10**18}"'])
def test_only_canonical_integers_are_common(text):
    """Another lexical form stays the term that it is."""
    term = f"{text}^^<http://www.w3.org/2001/XMLSchema#integer>"
    assert to_ntriples(from_ntriples(term)) == term
