"""A state divided among parts: on the cores of this machine, and counted for more of them.

    python benchmarks/parts.py [CASE...] [--parts 1 2 4 8 16 32 64] [--scale 10] [--json FILE]

Each case is loaded, then a batch of its input goes and comes back. The first table is by the clock:
parts in threads, as many as this machine has processors, next to one store in one thread and one as
it is by default, which has a second thread for what is large. One update is the median of 20 that
go and come, with its changes read.

In the second table all parts run in one thread, in turns. The critical path is what they would take
on a core each: of every step the seconds of the part that takes longest, summed. It leaves out what
threads or machines add: waiting for each other, caches that they share, a network. Rows are what
parts fetch from others: heads, and changes of facts that they have copies of. A row is taken as 24
bytes: three arguments, an iteration, a multiplicity. Times are of the processor there, and the
least of the rounds in both.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, cast

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import generators, harness, programs
from streamreasoner import rulesets
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.parts.crew import Crew
from streamreasoner.backends.store import columnar, in_memory, parts_backend
from streamreasoner.engine.session import Session, Store
from streamreasoner.engine.updates import Updates
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.system.processors import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.peers.case import Case
    from streamreasoner.backends.parts.backend import PartsBackend
    from streamreasoner.backends.parts.here import PartsHere
    from streamreasoner.plan.program_plan import ProgramPlan

NUMBERS = (1, 2, 4, 8, 16, 32, 64)
BATCH = 10_000
"""Triples of LUBM(1) that go and come; of larger ones, as many times more."""
SINGLE = 20
ROW_BYTES = 24
MEBIBYTE = 1 << 20


def main() -> int:
    """Measure, and print a table for each case."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("cases", nargs="*", metavar="CASE", help=f"default: {', '.join(CASES)}")
    arguments.add_argument("--parts", type=int, nargs="+", default=NUMBERS)
    arguments.add_argument("--scale", type=int, default=10, choices=(1, 10))
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    tables = []
    for name in options.cases or CASES:
        case = CASES[name](options.scale)
        cores = [number for number in options.parts if 1 < number <= processors()]
        clock = [by_the_clock(case, number, options.rounds) for number in (0, 1, *cores)]
        header: tuple[str, ...] = (
            "cores",
            "load, s",
            "batch goes, s",
            "comes, s",
            "one update, ms",
        )
        tables.append(harness.print_table(f"{case.name}, by the clock", header, clock))
        rows = [measure(case, parts, options.rounds) for parts in (0, *options.parts)]
        header = (
            *("parts", "load", "of all parts", "batch"),
            *("heads", "changes", "MiB exchanged", "largest part, MiB", "largest share, %"),
        )
        tables.append(harness.print_table(f"{case.name}, CPU seconds", header, rows))
        harness.save(options.json, {**harness.machine(), "tables": tables})
    return 0


class Meter(Crew):
    """Takes steps in turns, and measures their processor time.

    Attributes:
        longest: Seconds of the part that took longest, of all steps together.
        total: Those of all parts together.
    """

    def __init__(self) -> None:
        super().__init__(1)
        self.longest = self.total = 0.0

    def take(self, step: Callable[[int], object], parts: int) -> None:
        """Take a step in each part."""
        seconds = []
        for part in range(parts):
            started = time.process_time()
            step(part)
            seconds.append(time.process_time() - started)
        self.longest += max(seconds)
        self.total += sum(seconds)

    def read(self) -> tuple[float, float]:
        """The critical path and the seconds of all parts since the last reading."""
        found = self.longest, self.total
        self.longest = self.total = 0.0
        return found


class OneThread(ColumnarBackend):
    """A store that has no second thread."""

    large = 1 << 62


def by_the_clock(case: Case, cores: int, rounds: int) -> tuple[Any, ...]:
    """The row of a number of cores; 0 is one store in one thread. The least times of the rounds."""
    found = [_by_the_clock(case, cores) for _ in range(rounds)]
    name = {0: "one store, one thread", 1: "one store"}.get(cores, f"{cores} parts")
    return (name, *map(min, zip(*found, strict=True)))


