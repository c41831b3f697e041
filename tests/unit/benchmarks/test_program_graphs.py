"""The program-graph benchmark at small size: traces are exact, and it would notice if not."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import program_graphs


@pytest.mark.parametrize(("name", "size"), [("cspa", 0.0005), ("csda", 8), ("andersen", 80)])
def test_traces_are_those_of_a_fresh_evaluation(name, size):
    """After deletions of every size, and after adding back, the whole trace is exact."""
    found = program_graphs.measure(name, size, {1: 20, 10: 5, 100: 2, 1_000_000: 1})

    assert [row["edges"] for row in found["epochs"]] == [1, 10, 100]
    assert all(row["exact"] for row in found["epochs"])
    assert found["epochs"][-1]["changed"] > 100


def test_a_trace_without_an_edge_has_another_digest():
    """The digest tells apart states that differ in one edge, and forgets the order of loading."""
    case = program_graphs.case_of("csda", 5)
    analysis = program_graphs.Analysis(case)
    whole, less, again = (
        analysis.load(rows)[0].digest(analysis.predicates)
        for rows in (case.rows, case.rows[1:], case.rows[::-1])
    )

    assert whole == again
    assert whole != less


def test_counts_are_part_of_the_digest():
    """A fact that is asserted twice is the same fact in another trace."""
    case = program_graphs.case_of("csda", 5)
    analysis = program_graphs.Analysis(case)
    once, _ = analysis.load(case.rows)
    twice, _ = analysis.load(case.rows)
    epoch = twice.epoch(analysis.encode(case.rows[:1], 1))

    assert epoch.changed == 0
    for predicate in analysis.predicates:
        rows = {tuple(row) for row in once.facts(predicate).tolist()}
        assert rows == {tuple(row) for row in twice.facts(predicate).tolist()}
    assert once.digest(analysis.predicates) != twice.digest(analysis.predicates)


def test_tables_have_a_row_for_every_size():
    """There is a table for the loads, and one for each analysis."""
    found = program_graphs.measure("csda", 5, {1: 2, 10: 2})

    loads, epochs = program_graphs.tables([found])

    assert np.shape(loads["rows"]) == (1, len(loads["header"]))
    assert np.shape(epochs["rows"]) == (2, len(epochs["header"]))
