"""The hash table of terms against a dict, with hashes that collide."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.rdf.kernels.headers import SmallDictionary, memory

from streamreasoner.native.search import equal_bytes
from streamreasoner.rdf.kernels import hash_table, term_header, term_texts

LIMIT = 12
# All texts have one of these as hashes: near the end of the table, so that probes wrap around it.
HASHES = (14 << 28, 15 << 28, (15 << 28) + (7 << 40), (1 << 32) - 1)
TEXTS = {
    "dense": st.text("ab", max_size=3).map(str.encode),
    "sparse": st.binary(min_size=8, max_size=40),
}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
@given(data=st.data())
def test_ids_are_those_of_a_dict(texts, data):
    """However terms collide, each is found under the id it was added with, in any larger table."""
    pool = data.draw(st.lists(texts, min_size=1, max_size=20, unique=True))
    sample = data.draw(st.none() | st.lists(st.sampled_from(pool), max_size=9))
    small, model = SmallDictionary(LIMIT, 16, sample), {}
    for text in data.draw(st.lists(st.sampled_from(pool), max_size=40)):
        held = memory(text)
        hashed = np.uint64(HASHES[len(text) % len(HASHES)])
        found = hash_table.find(small.header, held.ctypes.data, len(text), hashed)

        assert found == model.get(text, hash_table.ABSENT)
        if found == hash_table.ABSENT:
            added = hash_table.add(small.header, held.ctypes.data, len(text), hashed)
            if len(model) == LIMIT:
                assert added == hash_table.FULL
                assert small.terms() == list(model)
                return
            assert added == model.setdefault(text, len(model))
        if data.draw(st.integers(0, 5)) == 0:
            larger = np.zeros(len(small.slots) + data.draw(st.integers(1, 20)), np.uint64)
            hash_table.rehash(small.slots, larger)
            small.install(larger)
        assert small.terms() == list(model)
        assert np.count_nonzero(small.slots) == len(model)


@given(st.lists(st.binary(max_size=12), unique=True, max_size=12), st.integers(0, 60))
def test_text_that_does_not_fit_is_refused(texts, room):
    """A term is FULL if its codes might exceed the arena, and leaves no part of it."""
    small, kept = SmallDictionary(100, 256, []), []
    small.header[term_header.BYTES_LIMIT] = room
    for text in texts:
        held = memory(text)
        address = held.ctypes.data
        hashed = np.uint64(hash_table.hash_term(small.header, address, len(text)))
        used = int(small.header[term_header.BYTES])
        added = hash_table.add(small.header, address, len(text), hashed)
        fits = used + term_texts.most_bytes.py_func(len(text)) <= room
        kept += [text] * fits

        assert added == (len(kept) - 1 if fits else hash_table.FULL)
        assert small.terms() == kept


@given(st.binary(max_size=40), st.binary(max_size=40), st.integers(0, 8))
def test_bytes_are_compared_wherever_they_lie(left, right, offset):
    """`equal_bytes` compares exactly the given bytes, at addresses of any alignment."""
    length = min(len(left), len(right))
    first, second = memory(left + b"x"), memory(bytes(offset) + right + b"y")
    equal = equal_bytes(first.ctypes.data, second.ctypes.data + offset, length)
    same = memory(bytes(offset) + left + b"y")

    assert equal == (left[:length] == right[:length])
    assert equal_bytes(first.ctypes.data, same.ctypes.data + offset, len(left))
