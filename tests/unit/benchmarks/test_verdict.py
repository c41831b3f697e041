"""Who is faster: processor time decides, and only of peers that can do what is compared."""

from __future__ import annotations

import pytest

from benchmarks import verdict


def result(engine, load, update=None, batch=None):
    """A row of results in JSON; one whose clock says the opposite of the processor."""
    times = {"load": load, "remove": update, "add": update}
    times |= {"batch_remove": batch, "batch_add": batch}
    return {"engine": engine} | {
        name: value and {"processor": value, "wall": 100 - value} for name, value in times.items()
    }


def judged(title, *peers):
    """Measure, peer and whether it is faster, alongside ours with 2 s, 0.2 s and 1 s."""
    rows = [result(verdict.OURS, 2.0, 0.1, 0.5), *peers]
    found = verdict.rows({title: {"section": "graph", "rows": rows}})
    return [(row.measure, row.peer, row.behind) for row in found]


def test_each_measure_has_its_fastest_peer():
    """A row names the peer that is fastest at it, and rows that we lose come first."""
    found = judged("paths; 1 row", result("one", 1.0, 0.4, 0.6), result("other", 3.0, 0.2, 0.7))

    assert found == [
        ("load", "one", True),
        ("many updates", "one", False),
        ("one update", "other", False),
    ]


def test_an_update_is_a_removal_and_an_addition():
    """One that is slower in one direction is judged by both together."""
    peer = result("one", 9.0, 0.1, 0.5)
    peer["add"] = {"processor": 0.05, "wall": 1.0}

    assert ("one update", "one", True) in judged("paths; 1 row", peer)


@pytest.mark.parametrize("title", ["paths; 1 row", "closure; 1 row"])
def test_a_peer_without_deletions_is_not_judged(title):
    """Engines that would have to compute everything again may load faster."""
    assert judged(title, result("DuckDB", 0.1), result(verdict.BATCH_ENGINE, 0.1)) == []


@pytest.mark.parametrize("title", ["triangles, 5 edges; 1 row", "components, 5 edges; 1 row"])
def test_in_two_tasks_the_batch_mode_counts_too(title):
    """Loading triangles and components is compared with FlowLog's mode without deletions."""
    found = judged(title, result("scipy", 0.1), result(verdict.BATCH_ENGINE, 1.0))

    assert found == [("load", verdict.BATCH_ENGINE, True)]


def test_times_of_a_clock_alone_are_not_compared():
    """Results without processor time, and tables without engines, give no rows."""
    peer = result("one", 1.0, 0.1, 0.5)
    for name in ("load", "remove", "add", "batch_remove", "batch_add"):
        peer[name]["processor"] = None

    assert judged("paths; 1 row", peer) == []
    assert verdict.rows({"Removing": {"section": "deletion", "rows": [{"graph": "chain"}]}}) == []


def test_ratios_are_of_every_peer_and_measure():
    """Plots show peers that lose, and those without deletions where they were measured."""
    rows = [result(verdict.OURS, 2.0, 0.1, 0.5), result("one", 4.0, 0.2, 0.5), result("two", 1.0)]

    assert verdict.ratios({"paths; 1 row": {"section": "graph", "rows": rows}}) == {
        ("paths", "one", "load"): 2.0,
        ("paths", "one", "one update"): 2.0,
        ("paths", "one", "many updates"): 1.0,
        ("paths", "two", "load"): 0.5,
    }
