"""The dictionary against a Python dict."""

from __future__ import annotations

import gc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import TermError
from streamreasoner.rdf.dictionary import INVALID, Dictionary
from streamreasoner.rdf.terms import canonical, to_ntriples

plain = st.text(max_size=40).map(to_ntriples)
iris = st.text("abc/#é%", max_size=12).map(lambda path: f"<http://example.org/{path}>")
columns = st.lists(st.lists(st.one_of(plain, iris), max_size=30), max_size=5)
arrow_types = st.sampled_from([pa.string(), pa.large_string()])


@given(columns, arrow_types)
def test_ids_are_those_of_a_dict(batches, arrow_type):
    """Ids are dense, in order of first appearance, for any batches and Arrow types."""
    dictionary = Dictionary()
    model: dict[str, int] = {}
    for batch in batches:
        ids = dictionary.encode(pa.array(batch, type=arrow_type))

        assert ids.dtype == np.int32
        assert ids.tolist() == [model.setdefault(term, len(model)) for term in batch]
        assert dictionary.decode(ids).to_pylist() == batch
        assert [dictionary.term(number) for number in ids.tolist()] == batch
    assert len(dictionary) == len(model)
    assert dictionary.terms(0, len(model)).to_pylist() == list(model)
    assert [dictionary.find(term) for term in model] == list(model.values())


@given(st.lists(st.text(max_size=30), max_size=60))
def test_validated_ids_are_those_of_canonical_terms(texts):
    """`encode_validated` equals `canonical` row by row, with -1 for what that refuses."""
    candidates = [
        candidate
        for text in texts
        for candidate in (text, f'"{text}"', f"<http://a/{text}>", f"_:{text}", f'"x"@{text}')
    ]
    dictionary = Dictionary()
    model: dict[str, int] = {}
    expected = []
    for candidate in candidates:
        try:
            expected.append(model.setdefault(canonical(candidate), len(model)))
        except TermError:
            expected.append(INVALID)
    ids = dictionary.encode_validated(pa.array(candidates, type=pa.string()))

    assert ids.tolist() == expected
    assert dictionary.terms(0, len(dictionary)).to_pylist() == list(model)


def test_growth_through_many_doublings():
    """Hundreds of thousands of terms keep their ids while the hash table doubles."""
    count = 300_000
    terms = pa.array([f"<http://example.org/{i}>" for i in range(count)])
    dictionary = Dictionary()
    first = dictionary.encode(terms)
    again = dictionary.encode(terms)

    assert np.array_equal(first, np.arange(count))
    assert np.array_equal(again, first)
    assert dictionary.decode(first[::-1]).to_pylist() == terms.to_pylist()[::-1]


@pytest.mark.parametrize("length", [*range(1, 70), 1000, 100_000])
def test_terms_of_every_length(length):
    """Terms that differ in any one byte are different terms, whatever their length."""
    base = "a" * length
    changed = [base[:i] + "b" + base[i + 1 :] for i in sorted({0, length // 2, length - 1})]
    terms = [f'"{text}"' for text in dict.fromkeys([base, *changed, base + "a"])]
    dictionary = Dictionary()

    assert dictionary.encode(pa.array(terms)).tolist() == list(range(len(terms)))
    assert dictionary.decode(np.arange(len(terms))).to_pylist() == terms


def test_slices_chunks_and_nulls():
    """Sliced and chunked columns are read from their offsets; a null is not a term."""
    dictionary = Dictionary()
    column = pa.array(['"a"', '"b"', '"c"', None])

    assert dictionary.encode(column.slice(1, 2)).tolist() == [0, 1]
    assert dictionary.encode(pa.chunked_array([column[:1], column[1:2]])).tolist() == [2, 0]
    assert dictionary.encode(pa.array([], type=pa.string())).tolist() == []
    assert dictionary.encode_validated(column).tolist() == [2, 0, 1, INVALID]
    with pytest.raises(TermError, match="null"):
        dictionary.encode(column)
    with pytest.raises(TypeError, match="int64"):
        dictionary.encode(pa.array([1]))


def test_find_and_intern():
    """`find` never adds; `intern` adds once."""
    dictionary = Dictionary()

    assert dictionary.find('"a"') is None
    assert len(dictionary) == 0
    assert dictionary.intern('"a"') == 0
    assert dictionary.intern('"é"') == 1
    assert dictionary.intern('"a"') == 0
    assert dictionary.find('"é"') == 1


def test_kinds_of_terms():
    """Ids tell IRIs and what can be a subject from literals and triple terms."""
    dictionary = Dictionary()
    ids = dictionary.encode(pa.array(["<a:b>", "_:b", '"x"', "<<( <a:b> <a:b> _:b )>>"]))

    assert dictionary.is_resource(ids).tolist() == [True, True, False, False]
    assert dictionary.is_iri(ids).tolist() == [True, False, False, False]


@pytest.mark.parametrize("ids", [[1], [-1], [0, 7]])
def test_unknown_ids_are_refused(ids):
    """An id that was never assigned is an error, not an access out of bounds."""
    dictionary = Dictionary()
    dictionary.intern('"a"')

    with pytest.raises(IndexError, match="never assigned"):
        dictionary.decode(np.array(ids))
    with pytest.raises(IndexError, match="not all below 1"):
        dictionary.terms(0, 2)


def test_decoded_terms_outlive_the_dictionary():
    """A column of terms keeps its memory alive."""
    dictionary = Dictionary()
    dictionary.encode(pa.array([f'"{i}"' for i in range(1000)]))
    shown = dictionary.terms(990, 1000)
    del dictionary
    gc.collect()

    assert shown.to_pylist() == [f'"{i}"' for i in range(990, 1000)]
    shown.validate(full=True)
