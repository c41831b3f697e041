"""Epochs that change much of the input, compared with loads of what is then there.

    python benchmarks/recompute.py [--quick] [--json FILE]

Rows drawn at random are removed in one epoch and added back in the next, several times over. Each
epoch is divided by the load, in the same run, of the rows that are there after it, into an empty
state: as the engine decides, first and last; evaluated anew each time; and differentiated each
time. Seconds of processor time on one core. The exit code is 1 if a trace is not that of the load.
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

    from benchmarks.peers.case import Case

ROUNDS = 4
HEADER = (
    "case",
    "change",
    "load of what is there, s",
    "first epoch / load",
    "last epoch / load",
    "evaluated anew / load",
    "differentiated / load",
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
    printed = harness.print_table("Epochs that change much of the input", HEADER, rows)
    harness.save(options.json, {**harness.machine(), "rows": rows, "tables": [printed]})
    return int(not same)


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
    figures: dict[tuple[str, int], list[float]] = {}
    traces = {}
    for name, budget in WAYS.items():
        driver = Driver(case)
        driver.apply(driver.encode(case.rows, 1))
        for _ in range(1 if budget is not None else ROUNDS):
            for sign in (-1, 1):
                updates = driver.encode(case.rows[chosen], sign)
                with budget_of(budget):
                    figures.setdefault((name, sign), []).append(spent(driver, updates))
                traces[name, sign] = trace(driver, case)
    for sign, there, word in ((-1, ~chosen, "removed"), (1, chosen | True, "added back")):
        driver = Driver(case)
        load = spent(driver, driver.encode(case.rows[there], 1))
        decided, anew, other = (figures[name, sign] for name in WAYS)
        times = (decided[0], decided[-1], anew[-1], other[-1])
        same = all(traces[name, sign] == trace(driver, case) for name in WAYS)
        yield (case.name, f"{size:,} {word}", load, *(each / load for each in times)), same


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
