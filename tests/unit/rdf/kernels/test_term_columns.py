"""Columns of terms to ids and back, against a dict, with a dictionary that fills."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.rdf.kernels.headers import SmallDictionary, memory

from streamreasoner.rdf.kernels import hash_table, symbols, term_columns

CANONICAL = (b"<urn:a>", b"<urn:b>", b"_:b", b'"x"', b'"xy"', b'"x"@en', b'"1"^^<urn:d>', b'""')
OTHERS = (b'"x"@EN', b"<urn a>", b"x", b"", b'"\\u0041"')

SAMPLES = st.none() | st.lists(st.sampled_from(CANONICAL), max_size=9)


def column(texts):
    """Offsets and bytes of a column, which begins after some other bytes."""
    lengths = [3, *map(len, texts)]
    return np.cumsum(lengths).astype(np.int64), memory(b"abc" + b"".join(texts))


@given(
    st.lists(st.lists(st.sampled_from(CANONICAL + OTHERS), max_size=12), max_size=4),
    st.booleans(),
    st.integers(0, 12),
    SAMPLES,
)
def test_rows_are_encoded_in_order(batches, checked, limit, sample):
    """Rows get the ids of a dict; new ones that are uncertain, or too many, stop the kernel."""
    small, model = SmallDictionary(limit, 64, sample), {}
    for texts in batches:
        offsets, data = column(texts)
        ids, row, stops = np.full(len(texts), -9, np.int32), 0, []
        while row < len(texts):
            row = term_columns.encode_rows(
                small.header, offsets, data.ctypes.data, row, ids, checked
            )
            for number, text in enumerate(texts[:row]):
                if number not in stops:
                    assert text in CANONICAL or not checked
                    assert ids[number] == model.setdefault(text, len(model))
            if row < len(texts):
                assert texts[row] not in model
                uncertain = checked and texts[row] in OTHERS
                assert ids[row] == (hash_table.UNCERTAIN if uncertain else hash_table.FULL)
                if not uncertain:
                    assert len(model) == limit
                    return
                stops.append(row)
                row += 1
        assert small.terms() == list(model)


@given(st.lists(st.sampled_from(CANONICAL), min_size=1, unique=True), SAMPLES, st.data())
def test_ids_are_decoded_in_any_order(texts, sample, data):
    """Offsets and bytes of any ids are those of their terms, as are their first bytes."""
    small = SmallDictionary(20, 64, sample)
    for text in texts:
        held = memory(text)
        term_columns.intern_term(small.header, held.ctypes.data, len(text), False)  # noqa: FBT003
    ids = np.array(data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=12)), np.int64)
    offsets = np.empty(len(ids) + 1, np.int64)
    term_columns.term_offsets(small.header, ids, offsets)
    out = np.full(offsets[-1] + symbols.SLACK + 1, 7, np.uint8)
    term_columns.write_terms(small.header, ids, out.ctypes.data)
    first = np.zeros(len(ids), np.uint8)
    term_columns.kind_bytes(small.header, ids, first)

    assert [out[start:end].tobytes() for start, end in pairwise(offsets)] == [
        texts[number] for number in ids
    ]
    assert out[-1] == 7
    assert first.tobytes() == b"".join(texts[number][:1] for number in ids)
    for text in CANONICAL:
        held = memory(text)
        expected = texts.index(text) if text in texts else hash_table.ABSENT
        assert term_columns.find_term(small.header, held.ctypes.data, len(text)) == expected
