"""Other engines: what they tell is read as it was meant; `compare.py` checks what they derive."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import borrows, calls, generators, ontologies, programs
from benchmarks.peers import AbsentError, crates, dataflow, flowlog, nemo, pathway
from benchmarks.peers.case import Result, middle
from benchmarks.peers.clock import Clock, Seconds, median

EDGES = generators.social(300, 40)
CASES = [
    programs.closure("a graph", generators.uniform(12, 30), 2, 5),
    programs.sssp(EDGES, 2, 20),
    programs.components(EDGES, 2, 20),
    programs.triangles(EDGES, 2, 20),
    programs.cycles(generators.uniform(15, 60), 2, 20),
    programs.cliques(EDGES, 2, 20),
    programs.cspa("httpd", 0.0002, 2, 20),
    programs.csda(2, 2, 20),
    programs.andersen(30, 2, 10),
    ontologies.case("axioms", ontologies.made_up(60), 2, 10),
    borrows.case("a function", borrows.made_up(100), 2, 10),
    calls.case("classes", calls.program(4), 2, 10),
]
TOLD = {
    "facts": {"path": 3},
    "checksums": {"path": 2**64 - 1},
    "load": [1.0, 2.0],
    "remove": [0.1, 0.2],
    "add": [0.3, 0.4],
    "batch_remove": [0.5, 0.6],
    "batch_add": [0.7, 0.8],
    "peak_bytes": 1024,
}


def test_a_line_of_a_crate_is_a_result():
    """Pairs are processor and wall."""
    result = crates.parse("one", json.dumps(TOLD))

    assert result == Result(
        "one",
        Seconds(1.0, 2.0),
        {"path": 3},
        {"path": 2**64 - 1},
        *(Seconds(value, value + 0.1) for value in (0.1, 0.3, 0.5)),
        Seconds(0.7, 0.8),
        1024,
    )


def test_a_run_without_updates_has_no_times_of_them():
    """A batch program tells null."""
    updates = dict.fromkeys(("remove", "add", "batch_remove", "batch_add"))
    result = crates.parse("one", json.dumps({**TOLD, **updates}))

    assert (result.remove, result.add, result.batch_remove, result.batch_add) == (None,) * 4


def test_several_runs_give_medians():
    """Each time has its median, and memory its greatest."""
    runs = [
        Result("one", Seconds(load, 9.0), {"path": 1}, remove=Seconds(load / 10, 1.0), peak_bytes=5)
        for load in (3.0, 1.0, 2.0)
    ]

    assert middle(runs) == Result(
        "one", Seconds(2.0, 9.0), {"path": 1}, remove=Seconds(0.2, 1.0), peak_bytes=5
    )
    with pytest.raises(RuntimeError):
        middle([*runs, Result("one", Seconds(1.0, 1.0), {"path": 2})])


def test_a_clock_tells_processor_time_beside_the_wall():
    """Work takes both, and nothing has no median."""
    clock = Clock()
    np.sort(np.random.default_rng(0).random(200_000))
    seconds = clock.seconds()

    assert seconds.processor > 0
    assert seconds.wall > 0
    assert median([]) is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.task)
def test_every_task_of_a_crate_has_its_program(case):
    """A task is written for FlowLog, with a binary of its name."""
    folder = Path(crates.FOLDER) / flowlog.CRATE
    assert (folder / "programs" / f"{case.task}.dl").exists()
    assert (folder / "src" / "bin" / f"{case.task}.rs").exists()


def test_a_task_that_a_peer_lacks_is_said_to_be_absent():
    """Neither crate has the cyclic queries of LUBM, nor does Nemo have aggregates."""
    case = programs.Case("queries", "", "", ("edge",), (), EDGES, EDGES, EDGES)
    for run in (dataflow.run, flowlog.run):
        with pytest.raises(AbsentError):
            run(case)
    with pytest.raises(AbsentError):
        nemo.run(CASES[1])


def test_pathway_needs_an_interpreter_that_has_it(monkeypatch):
    """Without the variable, or with an interpreter that lacks Pathway, it is absent."""
    monkeypatch.delenv(pathway.INTERPRETER, raising=False)
    with pytest.raises(AbsentError, match=pathway.INTERPRETER):
        pathway.interpreter()
    monkeypatch.setenv(pathway.INTERPRETER, "false")
    with pytest.raises(AbsentError, match="no Pathway"):
        pathway.interpreter()
