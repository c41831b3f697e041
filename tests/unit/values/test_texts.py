"""Functions of strings in kernels: what they compute is what Python does."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from dictionaries import compressing
from hypothesis import example, given
from hypothesis import strategies as st

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.kernels import term_header
from streamreasoner.values import builtins
from streamreasoner.values.builtins import TESTS
from streamreasoner.values.kernels import exact, functions
from streamreasoner.values.literal import canonical
from streamreasoner.values.value_columns import Values

XSD = "http://www.w3.org/2001/XMLSchema#"
# Few characters, so that parts occur; each width, and escapes that end like other characters.
TEXTS = st.text(alphabet='anu0FE"\\\n\t\x7f\x01\u00e9\u20ac\ufffe\uffff\U0001f600', max_size=12)
STRINGS = st.builds(canonical, TEXTS, st.sampled_from((None, None, "en", "en-gb", "de")))
ASCII = st.text(alphabet='aZ0"\\\n ', max_size=12).map(canonical)
OTHERS = st.sampled_from(
    (
        f'"7"^^<{XSD}integer>',
        f'"a\\n"^^<{XSD}integer>',
        "<urn:a>",
        "<urn:\u00e9>",
        "_:b",
        '"2"^^<urn:u>',
    )
)
TERMS = st.one_of(STRINGS, STRINGS, ASCII, OTHERS)
PLACES = st.one_of(st.integers(-3, 14), st.sampled_from((2**63 - 1, -(2**63), 2**62, -(2**62))))
UNARY = ("length", "lower", "upper", "str", "to_string", "is_string", "is_literal", "is_iri")
BINARY = ("starts_with", "ends_with", "contains", "same_term")
DELEGATED = "delegated"


class Kernels:
    """The functions in kernels, over one dictionary."""

    def __init__(self, dictionary):
        self.dictionary = dictionary
        self.values = Values(dictionary)

    def apply(self, function, terms):
        """A term, a truth, None or DELEGATED."""
        ids = self.dictionary.encode(pa.array(terms))
        self.values.extend()
        code = functions.NAMES.index(function)
        found = functions.apply(self.values.table, code, ids, len(ids))
        assert len(self.values) == len(self.dictionary)
        if found == exact.DELEGATED:
            return DELEGATED
        if found == exact.NO_VALUE:
            return None
        return (
            bool(found)
            if function in TESTS
            else self.dictionary.decode(np.array([found]))[0].as_py()
        )


def applied(function, terms):
    """What kernels return, whether the texts are compressed or not."""
    found, same = (Kernels(make()).apply(function, terms) for make in (Dictionary, compressing))
    assert found == same
    return found


def python(function, terms):
    """What Python returns."""
    return builtins.test(function, terms) if function in TESTS else builtins.apply(function, terms)


@pytest.mark.parametrize("function", UNARY)
@given(term=TERMS)
def test_functions_of_one_term(function, term):
    """Only case beyond ASCII, and IRIs beyond it, are left to Python."""
    found = applied(function, [term])

    if found == DELEGATED:
        assert function in {"lower", "upper", "str"}
        assert not term.isascii()
    else:
        assert found == python(function, [term])


@pytest.mark.parametrize("function", BINARY)
@given(text=TERMS, part=TERMS, cut=st.tuples(st.integers(0, 12), st.integers(0, 12)))
@example(text=canonical("\n"), part=canonical("n"), cut=(0, 0))
def test_tests_of_two_strings(function, text, part, cut):
    """They hold as in Python, for parts of the text and for others."""
    lexical = builtins.apply("substring", [text, number(cut[0]), number(cut[1])])
    for other in (part, *([lexical] if lexical else ())):
        assert applied(function, [text, other]) == python(function, [text, other])


@given(text=TERMS, start=PLACES, count=st.none() | PLACES)
def test_substrings(text, start, count):
    """Every range of places; only those far outside are left to Python."""
    terms = [text, number(start), *([] if count is None else [number(count)])]
    found = applied("substring", terms)

    if found == DELEGATED:
        assert max(abs(start), abs(count or 0)) >= 2**62
    else:
        assert found == python("substring", terms)


@given(st.lists(TERMS, min_size=1, max_size=5))
def test_concatenations(terms):
    """A language is kept if all share it."""
    assert applied("concat", terms) == python("concat", terms)


def test_long_texts_are_searched_by_python():
    """Its search is linear in both; that of kernels is not."""
    text, part = canonical("a" * 5000), canonical("a" * 500 + "b")

    assert applied("contains", [text, part]) == DELEGATED
    assert applied("contains", [text, canonical("aab")]) is False


def test_a_dictionary_without_room_is_left_as_it_is():
    """A new string is refused until there is room; those that it has are found."""
    kernels = Kernels(Dictionary())
    header = kernels.dictionary.header
    terms = [canonical("ab"), canonical("c")]
    assert kernels.apply("concat", terms) == canonical("abc")
    for field in (term_header.COUNT_LIMIT, term_header.BYTES_LIMIT):
        limit = int(header[field])
        for function in ("concat", "upper"):
            before = len(kernels.dictionary)
            header[field] = 3 if field == term_header.COUNT_LIMIT else header[term_header.BYTES]
            assert (
                kernels.apply(function, terms[:1] * 2 if function == "concat" else terms[:1])
                == DELEGATED
            )
            header[field] = limit
            assert len(kernels.dictionary) == before


def number(place):
    """The term of an integer."""
    return f'"{place}"^^<{XSD}integer>'
