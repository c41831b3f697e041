"""Points-to and dataflow analyses of large programs, and then epochs of 1 to 10,000 changed edges.

    python benchmarks/program_graphs.py [cspa csda andersen] [--scale 0.1] [--procedures 10000]
        [--variables 1000] [--json FILE]

CSPA is the context-sensitive points-to analysis of Graspan (ASPLOS 2017) on a synthetic program of
`--scale` times the size of httpd, CSDA its null dataflow on one of `--procedures` ones, Andersen's
the analysis that is named so, on one of `--variables` ones. Random
edges are deleted in one epoch and added back in the next. After one deletion of every size the
whole trace (facts, iterations and multiplicities) must equal that of an evaluation of the remaining
edges from scratch, and after each size that of the first load. The goal: deletions take at most
twice as long as additions. Each analysis runs in a separate process; times are seconds of processor
time.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness, programs
from benchmarks.driver import Kernel, Numbers, updates
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.driver import Epoch
    from benchmarks.peers.case import Case
    from streamreasoner.engine.updates import Updates

ANALYSES = ("cspa", "csda", "andersen")
# Edges per epoch, and the number of rounds.
SIZES = {1: 200, 10: 50, 100: 20, 1_000: 5, 10_000: 2}
# Of Andersen: a few hundred edges change most of what its 2,000 ones derive.
ANDERSEN_SIZES = {1: 20, 10: 5, 100: 3, 300: 2}
WARM_UP = 2_000
GOAL = 2.0
PERCENT = 100.0


def main() -> int:
    """Run the analyses, print their tables, and fail if a trace is not exact."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("analyses", nargs="*", choices=(*ANALYSES, []), help="default: all")
    arguments.add_argument("--scale", type=float, default=0.1, help="of httpd, for CSPA")
    arguments.add_argument("--procedures", type=int, default=10_000, help="for CSDA")
    arguments.add_argument("--variables", type=int, default=1_000, help="for Andersen")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    figures: dict[str, Any] = {**harness.machine(), "analyses": []}
    for name in options.analyses or ANALYSES:
        of_name = {
            "cspa": (options.scale, SIZES),
            "csda": (options.procedures, SIZES),
            "andersen": (options.variables, ANDERSEN_SIZES),
        }
        figures["analyses"].append(harness.apart(measure, name, *of_name[name]))
    figures["tables"] = tables(figures["analyses"])
    harness.save(options.json, figures)
    exact = all(row["exact"] for result in figures["analyses"] for row in result["epochs"])
    return 0 if exact else 1


def case_of(name: str, size: float) -> Case:
    """The analysis of a synthetic program."""
    match name:
        case "cspa":
            return programs.cspa("httpd", size, 0, 0)
        case "csda":
            return programs.csda(int(size), 0, 0)
        case _:
            return programs.andersen(int(size), 0, 0)


