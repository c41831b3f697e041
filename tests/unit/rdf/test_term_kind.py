"""Kinds of terms. Invariant: the text alone, a column and the reader of terms say the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import TermError
from streamreasoner.rdf import term_kind
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.term_kind import TermKind
from streamreasoner.rdf.terms import Term, parse
from streamreasoner.rdf.texts import (
    are_blank_nodes,
    are_iris,
    are_literals,
    are_resources,
    are_triple_terms,
    column,
)

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
TERMS = st.one_of(
    NAMES.map(lambda name: Term(TermKind.IRI, f"urn:x:{name}")),
    NAMES.map(lambda name: Term(TermKind.BLANK_NODE, name)),
    st.text(st.characters(codec="utf-8"), max_size=5).map(
        lambda text: Term(TermKind.LITERAL, text, language="en")
    ),
    NAMES.map(lambda name: parse(f'<<( _:{name} <urn:x:p> "{name}" )>>')),
)


@given(st.lists(TERMS, max_size=8))
def test_a_column_has_the_kinds_of_its_terms(terms: list[Term]) -> None:
    """Of each term, its text, a column with it and a dictionary tell the kind that it was made."""
    texts = [str(term) for term in terms]
    kinds = [term.kind for term in terms]
    dictionary = Dictionary()
    ids = dictionary.encode(column(texts))
    tests = {
        TermKind.IRI: (term_kind.is_iri, are_iris, dictionary.is_iri),
        TermKind.BLANK_NODE: (term_kind.is_blank_node, are_blank_nodes, None),
        TermKind.LITERAL: (term_kind.is_literal, are_literals, None),
        TermKind.TRIPLE_TERM: (term_kind.is_triple_term, are_triple_terms, None),
    }
    resources = [kind in {TermKind.IRI, TermKind.BLANK_NODE} for kind in kinds]
    assert are_resources(column(texts)).to_pylist() == resources
    assert dictionary.is_resource(ids).tolist() == resources
    assert [term_kind.kind_of(text) for text in texts] == kinds
    for kind, (of_text, of_column, of_ids) in tests.items():
        expected = [each is kind for each in kinds]
        assert [of_text(text) for text in texts] == expected
        assert of_column(column(texts)).to_pylist() == expected
        if of_ids is not None:
            assert np.array_equal(of_ids(ids), np.array(expected, np.bool_))


@given(st.text(st.sampled_from('<>_:"ax'), max_size=6))
def test_what_is_read_as_a_term_begins_as_one(text: str) -> None:
    """Any text that the reader of terms accepts has the kind that its beginning tells."""
    try:
        kind = parse(text).kind
    except TermError:
        return
    assert term_kind.begins_term(text)
    assert term_kind.kind_of(text) is kind


@pytest.mark.parametrize("text", ["", "x", "_x", "?x", "5"])
def test_other_texts_begin_no_term(text: str) -> None:
    """A name, a variable and digits do not begin a term."""
    assert not term_kind.begins_term(text)
