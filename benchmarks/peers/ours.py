"""Our engine, measured like the peers. Invariant: rows and updates are the same and in the same
order; the state at the end is the state after the load.

Times are of `Engine.apply`, which returns every change of facts and of the trace, with all
multiplicities; the dataflow peer only counts its changes.
"""  # noqa: D205

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.peers import memory
from benchmarks.peers.case import Result, checksum
from benchmarks.peers.clock import Clock, median
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.engine.updates import Updates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.peers.case import Case
    from benchmarks.peers.clock import Seconds
    from streamreasoner.engine.epoch import EpochResult

WARM_UP = 10_000
"""Rows, enough for the kernels of a large load."""


class Driver:
    """A reasoner for the rows of a case.

    Args:
        case: The reasoner loads its program and assigns ids to its numbers.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._session = Reasoner.from_rules(case.rules).session
        self._epoch = 0
        columns = case.rows[:, 1:] if len(case.inputs) > 1 else case.rows
        used = np.unique(columns)
        # Maps numbers to ids, because timing starts with ids.
        self._ids = np.zeros(int(used[-1]) + 1, np.int32)
        self._ids[used] = self._session.dictionary.encode(case.terms(used))

    def encode(self, rows: NDArray[np.int32], multiplicity: int) -> list[Updates]:
        """Rows as updates."""
        return [
            Updates(
                name,
                np.ascontiguousarray(self._ids[args]),
                np.full(len(args), multiplicity, np.int64),
            )
            for name, args in self._case.split(rows).items()
        ]

    def apply(self, updates: list[Updates]) -> tuple[Seconds, EpochResult]:
        """Run one epoch; returns what it took, and changes."""
        clock = Clock()
        result = self._session.engine.apply(self._epoch, updates)
        seconds = clock.seconds()
        self._epoch += 1
        return seconds, result

    def facts(self, predicate: str) -> NDArray[np.int64]:
        """The facts of a predicate, as numbers."""
        ids = self._session.engine.facts(predicate)
        distinct, places = np.unique(ids, return_inverse=True)
        terms = self._session.dictionary.decode(distinct)
        return self._case.numbers(terms)[places].reshape(ids.shape)

    def trace(self, predicate: str) -> int:
        """A checksum of the trace of a predicate, which does not depend on the order of rows."""
        rows = self._session.engine.trace(predicate)
        numbers = self._case.numbers(self._session.dictionary.decode(rows.args.reshape(-1)))
        columns = (numbers.reshape(rows.args.shape), rows.iteration, rows.multiplicity)
        return checksum(np.column_stack(columns))


def run(case: Case) -> Result:
    """Load the case's rows, run its updates, and return times and derived facts."""
    warm_up(case)
    driver = Driver(case)
    rows = driver.encode(case.rows, 1)
    # The states of earlier tasks are garbage, which a timed epoch would free.
    gc.collect()
    memory.hand_out()
    load, _ = driver.apply(rows)
    facts = {name: driver.facts(name) for name in case.outputs}
    counts = {name: len(found) for name, found in facts.items()}
    checksums = {name: checksum(found) for name, found in facts.items()}
    removes, adds = [], []
    for row in case.singles:
        removes.append(driver.apply(driver.encode(row[None], -1))[0])
        adds.append(driver.apply(driver.encode(row[None], 1))[0])
    batches = [driver.apply(driver.encode(case.batch, sign))[0] for sign in (-1, 1)]
    if checksums != {name: checksum(driver.facts(name)) for name in case.outputs}:
        raise RuntimeError(f"The state after the updates of {case.name} is not that before them.")
    return Result(
        "streamreasoner",
        load,
        counts,
        checksums,
        median(removes),
        median(adds),
        *(batches if len(case.batch) else ()),
    )


def warm_up(case: Case) -> None:
    """Compile what the case needs, or load it from the cache."""
    driver = Driver(case)
    for multiplicity in (1, -1, 1):
        driver.apply(driver.encode(case.rows[:WARM_UP], multiplicity))
    for name in case.outputs:
        driver.facts(name)