class Analysis:
    """A case whose numbers have ids, and kernels that evaluate it.

    Attributes:
        predicates: Those whose trace is compared: all of the case.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._dictionary = Dictionary()
        self._numbers = Numbers(self._dictionary, 1 + int(case.rows[:, 1:].max()))
        self.predicates = (*case.inputs, *case.outputs)

    def encode(self, rows: NDArray[np.int32], multiplicity: int) -> list[Updates]:
        """Rows of the case as updates."""
        parts = self._case.split(rows)
        return [updates(p, self._numbers.encode(args), multiplicity) for p, args in parts.items()]

    def load(self, rows: NDArray[np.int32]) -> tuple[Kernel, float]:
        """A new kernel with these rows, and the seconds to load them."""
        kernel = Kernel(self._case.rules, self._dictionary)
        return kernel, kernel.load(self.encode(rows, 1))


def measure(name: str, size: float, sizes: dict[int, int] = SIZES) -> dict[str, Any]:
    """The figures of an analysis; run it in a separate process."""
    case = case_of(name, size)
    analysis = Analysis(case)
    warm, _ = analysis.load(case.rows[-WARM_UP:])
    for sign in (-1, 1):
        warm.epoch(analysis.encode(case.rows[-WARM_UP:], sign))
    del warm
    kernel, load = analysis.load(case.rows)
    state, peak = kernel.statistics(), harness.peak_mib()
    first = kernel.digest(analysis.predicates)
    random = np.random.default_rng(0)
    epochs = []
    for count, rounds in sizes.items():
        chosen = [
            random.choice(len(case.rows), count, replace=False)
            for _ in range(rounds)
            if count < len(case.rows)
        ]
        if chosen:
            epochs.append(_epochs(analysis, kernel, case.rows, chosen, first))
    return {
        "name": name,
        "title": case.name,
        "edges": len(case.rows),
        "facts": state.present,
        "counts": state.trace_rows,
        "load": load,
        "bytes_per_fact": state.bytes / state.facts,
        "peak_mib": peak,
        "epochs": epochs,
    }


def _epochs(
    analysis: Analysis,
    kernel: Kernel,
    rows: NDArray[np.int32],
    chosen: list[NDArray[np.int64]],
    first: str,
) -> dict[str, Any]:
    """Delete and add back rows several times; once, the trace without them is compared."""
    deletions: list[Epoch] = []
    additions: list[Epoch] = []
    for number, places in enumerate(chosen):
        deletions.append(kernel.epoch(analysis.encode(rows[places], -1)))
        if number == 0:
            left, again = analysis.load(np.delete(rows, places, axis=0))
            exact = left.digest(analysis.predicates) == kernel.digest(analysis.predicates)
            del left
        additions.append(kernel.epoch(analysis.encode(rows[places], 1)))
    exact = exact and kernel.digest(analysis.predicates) == first
    changed = sum(epoch.changed for epoch in deletions)
    delete, add = ([epoch.settle for epoch in part] for part in (deletions, additions))
    return {
        "edges": len(chosen[0]),
        "rounds": len(chosen),
        "changed": changed / len(chosen),
        "delete": float(np.median(delete)),
        "add": float(np.median(add)),
        "delete_mean": float(np.mean(delete)),
        "add_mean": float(np.mean(add)),
        "ratio": sum(delete) / sum(add),
        "delete_per_changed": sum(delete) / changed,
        "add_per_changed": sum(add) / changed,
        "again": again,
        "exact": exact,
    }


def tables(analyses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tables of the figures, printed."""
    loads = harness.print_table(
        "Programs, from encoded ids to closure",
        ("analysis", "facts", "counts", "load s", "bytes/fact", "peak MiB"),
        [
            [result[key] for key in ("title", "facts", "counts", "load")]
            + [result["bytes_per_fact"], result["peak_mib"]]
            for result in analyses
        ],
    )
    return [loads, *(_table(result) for result in analyses)]


def _table(result: dict[str, Any]) -> dict[str, Any]:
    return harness.print_table(
        f"{result['title']}: edges deleted in one epoch and added back in the next",
        (
            "edges",
            "rounds",
            "facts changed, mean",
            "delete ms, median",
            "add ms, median",
            "delete ms, mean",
            "add ms, mean",
            f"delete / add (goal {GOAL:g})",
            "µs per changed fact, delete",
            "add",
            "delete, % of computing again",
            "add, % of it",
            "trace exact",
        ),
        [
            (
                row["edges"],
                row["rounds"],
                row["changed"],
                *(row[key] * 1e3 for key in ("delete", "add", "delete_mean", "add_mean")),
                row["ratio"],
                row["delete_per_changed"] * 1e6,
                row["add_per_changed"] * 1e6,
                *(
                    PERCENT * row[f"{way}_mean"] / max(row["again"], 1e-9)
                    for way in ("delete", "add")
                ),
                row["exact"],
            )
            for row in result["epochs"]
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