def _by_the_clock(case: Case, cores: int) -> tuple[float, ...]:
    run = Run(case, in_memory(cores) if cores else columnar(kind=OneThread))

    def seconds(updates: Sequence[Updates], *, report: bool = False) -> float:
        started = time.perf_counter()
        run.session.apply(updates, report=report)
        return time.perf_counter() - started

    epochs = run.encoded(case.rows, 1), run.encoded(case.batch, -1), run.encoded(case.batch, 1)
    whole = [seconds(updates) for updates in epochs]
    single = [
        seconds([each.take(np.array([row])) for each in epoch[:1]], report=True)
        for row in range(min(SINGLE, len(epochs[1][0].args)))
        for epoch in epochs[1:]
    ]
    return (*whole, 1_000 * median(single))


class Run:
    """A case in a store.

    Args:
        case: The case.
        store: An empty store.
    """

    def __init__(self, case: Case, store: Store) -> None:
        self.session = Session(check_text(case.rules), store)
        self.case, self._dictionary = case, store.dictionary

    def encoded(self, rows: Any, signs: Any) -> list[Updates]:
        """Rows of the case as updates, with one sign, or with one for each if one input has all."""
        return [
            Updates(
                name,
                self._dictionary.encode(self.case.terms(cells.reshape(-1))).reshape(cells.shape),
                np.full(len(cells), signs, np.int64),
            )
            for name, cells in self.case.split(rows).items()
        ]


def measure(case: Case, parts: int, rounds: int) -> tuple[Any, ...]:
    """The row of a number of parts; 0 is one store. The least times of the rounds."""
    found = [_measure(case, parts) for _ in range(rounds)]
    least = (min(row[column] for row in found) for column in range(3))
    return (parts or "one store", *least, *found[0][3:])


def _measure(case: Case, parts: int) -> tuple[Any, ...]:
    gc.collect()  # metered parts are in circles, and hold address space
    dictionary, meter = Dictionary(), Meter()
    made: list[PartsHere] = []

    def backend(plan: ProgramPlan) -> PartsBackend:
        divided = parts_backend(plan, dictionary, parts, crew=meter)
        made.append(cast("PartsHere", divided.parts))
        made[0].large = 0
        return divided

    run = Run(case, Store(dictionary, backend) if parts else columnar(dictionary, OneThread))

    def epoch(updates: Sequence[Updates]) -> tuple[float, float]:
        started = time.process_time()
        run.session.apply(updates, report=False)
        whole = time.process_time() - started
        return meter.read() if parts else (whole, whole)

    load, total = epoch(run.encoded(case.rows, 1))
    engine = run.session.engine
    sizes = [part.statistics() for each in made for part in each.parts] or [engine.statistics()]
    fetched = np.array([part.fetched for each in made for part in each.parts] or [(0, 0)])
    heads, changes = (int(count) for count in fetched.sum(axis=0))
    share = max(each.facts for each in sizes) / sum(each.facts for each in sizes)
    gone, back = (epoch(run.encoded(case.batch, sign))[0] for sign in (-1, 1))
    return (
        load,
        total,
        (gone + back) / 2,
        heads,
        changes,
        (heads + changes) * ROW_BYTES / MEBIBYTE,
        max(each.bytes for each in sizes) / MEBIBYTE,
        100 * share,
    )


def _lubm(ruleset: str, scale: int) -> Case:
    case = programs.rho_df(scale, 1, BATCH * scale)
    return replace(case, name=f"{ruleset} on LUBM({scale})", rules=rulesets.text(ruleset))


def _closure(scale: int) -> Case:
    nodes = 100 * scale
    edges = generators.uniform(nodes, 2 * nodes)
    return programs.closure(f"a random graph, {nodes:,} nodes", edges, 1, nodes // 5)


def _sssp(scale: int) -> Case:
    edges = generators.social(24_000 * scale, 800 * scale)
    return programs.sssp(edges, 1, 2_400 * scale)


CASES: dict[str, Callable[[int], Case]] = {
    "rho-df": partial(_lubm, "rho-df"),
    "owl-rl": partial(_lubm, "owl-rl"),
    "closure": _closure,
    "andersen": lambda scale: programs.andersen(100 * scale, 1, 10 * scale),
    "sssp": _sssp,
}
"""Each for a scale, of which 10 is what is published."""


if __name__ == "__main__":
    sys.exit(main())
