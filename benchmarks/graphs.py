"""Shortest paths, components and triangles of one large graph, under added and removed edges.

    python benchmarks/graphs.py [TASK...] [--edges 2400000] [--updates 1000] [--json FILE]

Each task runs in a separate process: the graph is loaded from encoded ids to closure, and then
random edges are removed and added, one per epoch: half are deletions, a quarter adds deleted edges
back, a quarter adds new ones. The peer is scipy, which recomputes everything: its results on the
first and the last graph must equal ours, or the script fails. The cost of an update is given as a
share of our own load in the same run, and of scipy's computation, which only counts triangles.

Times are seconds of processor time. Those of an update include reading all its changes, those of
the load do not, so the shares are upper bounds.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import generators, harness, programs
from benchmarks.driver import Epoch, Kernel, Numbers, cpu, updates
from benchmarks.edge_stream import stream
from benchmarks.peers import scipy_graphs
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Edges = NDArray[np.int32]
    Facts = NDArray[np.int64]

WARM_UP = 2_000
PERCENT = 100.0
MICRO = 1e6


@dataclass(frozen=True, slots=True)
class Task:
    """A problem on a graph.

    Attributes:
        title: The task in words.
        rules: The program; its input is `edge`.
        output: The predicate with the result.
        peer: scipy's solution.
        same: Whether our facts equal scipy's result.
    """

    title: str
    rules: str
    output: str
    peer: Callable[[Edges], Facts | int]
    same: Callable[[Edges, Facts, Any], bool]


def main() -> int:
    """Run the tasks, print their tables, and fail if a result is not scipy's."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("tasks", nargs="*", choices=(*TASKS, []), help="default: all")
    arguments.add_argument("--edges", type=int, default=generators.SOCIAL_EDGES)
    arguments.add_argument("--updates", type=int, default=1_000)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    figures: dict[str, Any] = {**harness.machine(), "edges": options.edges, "tasks": []}
    for name in options.tasks or TASKS:
        result = harness.apart(measure, name, options.edges, options.updates)
        print(f"{name}: {'equal' if result['equal'] else 'NOT EQUAL'}", file=sys.stderr, flush=True)
        figures["tasks"].append(result)
    figures["tables"] = tables(figures["tasks"], options.edges, options.updates)
    harness.save(options.json, figures)
    return 0 if all(result["equal"] for result in figures["tasks"]) else 1


def measure(name: str, edges: int, count: int, seed: int = 0) -> dict[str, Any]:
    """The figures of a task; run it in a separate process."""
    task, workload = TASKS[name], stream(edges, count, seed)
    dictionary = Dictionary()
    numbers = Numbers(dictionary, 1 + int(workload.first.max()))
    warm = Kernel(task.rules, dictionary)
    for sign in (1, -1, 1):
        warm.epoch([updates("edge", numbers.encode(workload.first[:WARM_UP]), sign)])
    del warm

    kernel = Kernel(task.rules, dictionary)
    load = kernel.load([updates("edge", numbers.encode(workload.first), 1)])
    size, peak = kernel.statistics(), harness.peak_mib()
    before = kernel.facts(task.output)
    ids = numbers.encode(workload.rows)
    epochs = [
        kernel.epoch([updates("edge", ids[i : i + 1], sign)])
        for i, sign in enumerate(workload.signs)
    ]
    after = kernel.facts(task.output)

    task.peer(workload.first[:WARM_UP])  # imports it
    answers: list[Any] = []
    peer = cpu(lambda: answers.append(task.peer(workload.first)))
    answers.append(task.peer(workload.last))
    equal = [
        task.same(graph, numbers.decode(facts), answer)
        for graph, facts, answer in zip(
            (workload.first, workload.last), (before, after), answers, strict=True
        )
    ]
    return {
        "task": name,
        "title": task.title,
        "facts": len(before),
        "facts_after": len(after),
        "held": size.facts,
        "counts": size.trace_rows,
        "load": load,
        "peer": peer,
        "bytes_per_fact": size.bytes / size.facts,
        "state_mib": size.bytes / 2**20,
        "peak_mib": peak,
        "equal": all(equal),
        **_updates(epochs, workload.signs),
    }


