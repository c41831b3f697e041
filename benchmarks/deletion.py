"""Deletion with multiplicities and by delete-and-rederive: work and time of both.

Both engines remove a row and add it back, for several rows. Work is counted in steps: ours is
compiled and the other is Python, so times are comparable only within one engine.

- *deleted and rederived*: facts that delete-and-rederive deletes, and those it restores;
- *checks*: its checks whether a deleted fact has another derivation;
- *matches*: combinations of facts that match a rule's body, each time an engine finds them. Ours
  are counted in a second run, by `peers.matches`; one that moves to another iteration counts twice.
  On cycles, remaining facts may be derived at other iterations than before, so ours can be more.
"""

from __future__ import annotations

import dataclasses
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from benchmarks import generators, harness, programs
from benchmarks.peers import matches, ours
from benchmarks.peers.case import checksum
from benchmarks.peers.clock import Clock
from benchmarks.peers.dred import DeleteRederive
from streamreasoner.program.load import load_program

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from benchmarks.peers.case import Case
    from benchmarks.peers.dred import Work
    from streamreasoner.engine.epoch import EpochResult

Step = TypeVar("Step")

ROWS = 10
HEADER = (
    "graph",
    "facts",
    "changed",
    "deleted",
    "rederived",
    "checks",
    "matches, rederive",
    "matches, counts",
    "rederive / counts",
    "remove / add, rederive",
    "remove / add, counts",
)


@dataclass(frozen=True, slots=True)
class Steps(Generic[Step]):
    """Medians of one engine over the rows of a case.

    Attributes:
        remove: Seconds of processor time to remove a row.
        add: To add it back.
        works: The work of each removal.
    """

    remove: float
    add: float
    works: list[Step]


def cases(quick: bool) -> Iterator[Case]:  # noqa: FBT001
    """Dense and cyclic graphs, where facts have many derivations or support each other."""
    size = 1 if quick else 2
    for name, edges in (
        ("chain", generators.chain(100 * size)),
        ("cycle", generators.cycle(50 * size)),
        ("grid", generators.grid(10 * size, 10 * size)),
        ("clique", generators.clique(25 * size)),
        ("random, degree 2", generators.uniform(150 * size, 300 * size)),
        ("random, degree 8", generators.uniform(100 * size, 800 * size)),
    ):
        yield programs.closure(name, edges, ROWS, 0)
    yield programs.rho_df(1, ROWS, 0)


def tables(
    options: argparse.Namespace,
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], int]]:
    """Print the table; returns it, its rows and the number of wrong results."""
    rows, wrong = [], 0
    for case in cases(options.quick):
        row, same = compare(case)
        if not same:
            print(f"{case.name}: the engines derive other facts.")
        wrong += not same
        rows.append(row)
    title = f"Removing one row, medians of {ROWS}: delete and rederive, and counts per iteration"
    yield (
        harness.print_table(title, HEADER, rows),
        [dict(zip(HEADER, row, strict=True)) for row in rows],
        wrong,
    )


def compare(case: Case) -> tuple[tuple[Any, ...], bool]:
    """A row of the table, and whether both engines derived the same facts before and after."""
    theirs, facts = rederive(case)
    mine, counted = count(case)
    works, results = theirs.works, mine.works
    changed = [sum(len(part.multiplicity) for part in result.closure) for result in results]
    counting, split_facts = count(dataclasses.replace(case, rules=matches.split(case.rules)))
    same = facts == counted == split_facts and [work.changed for work in works] == changed

    def middle(values: list[int]) -> int:
        return round(statistics.median(values))

    met = middle([work.derivations for work in works])
    ours_met = middle([matches.matched(result) for result in counting.works])
    row = (
        case.name,
        sum(number for number, _ in facts),
        middle(changed),
        middle([work.over_deleted for work in works]),
        middle([work.rederived for work in works]),
        middle([work.checks for work in works]),
        met,
        ours_met,
        met / max(ours_met, 1),
        theirs.remove / theirs.add,
        mine.remove / mine.add,
    )
    return row, same


def rederive(case: Case) -> tuple[Steps[Work], list[tuple[int, int]]]:
    """Delete-and-rederive; the number and checksum of its facts are taken before and after."""

    def number(term: str) -> int:
        return int(case.numbers(pa.array([term]))[0])

    engine = DeleteRederive(load_program(case.rules).rules, number)

    def facts() -> list[tuple[int, int]]:
        arrays = [np.array(sorted(engine.facts[name]), np.int64) for name in case.outputs]
        return [(len(array), checksum(array)) for array in arrays]

    def update(row: Any, change: Any) -> tuple[float, Work]:
        (predicate, args), *_ = case.split(row).items()
        rows = [tuple(args.tolist()[0])]
        clock = Clock()
        work = change(predicate, rows)
        return clock.seconds().processor, work

    for predicate, args in case.split(case.rows).items():
        engine.add(predicate, [tuple(row) for row in args.tolist()])
    before = facts()
    removes, adds, works = [], [], []
    for row in case.singles:
        seconds, work = update(row[None], engine.remove)
        removes.append(seconds)
        works.append(work)
        adds.append(update(row[None], engine.add)[0])
    if facts() != before:
        raise RuntimeError(f"{case.name}: the state after the updates is not that before them.")
    return Steps(statistics.median(removes), statistics.median(adds), works), before


def count(case: Case) -> tuple[Steps[EpochResult], list[tuple[int, int]]]:
    """The same with our engine."""
    ours.warm_up(case)
    driver = ours.Driver(case)

    def facts() -> list[tuple[int, int]]:
        arrays = [driver.facts(name) for name in case.outputs]
        return [(len(array), checksum(array)) for array in arrays]

    driver.apply(driver.encode(case.rows, 1))
    before = facts()
    removes, adds, results = [], [], []
    for row in case.singles:
        seconds, result = driver.apply(driver.encode(row[None], -1))
        removes.append(seconds.processor)
        results.append(result)
        adds.append(driver.apply(driver.encode(row[None], 1))[0].processor)
    if facts() != before:
        raise RuntimeError(f"{case.name}: the state after the updates is not that before them.")
    return Steps(statistics.median(removes), statistics.median(adds), results), before
