"""The benchmark of a cluster without a cluster: its inputs, its claims, and what it goes on to."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import harness, machines, scale
from benchmarks.peers.case import checksum
from streamreasoner.backends.store import columnar

FACTS, TERMS, PARTS = 50_000, 10_000, 3
FACT, TERM = 80, 40
"""Bytes of a fact, and of a term in each part."""


def cost(driver=1.0, parts=0.0, java=0.0, seconds=0.001):
    """What an epoch takes."""
    taken = {"seconds": seconds, "driver": driver, "parts": parts, "java": java}
    return {**taken, "changed": 1, "rounds": 4, "bytes": 100 * FACTS}


def run(size=50, *, load=None, one=None, plain=10.0):
    """Figures of a size of LUBM, as they are measured."""
    kinds = ("the first, one removed", scale.ONE, "10 random")
    epochs = {kind: {"kind": kind, "store": cost(), "parts": cost()} for kind in kinds}
    epochs[scale.ONE]["parts"] = cost() if one is None else one
    loaded = cost(parts=1.0) if load is None else load
    return {
        "case": "lubm",
        "size": size,
        "title": f"LUBM({size})",
        "rows": FACTS // 2,
        "facts": FACTS,
        "terms": TERMS,
        "dictionary_bytes": 100 * TERMS,
        "store_bytes": FACT * FACTS + TERM * TERMS,
        "term_bytes": TERM,
        "part_bytes": [FACT * FACTS // PARTS + TERM * TERMS] * PARTS,
        "load": {"kind": "load", "store": cost(), "parts": loaded},
        "restore": cost(),
        "plain": cost(plain),
        "epochs": [*epochs.values()],
        "equal": True,
    }


def test_tables_have_all_runs_and_go_on_to_sizes_that_were_not_measured():
    """A row for a load and for an epoch; limits come in the order in which they are reached."""
    loads, epochs, sizes, order, _ = scale.tables([run(10), run(50)])

    assert [row[0] for row in loads["rows"]] == ["LUBM(10)", "LUBM(50)"]
    assert len(epochs["rows"]) == 6
    last = {
        name: most * unit for (name, *_, most), unit in zip(sizes["rows"], units(), strict=True)
    }
    assert last["an executor: facts, GiB"] == pytest.approx(FACT * 1e10 / 64)
    assert last["an executor: arrays by id, GiB"] == pytest.approx(TERM * 2e9)
    assert last["load: CPU of each executor, hours"] == pytest.approx(1e10 / FACTS / 64)
    assert last["load: GiB exchanged"] == pytest.approx(100 * 1e10 * (63 / 64) / (2 / 3))
    reached = [facts for _, facts in order["rows"]]
    assert reached == sorted(reached)
    assert dict(order["rows"])["ids of terms have 31 bits"] == pytest.approx(scale.IDS * 5 / 1e6)


def units():
    """Those of the rows of sizes."""
    gib, hour = scale.GIB, scale.HOUR
    return (1e6, gib, gib, gib, hour, hour, gib, hour, hour)


def test_a_limit_is_reached_by_the_facts_that_use_it_up():
    """One that no fact uses is never reached."""
    given = scale.Limit("ids", 0.5, 40), scale.Limit("free", 0, 1)

    assert [limit.facts for limit in given] == [80, float("inf")]


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        (run(), [True, True, True]),
        (run(10), [True, True]),
        (run(load=cost(driver=1.0, parts=1.6)), [True, False, True]),
        (run(load=cost(driver=1.0, parts=1.4, java=9.0)), [True, True, True]),
        (run(one=cost(seconds=0.052)), [False, True, True]),
        (run(one=cost(parts=6.0, java=4.0)), [True, True, False]),
        (run(plain=0.9), [True, True, False]),
    ],
)
def test_claims_are_of_one_triple_the_load_and_the_dearest_epoch(given, holds):
    """A load counts Python's seconds, and of the largest size alone; an epoch those of Java too."""
    assert [held for _, held in scale.claims([given])] == holds


def test_a_state_shows_the_numbers_that_plain_spark_gets():
    """They are those of the case, not ids; all changes of an epoch are read."""
    given = machines.closure(30)
    state = machines.Subject(given, columnar())

    figures = state.cost([(given.rows, 1)])

    paths = edges = {*map(tuple, given.rows.tolist())}
    while longer := {(x, z) for x, y in paths for w, z in edges if w == y} - paths:
        paths = paths | longer
    assert state.checksum() == checksum(np.array([*paths]))
    assert figures["changed"] == len(edges) + len(paths)


def test_traces_differ_if_a_row_is_missing():
    """States of the same updates are equal, whatever ids their terms have."""
    given = machines.closure(30)
    one, other = (machines.Subject(given, columnar()) for _ in range(2))
    other.session.dictionary.intern("<urn:first>")
    for state in (one, other):
        state.cost([(given.rows, 1)])
    assert machines.same_trace(one, other)

    other.cost([(given.rows[:1], -1)])

    assert not machines.same_trace(one, other)


def test_absent_data_is_said_to_be_absent(monkeypatch, tmp_path, capsys):
    """LUBM alone, without its files, is left out with a message that says where they belong."""
    monkeypatch.setattr(harness, "DATA", tmp_path)
    monkeypatch.setattr("sys.argv", ["machines.py", "lubm"])

    assert machines.main() == harness.ABSENT
    assert str(tmp_path / "univ-bench.nt") in capsys.readouterr().err
