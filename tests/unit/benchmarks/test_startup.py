"""Costs of starts are medians, compared with those of the other checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks import startup
from benchmarks.startup import Cost


def test_a_row_compares_two_checkouts():
    """Processor time of both, their ratio, and memory of both; or of one alone."""
    assert startup.row("x", [Cost(1, 20, 5), Cost(4, 80, 6)]) == ["x", 1, 4, 0.25, 20, 80, 5, 6]
    assert startup.row("x", [Cost(1, 20, 5)]) == ["x", 1, 20, 5]


def test_the_first_start_of_each_is_not_counted():
    """It compiles and downloads what later ones find."""
    costs = iter([Cost(cpu, 1, 1) for cpu in (100, 200, 1, 2, 3, 4)])
    trees = [Path("this"), Path("other")]
    assert startup.in_turns(trees, 2, lambda _: next(costs)) == [Cost(2, 1, 1), Cost(3, 1, 1)]


def test_a_command_has_a_cost():
    """A failing one stops the script."""
    tree = Path(__file__).resolve().parents[3]
    # Less than this process has: it does not count.
    assert 1 < startup.command(tree, ["-c", "pass"]).memory < 50
    with pytest.raises(subprocess.CalledProcessError):
        startup.command(tree, ["-c", "raise SystemExit(1)"])
