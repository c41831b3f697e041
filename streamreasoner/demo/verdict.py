"""Compare the running state with an evaluation from scratch.

Invariant: the two evaluations share only the program and the input.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.demo.ontology import sentence
from streamreasoner.engine.updates import Updates
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.query.facts import Fact, decode_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streamreasoner.demo.university import Change


@dataclass(frozen=True, slots=True)
class CollectionComparison:
    """A comparison of one collection, maintained incrementally and evaluated from scratch.

    Attributes:
        what: What is compared.
        incremental: Number of rows, maintained incrementally.
        scratch: Number of rows, evaluated from scratch.
        differences: The first few rows that differ, one sentence each.
    """

    what: str
    incremental: int
    scratch: int
    differences: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether no row differs."""
        return not self.differences


@dataclass(frozen=True, slots=True)
class StateComparison:
    """Both comparisons.

    Attributes:
        asserted: Number of facts whose updates do not cancel.
        seconds: How long the evaluation from scratch took.
        comparisons: The output topic and the trace.
    """

    asserted: int
    seconds: float
    comparisons: tuple[CollectionComparison, ...]

    @property
    def equal(self) -> bool:
        """Whether the running state equals an evaluation from scratch."""
        return all(comparison.equal for comparison in self.comparisons)


def compare(
    received: Iterable[Change], published: Iterable[Change], running: Reasoner
) -> StateComparison:
    """Evaluate the sum of the input from scratch and compare.

    Args:
        received: Every message of the input.
        published: Every committed message of the output.
        running: The reasoner of a pipeline that has stopped.
    """
    asserted, derived = _sum(received), _sum(published)
    start = time.perf_counter()
    fresh = Reasoner(running.program)
    terms = chain.from_iterable(fact.arguments for fact in asserted)
    ids = fresh.dictionary.encode(pa.array(terms, pa.large_string()))
    diffs = np.fromiter(asserted.values(), np.int64, len(asserted))
    fresh.take([Updates(TRIPLE, ids.reshape(-1, 3), diffs)])
    seconds = time.perf_counter() - start
    closure = decode_facts(TRIPLE, fresh.engine.facts(TRIPLE), fresh.dictionary)
    expected = {fact: 1 for fact in closure if asserted.get(fact, 0) <= 0}
    output = _compare("output topic, summed up", derived, expected)
    trace = _compare("trace with multiplicities", _trace(running), _trace(fresh))
    return StateComparison(len(asserted), seconds, (output, trace))


def _sum(changes: Iterable[Change]) -> dict[Fact, int]:
    sums: Counter[Fact] = Counter()
    for change in changes:
        sums[Fact(TRIPLE, change.fact)] += change.diff
    return {fact: multiplicity for fact, multiplicity in sums.items() if multiplicity}


def _trace(reasoner: Reasoner) -> dict[tuple[Fact, int], int]:
    rows = reasoner.engine.trace(TRIPLE)
    facts = decode_facts(TRIPLE, rows.args, reasoner.dictionary)
    keys = zip(facts, rows.iteration.tolist(), strict=True)
    return dict(zip(keys, rows.multiplicity.tolist(), strict=True))


def _compare(
    what: str, running: Mapping[Any, int], scratch: Mapping[Any, int]
) -> CollectionComparison:
    keys = (key for key in chain(running, scratch) if running.get(key, 0) != scratch.get(key, 0))
    differences = (
        f"{_row(key)}: {running.get(key, 0)} kept up to date, {scratch.get(key, 0)} from scratch"
        for key in dict.fromkeys(keys)
    )
    return CollectionComparison(what, len(running), len(scratch), tuple(islice(differences, 5)))


def _row(key: Any) -> str:
    match key:
        case (Fact(_, terms), iteration):
            return f"{sentence(terms)}, iteration {iteration}"
        case _:
            return sentence(key.arguments)
