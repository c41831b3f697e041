"""The dictionary against a Python dict."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from dictionaries import compressing
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import TermError
from streamreasoner.rdf.dictionary import INVALID, Dictionary
from streamreasoner.rdf.kernels import term_header
from streamreasoner.rdf.terms import canonical, to_ntriples

plain = st.text(max_size=40).map(to_ntriples)
iris = st.text("abc/#é%", max_size=12).map(lambda path: f"<http://example.org/{path}>")
columns = st.lists(st.lists(st.one_of(plain, iris), max_size=30), max_size=5)
arrow_types = st.sampled_from([pa.string(), pa.large_string()])


@given(columns, arrow_types, st.sampled_from((Dictionary, compressing)))
def test_ids_are_those_of_a_dict(batches, arrow_type, make):
    """Ids are dense, in order of first appearance, for any batches and Arrow types."""
    dictionary = make()
    model: dict[str, int] = {}
    for batch in batches:
        ids = dictionary.encode(pa.array(batch, type=arrow_type))

        assert ids.dtype == np.int32
        assert ids.tolist() == [model.setdefault(term, len(model)) for term in batch]
        assert dictionary.decode(ids).to_pylist() == batch
        assert [dictionary.term(number) for number in ids.tolist()] == batch
        assert dictionary.lengths(ids).tolist() == [len(term.encode()) for term in batch]
    assert len(dictionary) == len(model)
    assert dictionary.terms(0, len(model)).to_pylist() == list(model)
    assert [dictionary.find(term) for term in model] == list(model.values())


def test_texts_without_symbols_take_a_byte_more():
    """Texts that have nothing in common are kept as they are, whatever was learned before."""
    chance = np.random.default_rng(0)
    texts = [f'"{"".join(map(chr, chance.integers(0x4E00, 0xD000, 9)))}"' for _ in range(40_000)]
    dictionary = compressing()
    dictionary.encode(pa.array(texts))
    plain = sum(len(text.encode()) for text in texts)

    assert dictionary.text.used <= plain + len(texts)
    assert dictionary.text.used < dictionary.nbytes < plain + 24 * len(texts)


def test_known_terms_are_read_while_others_are_added():
    """Texts, lengths and kinds of known ids are the same while another thread adds terms."""
    dictionary, known = Dictionary(), [f"<http://example.org/{number}>" for number in range(5000)]
    ids = dictionary.encode(pa.array(known))
    others = pa.array([f'"{number} others"' for number in range(100_000)])
    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(dictionary.encode, others)
        while True:
            is_last = adding.done()
            assert dictionary.decode(ids).to_pylist() == known
            assert dictionary.is_iri(ids).all()
            if is_last:
                break
    assert dictionary.decode(adding.result()).equals(others.cast(pa.large_string()))


@given(st.lists(st.text(max_size=30), max_size=60), st.sampled_from((Dictionary, compressing)))
def test_validated_ids_are_those_of_canonical_terms(texts, make):
    """`encode_validated` equals `canonical` row by row, with -1 for what that refuses."""
    candidates = [
        candidate
        for text in texts
        for candidate in (text, f'"{text}"', f"<http://a/{text}>", f"_:{text}", f'"x"@{text}')
    ]
    dictionary = make()
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


def test_growth_through_many_tables():
    """Hundreds of thousands of terms keep their ids while hash tables and symbols follow others."""
    kinds = {"<http://example.org/{}/a>": 5000, '"{} items"@en': 95_000, "<urn:x:{}:kind>": 200_000}
    texts = [kind.format(number) for kind, last in kinds.items() for number in range(last)]
    terms, count = pa.array(texts), len(texts)
    dictionary = Dictionary()
    first = dictionary.encode(terms)
    again = dictionary.encode(terms)

    assert np.array_equal(first, np.arange(count))
    assert np.array_equal(again, first)
    assert dictionary.decode(first[::-1]).to_pylist() == texts[::-1]
    assert dictionary.header[term_header.TABLE] > 2
    assert dictionary.text.used < sum(map(len, texts)) * 3 / 5


@pytest.mark.parametrize("length", [*range(1, 70), *range(4090, 4100), 100_000])
def test_terms_of_every_length(length):
    """Terms that differ in any one byte are different terms, whatever their length."""
    base = "a" * length
    changed = [base[:i] + "b" + base[i + 1 :] for i in sorted({0, length // 2, length - 1})]
    terms = [f'"{text}"' for text in dict.fromkeys([base, *changed, base + "a"])]
    for dictionary in (Dictionary(), compressing(*terms[:1])):
        assert dictionary.encode(pa.array(terms)).tolist() == list(range(len(terms)))
        assert dictionary.decode(np.arange(len(terms))).to_pylist() == terms
        assert [dictionary.term(number) for number in range(len(terms))] == terms


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
    for dictionary in (Dictionary(), compressing(), compressing("<" * 9)):
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
