"""The graph benchmark at small size: what it measures is what scipy computes."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import graphs
from benchmarks.edge_stream import stream
from benchmarks.peers import scipy_graphs


@pytest.mark.parametrize("task", graphs.TASKS)
@pytest.mark.parametrize("seed", range(3))
def test_results_are_those_of_scipy(task, seed):
    """Before and after many random updates, the facts are scipy's answer on the graph there is."""
    found = graphs.measure(task, 600, 200, seed)

    assert found["equal"]
    assert found["facts"] > 0


def test_updates_lead_from_the_first_graph_to_the_last():
    """Deletions are of edges that are there, additions of edges that are not; half are of each."""
    given = stream(400, 300)
    edges = {tuple(row) for row in given.first.tolist()}
    for row, sign in zip(given.rows.tolist(), given.signs, strict=True):
        assert (tuple(row) in edges) == (sign < 0)
        edges ^= {tuple(row)}

    assert edges == {tuple(row) for row in given.last.tolist()}
    assert given.signs.sum() == 0
    additions = {tuple(row) for row in given.rows[given.signs > 0].tolist()}
    first = {tuple(row) for row in given.first.tolist()}
    assert additions & first
    assert additions - first


def test_a_wrong_result_is_noticed():
    """A triangle that is missing, twice there, out of order or without its edges is not equal."""
    graph = stream(600, 0).first
    answer = scipy_graphs.triangles(graph)
    low, high = np.sort(graph[:, :2], axis=1).T
    links = set(zip(low.tolist(), high.tolist(), strict=True))
    facts = np.array(
        [(x, y, z) for x, y in links for w, z in links if w == y and (x, z) in links], np.int64
    )
    same = graphs.TASKS["triangles"].same

    assert same(graph, facts, answer)
    assert not same(graph, facts[1:], answer)
    assert not same(graph, np.concatenate([facts[1:], facts[1:2]]), answer)
    assert not same(graph, np.concatenate([facts[1:], facts[:1, [1, 0, 2]]]), answer)
    nowhere = np.array([[0, 1, int(graph[:, :2].max()) + 1]])
    assert not same(graph, np.concatenate([facts[1:], nowhere]), answer)


def test_every_task_has_its_tables(capsys):
    """The tables have a row for each task, in Markdown on standard output."""
    found = [graphs.measure(task, 100, 20) for task in graphs.TASKS]

    tables = graphs.tables(found, 100, 20)

    assert [len(table["rows"]) for table in tables] == [3, 3, 3]
    printed = capsys.readouterr().out
    assert all(f"**{table['title']}**" in printed for table in tables)
    assert {len(row) for table in tables for row in table["rows"]} == {
        len(table["header"]) for table in tables
    }
