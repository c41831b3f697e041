"""Law: the decoder made for a mapping reads what the exact path reads, and rejects the rest."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from streamreasoner.config.rows import MappedFact, RowMapping, argument
from streamreasoner.io.formats.reading.json.objects import read_object
from streamreasoner.io.formats.rejected import RejectedError
from streamreasoner.io.formats.rows.json_object import ObjectReader
from streamreasoner.io.formats.rows.mapped import values_of

ARGS = ("<http://e/{id}>", '"{a b}{é}"', "id", "_:x")
FACT = MappedFact("p", tuple(map(argument, ARGS)))
MAPPING = RowMapping("m", "in", None, (), (FACT,))
READER = ObjectReader(MAPPING)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=1), inner),
    max_leaves=3,
)
ROWS = st.dictionaries(st.sampled_from(("id", "a b", "é", "x", "c0")), VALUES) | VALUES
CUTS = st.none() | st.integers(0, 40)


def outcome(read):
    """The values with their types, or why there are none."""
    try:
        return [(type(each), each) for each in read()]
    except RejectedError as error:
        return error.reason, error.detail


@given(row=ROWS, ascii_only=st.booleans(), cut=CUTS)
@example(row={"id": 2**64, "a b": -0.0, "é": "\ud83d"}, ascii_only=True, cut=None)
@example(row={"id": 10**400, "a b": 1e308, "é": 1}, ascii_only=False, cut=None)
def test_both_ways_of_reading_a_row_agree(row, ascii_only, cut):
    """Whole values and those that are cut off."""
    value = json.dumps(row, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")[:cut]
    exact = outcome(lambda: values_of(read_object(value), MAPPING))
    assert repr(outcome(lambda: READER.read(value))) == repr(exact)
