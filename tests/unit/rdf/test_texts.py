"""Texts as Arrow columns."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.rdf.texts import column, scalar


@given(st.lists(st.text(max_size=8), max_size=8))
def test_a_column_is_what_arrow_makes(texts):
    """It equals Arrow's own column, whatever the texts are."""
    made = column(texts)
    made.validate(full=True)

    assert made.equals(pa.array(texts, pa.large_string()))
    assert [scalar(text).as_py() for text in texts] == texts


def test_lone_surrogates_are_refused():
    """What UTF-8 cannot hold is an error, as Arrow has it."""
    with pytest.raises(UnicodeEncodeError):
        column(["a", "\ud800"])
