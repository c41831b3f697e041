"""Sizes that were not measured: a line goes on as it was, and what is used up first comes first."""

from __future__ import annotations

import pytest

from benchmarks.extrapolation import Limit, Line, first_to_break, fit


@pytest.mark.parametrize(
    ("points", "line"),
    [
        ([(10, 25), (20, 45), (30, 65)], Line(5, 2)),
        ([(10, 25)], Line(25, 0)),
        ([(10, 25), (10, 27)], Line(25, 0)),
        ([(10, 25), (20, 15)], Line(15, 0)),
    ],
)
def test_a_line_goes_through_what_was_measured(points, line):
    """A line that falls, or has one point only, is level at the largest size."""
    found = fit(points)

    assert (found.base, found.slope) == pytest.approx((line.base, line.slope))
    assert found.at(100) == pytest.approx(line.at(100))


def test_what_is_used_up_first_comes_first():
    """Limits are in the order of the facts at which they are reached; what is free comes last."""
    disk, ids, free = Limit("disk", 10, 1_000), Limit("ids", 0.5, 40), Limit("free", 0, 1)

    assert first_to_break([free, disk, ids]) == [ids, disk, free]
    assert [limit.facts for limit in (ids, disk)] == [80, 100]
