"""Costs of starts are medians, compared with those of the other checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import startup
from benchmarks.startup import Cost


def test_a_row_compares_two_checkouts():
    """Processor time of both, their ratio, and memory of both; or of one alone."""
    assert startup.row("x", [Cost(1, 20), Cost(4, 80)]) == ["x", 1, 4, 0.25, 20, 80]
    assert startup.row("x", [Cost(1, 20)]) == ["x", 1, 20]


def test_the_first_start_of_each_is_not_counted():
    """It compiles and downloads what later ones find."""
    costs = iter([Cost(100, 1), Cost(200, 1), Cost(1, 1), Cost(2, 1), Cost(3, 1), Cost(4, 1)])
    trees = [Path("this"), Path("other")]
    assert startup.in_turns(trees, 2, lambda _: next(costs)) == [Cost(2, 1), Cost(3, 1)]


def test_a_command_has_a_cost():
    """A failing one stops the script."""
    tree = Path(__file__).resolve().parents[3]
    assert startup.command(tree, ["-c", "pass"]).memory > 1
    with pytest.raises(AssertionError):
        startup.command(tree, ["-c", "raise SystemExit(1)"])
