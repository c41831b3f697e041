"""Joins that only count: where nothing of a fact is needed, and all are present from the start."""

from __future__ import annotations

import pytest

from streamreasoner.plan.algebra import Arrangement
from streamreasoner.plan.counted import counted
from streamreasoner.plan.operands import Column, Pattern, Value

X, Y, ONE, TWO = Column("x"), Column("y"), Value("<urn:1>"), Value("<urn:2>")


@pytest.mark.parametrize(
    ("arguments", "heads", "key"),
    [
        pytest.param((None, None), (), (), id="any fact"),
        pytest.param((X, None), (), (0,), id="a bound argument"),
        pytest.param((None, ONE), (), (), id="a constant"),
        pytest.param((Y, None), (), None, id="a column that is not bound"),
        pytest.param((X, ONE), (), None, id="one fact"),
        pytest.param((X, X, None), (), None, id="a key of two arguments"),
        pytest.param((None, None), (Pattern("p", (X, Y)),), None, id="of its own stratum"),
        pytest.param((None, ONE), (Pattern("p", (X, ONE)),), None, id="partly of it"),
        pytest.param((None, ONE), (Pattern("p", (X, TWO)),), (), id="of it with another constant"),
        pytest.param((None, None), (Pattern("q", (X, Y)),), (), id="alongside its own stratum"),
    ],
)
def test_a_join_counts_where_it_needs_no_fact(arguments, heads, key):
    """It binds nothing, looks up by one argument at most, and is of lower strata."""
    pattern = Pattern("p", arguments)
    groups = counted(pattern, frozenset({"x"}), heads)

    expected = None if key is None else Arrangement("p", pattern.constants, key)
    assert groups == expected
