"""Epochs that change much of the input, compared with loads of what is then there.

    python benchmarks/recompute.py [--quick] [--json FILE]

Rows drawn at random are removed in one epoch and added back in the next, four times over, in a new
state: as the engine decides, evaluated anew each time, and differentiated each time; all of it
several times, in turns. Each epoch is divided by a load of the rows that are there after it, into
an empty state, and by the larger load of those that are there before and after it, as what an epoch
removes must be found, too. Times are the least of all runs, in seconds of processor time on one
core. Claims, for loads of at least 10 ms: the first such epoch takes at most 1.3 times the cheaper
way, and so does the last; both take at most 1.3 times the larger load. The exit code is 1 if one
does not hold, or if a trace is not that of the load.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import generators, harness, programs
from benchmarks.peers.ours import Driver, warm_up
from streamreasoner.engine.ports import UNLIMITED
from streamreasoner.engine.recomputation import Recomputation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from benchmarks.peers.case import Case

ROUNDS = 4
RUNS = 3
MOST = 1.3  # the claims
LEAST = 0.01  # seconds of a load that they are for
HEADER = (
    "case",
    "change",
    "load of what is there, s",
    "evaluated anew / load",
    "differentiated / load",
    "first epoch / load",
    "last epoch / load",
    "first / cheaper way",
    "last / cheaper way",
    "first / larger load",
    "last / larger load",
)
WAYS = {"decided": None, "anew": 0, "differentiated": UNLIMITED}


def main() -> int:
    """Measure the cases and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="small sizes")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows, same = [], True
    for case, sizes in cases(options.quick):
        warm_up(case)
        for size in sizes:
            for row, equal in measure(case, size):
                print(*row, sep=" | ", flush=True)
                rows.append(row)
                same &= equal
    found = claims(rows)
    tables = [
        harness.print_table("Epochs that change much of the input", HEADER, rows),
        harness.print_table("Claims", ("claim", "holds"), list(found.items())),
    ]
    figures = {"rows": rows, "claims": found, "tables": tables}
    harness.save(options.json, {**harness.machine(), **figures})
    return int(not (same and all(found.values())))


def claims(rows: list[tuple[Any, ...]]) -> dict[str, bool]:
    """Which claims hold."""
    columns = {
        "the first epoch of each kind: at most {} of the cheaper way": 7,
        "the last epoch of each kind: at most {} of the cheaper way": 8,
        "the first epoch of each kind: at most {} of the larger load": 9,
        "the last epoch of each kind: at most {} of the larger load": 10,
    }
    counted = [row for row in rows if row[2] >= LEAST]
    return {
        claim.format(MOST): all(row[column] <= MOST for row in counted)
        for claim, column in columns.items()
    }


def cases(quick: bool) -> Iterator[tuple[Case, tuple[int, ...]]]:  # noqa: FBT001
    """Programs, and how many rows an epoch removes or adds back."""
    yield programs.andersen(100 if quick else 1_000, 0, 0), (20,) if quick else (100, 300, 1_000)
    yield programs.cspa("httpd", 0.005 if quick else 0.05, 0, 0), (500 if quick else 10_000,)
    edges = generators.uniform(*((60, 90) if quick else (600, 900)))
    yield programs.closure("a random graph", edges, 0, 0), (len(edges) // 10, len(edges) // 2)
    try:
        case = programs.rho_df(1 if quick else 10, 0, 0)
    except SystemExit:
        print("No LUBM: its rows are left out.")
    else:
        yield case, (len(case.rows) // 10, len(case.rows) // 2)


def measure(case: Case, size: int) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Rows of the table, each with whether the traces were those of loads."""
    chosen = np.zeros(len(case.rows), np.bool_)
    chosen[np.random.default_rng(0).choice(len(chosen), size, replace=False)] = True
    there = {-1: ~chosen, 1: chosen | True}
    figures: dict[tuple[str, int, int], float] = {}
    traces: dict[tuple[str, int], list[int]] = {}

    def note(key: tuple[str, int, int], driver: Driver, rows: NDArray[np.int32], sign: int) -> None:
        took = spent(driver, driver.encode(rows, sign))
        figures[key] = min(figures.get(key, took), took)

    for _ in range(RUNS):
        for sign, rows in there.items():
            driver = Driver(case)
            note(("load", sign, 0), driver, case.rows[rows], 1)
            traces["load", sign] = trace(driver, case)
        for name, budget in WAYS.items():
            driver = Driver(case)
            driver.apply(driver.encode(case.rows, 1))
            for number in range(ROUNDS):
                for sign in there:
                    with budget_of(budget):
                        note((name, sign, number), driver, case.rows[chosen], sign)
                    traces[name, sign] = trace(driver, case)
    larger = max(figures["load", sign, 0] for sign in there)
    for sign, word in ((-1, "removed"), (1, "added back")):
        load = figures["load", sign, 0]
        ends = [[figures[name, sign, number] for name in WAYS] for number in (0, ROUNDS - 1)]
        (first, *_), (last, anew, other) = ends
        shares = [decided / min(ways) for decided, *ways in ends]
        times = [each / load for each in (anew, other, first, last)]
        shares += (first / larger, last / larger)
        same = all(traces[name, sign] == traces["load", sign] for name in WAYS)
        yield (case.name, f"{size:,} {word}", load, *times, *shares), same


def spent(driver: Driver, updates: list[Any]) -> float:
    """Processor seconds of an epoch."""
    started = time.process_time()
    driver.apply(updates)
    return time.process_time() - started


@contextmanager
def budget_of(work: int | None) -> Iterator[None]:
    """Give each epoch the same budget; None leaves it to the engine."""
    decides = Recomputation.budget
    if work is not None:
        Recomputation.budget = lambda *_: work  # type: ignore[method-assign]
    yield
    Recomputation.budget = decides  # type: ignore[method-assign]


def trace(driver: Driver, case: Case) -> list[int]:
    """What the traces of the derived predicates have, whatever their order."""
    return [driver.trace(name) for name in case.outputs]


if __name__ == "__main__":
    sys.exit(main())
