"""The texts of terms against a list of them, through blocks, symbols and limits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.rdf.kernels.headers import SmallDictionary, memory

from streamreasoner.rdf.kernels import term_header, term_texts

SAMPLES = ([b"<http://example.org/a>"] * 9, [b'"aaaa"', b"bbbb"], [], [b"\xc3\xa9" * 9])
LONGEST = term_texts.LONGEST
TEXTS = st.one_of(
    st.text('<"_b:/a\u00e9', max_size=12).map(str.encode),
    st.integers(0, 99).map(lambda number: f"<http://example.org/{number}>".encode()),
    st.sampled_from((LONGEST - 1, LONGEST, LONGEST + 1, 70_000)).map(lambda size: b"a" * size),
)


def append(small, text):
    """Whether there was room for the text of a new term."""
    held = memory(text)
    return term_texts.append(small.header, held.ctypes.data, len(text))


@given(st.lists(st.tuples(TEXTS, st.none() | st.sampled_from(SAMPLES)), max_size=80))
def test_texts_are_those_that_were_appended(steps):
    """Whatever symbols are learned in between, which count from the next block on."""
    small, texts = SmallDictionary(0, 1), []
    for text, sample in steps:
        if sample is not None:
            small.learn(sample)
        assert append(small, text)
        texts.append(text)
    header = small.header

    assert small.terms() == texts
    assert header[term_header.COUNT] == len(texts)
    assert header[term_header.LENGTHS] == sum(map(len, texts))
    assert header[term_header.BYTES] <= sum(len(text) + 1 for text in texts)


@given(st.lists(st.binary(max_size=12), max_size=12), st.integers(0, 60))
def test_what_may_not_fit_is_refused(texts, room):
    """A text is refused if its codes might exceed the arena, and leaves no part of it."""
    small, kept = SmallDictionary(0, 1, []), []
    small.header[term_header.BYTES_LIMIT] = room
    for text in texts:
        used = int(small.header[term_header.BYTES])
        fits = used + term_texts.most_bytes.py_func(len(text)) <= room

        assert append(small, text) == fits
        kept += [text] * fits
        assert small.terms() == kept


def test_a_block_has_room_for_four_gibibytes():
    """The ends of records are counted from the base of their block."""
    small = SmallDictionary(0, 1)
    assert append(small, b"first")
    owner, moved = small._owner, term_texts.MOST_IN_BLOCK - 100  # noqa: SLF001 - no test has so much
    owner._bases.array[0] -= moved << 16  # noqa: SLF001
    owner._ends.array[0] += moved  # noqa: SLF001

    assert not append(small, b"a" * 50)
    assert append(small, b"b" * 40)
    assert small.text(1) == b"b" * 40


@given(st.lists(TEXTS.filter(bool), min_size=1, max_size=40))
def test_a_term_that_lies_behind_its_place_is_appended(texts):
    """Kernels write texts where `most_bytes` says that appending them does not overwrite them."""
    small = SmallDictionary(0, 1, texts[:9])
    arena = small._owner._arena.array  # noqa: SLF001 - as kernels do
    for text in texts:
        place = int(small.header[term_header.BYTES]) + term_texts.most_bytes.py_func(len(text))
        arena[place : place + len(text)] = np.frombuffer(text, np.uint8)
        assert term_texts.append(
            small.header, int(small.header[term_header.ARENA]) + place, len(text)
        )
    assert small.terms() == texts
