"""A state divided among parts: the critical path, what is exchanged, and the memory of a part.

    python benchmarks/parts.py [CASE...] [--parts 1 2 4 8 16 32 64] [--scale 10] [--json FILE]

All parts run in one thread, in turns. The critical path is what they would take on a core each: of
every step the seconds of the part that takes longest, summed. It leaves out what threads or
machines add: waiting for each other, caches that they share, a network. Each case is loaded, then a
batch of its input goes and comes back. One store is in the first row.

Rows are what parts fetch from others: heads, and changes of facts that they have copies of. A row
is taken as 24 bytes: three arguments, an iteration, a multiplicity. Times are seconds of processor
time, the least of the rounds.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import generators, harness, programs
from streamreasoner import rulesets
from streamreasoner.backends.parts.backend import PartsBackend
from streamreasoner.backends.store import columnar
from streamreasoner.engine.session import Session, Store
from streamreasoner.engine.updates import Updates
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values.value_columns import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.peers.case import Case
    from streamreasoner.plan.program_plan import ProgramPlan

NUMBERS = (1, 2, 4, 8, 16, 32, 64)
BATCH = 10_000
ROW_BYTES = 24
MEBIBYTE = 1 << 20
STEPS = (
    "add", "enter", "reduce", "next_touched", "settle", "fetch_changes", "derive", "fetch_heads",
    "empty_outbox", "commit",
)  # fmt: skip


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
        rows = [measure(case, parts, options.rounds) for parts in (0, *options.parts)]
        header = (
            *("parts", "load", "of all parts", "batch"),
            *("heads", "changes", "MiB exchanged", "largest part, MiB", "largest share, %"),
        )
        tables.append(harness.print_table(f"{case.name}, CPU seconds", header, rows))
    harness.save(options.json, {**harness.machine(), "tables": tables})
    return 0


@dataclass(slots=True)
class Meter:
    """Seconds of processor time of steps that all parts take.

    Attributes:
        longest: By step and how often it was taken, those of the part that took longest.
        total: Those of all parts together.
    """

    longest: defaultdict[tuple[str, int], float] = field(default_factory=lambda: defaultdict(float))
    total: float = 0.0

    def watch(self, part: object) -> None:
        """Meter the steps of a part."""
        taken: Counter[str] = Counter()
        for step in STEPS:
            setattr(part, step, partial(self._timed, taken, step, getattr(part, step)))

    def _timed(
        self,
        taken: Counter[str],
        step: str,
        method: Callable[..., Any],
        *arguments: Any,
        **named: Any,
    ) -> Any:
        started = time.process_time()
        result = method(*arguments, **named)
        seconds = time.process_time() - started
        place = step, taken[step]
        taken[step] += 1
        self.longest[place] = max(self.longest[place], seconds)
        self.total += seconds
        return result

    def read(self) -> tuple[float, float]:
        """The critical path and the seconds of all parts since the last reading."""
        found = sum(self.longest.values()), self.total
        self.longest.clear()
        self.total = 0.0
        return found


def measure(case: Case, parts: int, rounds: int) -> tuple[Any, ...]:
    """The row of a number of parts; 0 is one store. The least times of the rounds."""
    found = [_measure(case, parts) for _ in range(rounds)]
    least = (min(row[column] for row in found) for column in range(3))
    return (parts or "one store", *least, *found[0][3:])


def _measure(case: Case, parts: int) -> tuple[Any, ...]:
    gc.collect()  # metered parts are in circles, and hold address space
    dictionary, meter = Dictionary(), Meter()
    made: list[PartsBackend] = []

    def backend(plan: ProgramPlan) -> PartsBackend:
        made.append(PartsBackend(plan, dictionary, Values(dictionary), parts))
        for part in made[0].parts:
            meter.watch(part)
        return made[0]

    store = Store(dictionary, backend) if parts else columnar(dictionary)
    session = Session(check_text(case.rules), store)

    def encoded(rows: Any, sign: int) -> list[Updates]:
        return [
            Updates(
                name,
                dictionary.encode(case.terms(cells.reshape(-1))).reshape(cells.shape),
                np.full(len(cells), sign, np.int64),
            )
            for name, cells in case.split(rows).items()
        ]

    def epoch(updates: Sequence[Updates]) -> tuple[float, float]:
        started = time.process_time()
        session.apply(updates, report=False)
        whole = time.process_time() - started
        return meter.read() if parts else (whole, whole)

    load, total = epoch(encoded(case.rows, 1))
    engine = session.engine
    sizes = [part.statistics() for each in made for part in each.parts] or [engine.statistics()]
    fetched = np.array([part.fetched for each in made for part in each.parts] or [(0, 0)])
    heads, changes = (int(count) for count in fetched.sum(axis=0))
    share = max(each.facts for each in sizes) / sum(each.facts for each in sizes)
    gone, back = (epoch(encoded(case.batch, sign))[0] for sign in (-1, 1))
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
    case = programs.rho_df(scale, 1, BATCH)
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
