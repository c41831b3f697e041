"""Compare the running state with an evaluation from scratch.

Invariant: the two evaluations share only the program and the input, which others may add to.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from streamreasoner.backends.store import columnar
from streamreasoner.demo.ontology import sentence
from streamreasoner.engine.session import Session
from streamreasoner.facts import Fact, decode_facts
from streamreasoner.io.codec.decode import NO_LIMITS, Codec
from streamreasoner.io.codec.to_lines import messages_table
from streamreasoner.io.spark.offsets import parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from streamreasoner.demo.university import Change
    from streamreasoner.io.codec.encode import Received
    from streamreasoner.state.record import Offsets


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
        asserted: Number of facts that are asserted.
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


def taken(
    received: Iterable[Received], rejected: Iterable[Received], position: Offsets
) -> list[Received]:
    """The messages of the input that are in a state.

    Args:
        received: Messages of the input topics.
        rejected: Those of the dead-letter topic.
        position: The input range of the last epoch.
    """
    refused = {_place(dict(message.headers)) for message in rejected}
    ends = {(topic, int(partition)): end for topic, partition, _, end in parts(position)}
    return [
        message
        for message in received
        if message.offset < ends.get((message.topic, message.partition), 0)
        and message.place not in refused
    ]


def _place(headers: Mapping[str, bytes | None]) -> str:
    return "/".join((headers[name] or b"").decode() for name in ("topic", "partition", "offset"))


def compare(
    taken: Sequence[Received], published: Iterable[Change], running: Session
) -> StateComparison:
    """Evaluate the sum of the input from scratch and compare.

    Args:
        taken: The messages of the input that the pipeline has taken.
        published: Every committed message of the output.
        running: The session of a pipeline that has stopped.
    """
    start = time.perf_counter()
    program = running.program
    fresh = Session(program, columnar())
    decoded = Codec(fresh.dictionary, None, NO_LIMITS).decode(messages_table(taken))
    # Facts of predicates that the program does not have any more wait for one that has them.
    updates = [each for each in decoded.updates if each.predicate in program.arities]
    fresh.apply(updates, frontier=running.engine.frontier)
    seconds = time.perf_counter() - start
    derived = {
        fact: sum_
        for fact, sum_ in _sum(published).items()
        if sum_ and fact.predicate in program.published
    }
    output = _compare("output topic, summed up", derived, dict.fromkeys(_derived(fresh), 1))
    trace = _compare("trace with multiplicities", _trace(running), _trace(fresh))
    return StateComparison(fresh.engine.statistics().asserted, seconds, (output, trace))


def _sum(changes: Iterable[Change]) -> Counter[Fact]:
    sums: Counter[Fact] = Counter()
    for change in changes:
        sums[Fact(change.predicate, change.fact)] += change.diff
    return sums


def _derived(session: Session) -> Iterator[Fact]:
    """The facts that hold though they are not asserted, of predicates that are published."""
    for predicate in session.program.published:
        rows = session.engine.facts(predicate)
        only_derived = rows[session.engine.asserted(predicate, rows) <= 0]
        yield from decode_facts(predicate, only_derived, session.dictionary)


def _trace(session: Session) -> dict[tuple[Fact, int], int]:
    trace: dict[tuple[Fact, int], int] = {}
    for predicate in session.program.arities:
        rows = session.engine.trace(predicate)
        facts = decode_facts(predicate, rows.args, session.dictionary)
        keys = zip(facts, rows.iteration.tolist(), strict=True)
        trace.update(zip(keys, rows.multiplicity.tolist(), strict=True))
    return trace


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
        case (Fact(predicate, terms), iteration):
            return f"{sentence(terms, predicate)}, iteration {iteration}"
        case _:
            return sentence(key.arguments, key.predicate)
