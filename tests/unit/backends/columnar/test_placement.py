"""The argument whose groups recursive rules walk, and rows put together by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from streamreasoner.backends.columnar import placement
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.checked import check_text

CLOSURE = "p(?x, ?y) :- e(?x, ?y) .\np(?x, ?z) :- p(?x, ?y), e(?y, ?z) ."
BACKWARDS = "p(?x, ?y) :- e(?x, ?y) .\np(?x, ?z) :- e(?x, ?y), p(?y, ?z) ."


@pytest.mark.parametrize(
    ("rules", "arguments"),
    [
        (CLOSURE, {"e": 0}),
        (BACKWARDS, {"e": 1}),
        (f"{CLOSURE}\ns(?a) :- p(?a, ?b), f(?b, ?a) .", {"e": 0}),
        ("p(?x, ?y) :- p(?x, ?z), p(?z, ?y) .", {}),
        ("p(?x, ?y) :- e(?x, ?z), f(?z, ?y) .", {}),
        ("p(?x, ?y) :- p(?x, ?z), p(?z, ?y), e(?x, ?y) .", {"e": 0}),
        ("p(?x, ?y) :- p(?y, ?x), e(?x, ?y) .", {}),
        (
            """p(?y) :- p(?x), e(?x, ?y) .
            p(?x) :- p(?y), e(?x, ?y) .
            p(?x) :- p(?y), f(?y), e(?x, ?y) .""",
            {"e": 1},
        ),
        ("p(?y) :- p(?x), e(?x, ?y) .\np(?x) :- p(?y), e(?x, ?y) .", {"e": 0}),
        ("e(?x, ?y) :- f(?x, ?y) .\np(?y) :- p(?x), e(?x, ?y) .", {}),
    ],
)
def test_walked_arguments(rules, arguments):
    """Of input predicates, by what recursive rules look up alone; the most frequent one."""
    plan = lower(check_text(f"@input e/2 .\n{rules}", "rules.dl"))

    assert placement.walked_arguments(plan) == arguments


SHAPES = st.tuples(st.integers(1, 40), st.just(2))


@given(arrays.arrays(np.int32, SHAPES, elements=st.integers(0, 9)))
def test_rows_are_put_together_in_their_order(args):
    """As a stable sort does, with all columns alike."""
    order = sorted(range(len(args)), key=lambda row: args[row, 1])
    column = np.arange(len(args), dtype=np.int64)
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(placement, "LARGE", 1)
        placed, rows = placement.place_together(1, args, column)

    assert placed.tolist() == args[order].tolist()
    assert rows.tolist() == order


@pytest.mark.parametrize("argument", [0, None])
def test_few_rows_stay(argument):
    """Nothing is copied."""
    args = np.array([[2], [1]], np.int32)

    assert placement.place_together(argument, args, args)[0] is args