def _updates(epochs: list[Epoch], signs: NDArray[np.int64]) -> dict[str, Any]:
    seconds = np.array([epoch.settle + epoch.read for epoch in epochs])
    settle = np.array([epoch.settle for epoch in epochs])
    felt = np.array([epoch.changed > 1 for epoch in epochs])
    quantiles = np.percentile(seconds, np.arange(101))
    return {
        "quantiles": quantiles.tolist(),
        "p90": float(quantiles[90]),
        "median": float(quantiles[50]),
        "p99": float(quantiles[99]),
        "max": float(quantiles[100]),
        "settle_median": float(np.median(settle)),
        "delete_median": float(np.median(seconds[signs < 0])),
        "add_median": float(np.median(seconds[signs > 0])),
        "felt": int(felt.sum()),
        "felt_median": float(np.median(seconds[felt])) if felt.any() else 0.0,
    }


def tables(tasks: list[dict[str, Any]], edges: int, count: int) -> list[dict[str, Any]]:
    """The tables of the figures, printed."""
    loads = harness.print_table(
        f"A graph of {edges:,} edges, from encoded ids to closure",
        (
            "task",
            "facts",
            "held, with edges and candidates",
            "counts",
            "load s",
            "scipy s",
            "load / scipy",
            "bytes/fact held",
            "peak MiB",
            "equal to scipy, before and after",
        ),
        [
            (
                *(result[key] for key in ("title", "facts", "held", "counts", "load", "peer")),
                result["load"] / max(result["peer"], 1e-9),
                *(result[key] for key in ("bytes_per_fact", "peak_mib", "equal")),
            )
            for result in tasks
        ],
    )
    times = ("median", "p90", "p99", "max", "delete_median", "add_median")
    singles = harness.print_table(
        f"{count:,} updates of one edge each, µs",
        (
            "task",
            *("median", "p90", "p99", "max", "median deletion", "median addition"),
            "that changed more than the edge",
            "their median",
        ),
        [
            (
                result["title"],
                *(result[key] * MICRO for key in times),
                result["felt"],
                result["felt_median"] * MICRO,
            )
            for result in tasks
        ],
    )
    shares = harness.print_table(
        "The same, in percent of computing everything again",
        ("task", "median / ours", "p99 / ours", "max / ours", "median / scipy", "max / scipy"),
        [
            (
                result["title"],
                *(
                    PERCENT * result[time] / max(result[whole], 1e-9)
                    for whole, time in (
                        ("load", "median"),
                        ("load", "p99"),
                        ("load", "max"),
                        ("peer", "median"),
                        ("peer", "max"),
                    )
                ),
            )
            for result in tasks
        ],
    )
    return [loads, singles, shares]


def _rows_same(graph: Edges, facts: Facts, answer: Facts) -> bool:
    del graph
    return np.array_equal(np.unique(facts, axis=0), np.unique(answer, axis=0))


def _triangles_same(graph: Edges, facts: Facts, answer: int) -> bool:
    """Whether they are as many as scipy's, distinct, and each x < y < z with all three edges."""
    top = int(graph[:, :2].max()) + 1
    low, high = np.sort(graph[:, :2].astype(np.int64), axis=1).T
    links = np.unique(low * top + high)

    def linked(a: Facts, b: Facts) -> bool:
        return bool(np.isin(a * top + b, links).all())

    x, y, z = facts.T
    rows = np.unique((x * top + y) * top + z)
    ordered = bool((x < y).all() and (y < z).all())
    return (
        len(rows) == len(facts) == answer
        and ordered
        and linked(x, y)
        and linked(y, z)
        and (linked(x, z))
    )


TASKS = {
    "sssp": Task(
        "shortest paths",
        programs.SSSP,
        "dist",
        lambda graph: scipy_graphs.sssp(graph, 0),
        _rows_same,
    ),
    "components": Task(
        "components", programs.COMPONENTS, "component", scipy_graphs.components, _rows_same
    ),
    "triangles": Task(
        "triangles", programs.TRIANGLES, "triangle", scipy_graphs.triangles, _triangles_same
    ),
}

if __name__ == "__main__":
    raise SystemExit(main())
