"""Symbols that are chosen for a sample."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.rdf.compression.training import train
from streamreasoner.rdf.kernels.term_texts import PLAIN

SAMPLES = st.lists(st.text("ab<:/.\u00e9\U0001f600\0", max_size=30).map(str.encode), max_size=40)


def texts(found):
    """The bytes of each symbol."""
    words = zip(found.words.tolist(), found.lengths.tolist(), strict=True)
    return [word.to_bytes(8, "little")[:length] for word, length in words]


@given(SAMPLES)
def test_symbols_are_parts_of_the_sample(sample):
    """They are different, are in one text each, have no zero byte, and are always the same."""
    found, ratio = train(sample)
    known = texts(found)

    assert len(set(known)) == len(known) <= PLAIN
    assert all(any(symbol in text for text in sample) for symbol in known)
    assert all(b"\0" not in symbol and 1 <= len(symbol) <= 8 for symbol in known)
    assert 0 <= ratio <= 2
    assert texts(train(sample)[0]) == known


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("<http://www.Department{}.University{}.edu/GraduateStudent{}>", 0.25),
        ("<http://www.wikidata.org/entity/Q{}{}{}>", 0.35),
        ("<urn:uuid:{:08x}-{:04x}-4a{:02x}>", 0.6),
    ],
)
def test_a_sample_of_one_kind_takes_a_part_of_its_bytes(kind, most):
    """What texts have in common becomes few symbols."""
    sample = [kind.format(7919 * n % 30, 104729 * n % 50, n).encode() for n in range(300)]

    assert train(sample)[1] < most
