"""A state in Spark's executors, compared with one store in this process and with plain Spark.

    python benchmarks/machines.py [CASE...] [--scales 1 10 50] [--parts 3] [--master URL]

Cases are `lubm` under ρDF, `closure` of random graphs, and `sssp`, shortest paths. Each size is
loaded into one store, and into parts in the executors of a cluster: by default of as many workers
as there are parts and one more, on this machine. Both get the same epochs: of one triple, of 10 to
10,000 random updates, and of an edge of the schema; of each, all changes are read. After the load
and at the end both must have the same trace, every fact with the same multiplicity and iteration.
Plain Spark computes everything from the same rows in a separate JVM, and must have the same facts.

CPU seconds are those of all processes together, so parts that share cores wait for each other by
the clock only. An epoch before has loaded the kernels. A round is an exchange: each part sends
every other what it has for it. Bytes are those of the heads and changes that are sent; what the
driver tells the parts is not among them.

Claims: one triple takes at most 50 ms more than in one store. A load of LUBM(50) takes at most 2.5
times the CPU seconds of one store. No epoch takes more of them than plain Spark takes to compute
everything again. The last tables extrapolate from the largest LUBM to ten billion facts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import executors, generators, harness, programs, scale
from benchmarks.executors import Counted, measured, resident
from benchmarks.growth import available
from benchmarks.parts import OneThread, Run
from benchmarks.peers import pyspark_loops
from benchmarks.peers.case import checksum
from streamreasoner.backends.parts.backend import PartsBackend
from streamreasoner.backends.store import columnar
from streamreasoner.engine.session import Store
from streamreasoner.engine.updates import TraceRows
from streamreasoner.io.spark.tasks.held import HELD
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.service.spark.executors import gather

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from benchmarks.peers.case import Case
    from streamreasoner.backends.parts.elsewhere import Team
    from streamreasoner.io.spark.session import RunningSession

    Epoch = tuple[NDArray[np.int32], object]
    """Rows of a case, and their signs or that of all."""

SCALES, NODES, EDGES = (1, 10), (100, 300), (20_000, 40_000)
DEGREE = 4  # of the graphs for the closure: few paths are long
SINGLES = 20
BATCHES = (10, 100, 1_000, 10_000)
BLOCK = 1 << 20  # rows of a trace
WARM = 1_000  # rows of the epoch that loads the kernels
AGAIN = 60.0  # seconds; a longer run of plain Spark needs no second, warm one
CORES = 2
EXECUTOR_MEBIBYTES = 1024
HEAD_WORDS, CHANGE_WORDS, WORD = 4, 3, 4
"""Words of what is sent, besides arguments; and the bytes of a word."""
USUAL = {
    "spark.master": f"local[{CORES}]",
    "spark.driver.memory": "2g",
    # Spark's defaults, except for a number of partitions that suits few cores.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.sql.shuffle.partitions": str(4 * CORES),
}
"""The settings for recomputing everything with plain Spark."""


def main() -> int:
    """Measure each case and size, print the tables, and fail if a result is wrong."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("cases", nargs="*", choices=(*CASES, []), help="default: all")
    arguments.add_argument("--scales", type=int, nargs="*", default=SCALES, help="of LUBM")
    arguments.add_argument("--nodes", type=int, nargs="*", default=NODES, help="of closure")
    arguments.add_argument("--edges", type=int, nargs="*", default=EDGES, help="of sssp")
    arguments.add_argument("--parts", type=int, default=3)
    arguments.add_argument("--master", help="of a cluster that runs; its Python has this package")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    sizes = {"lubm": options.scales, "closure": options.nodes, "sssp": options.edges}
    runs = [
        (case, size)
        for case in options.cases or CASES
        for size in sorted(set(sizes[case]))
        if case != "lubm" or available(size)
    ]
    if not runs:
        return harness.ABSENT
    figures: dict[str, Any] = {**harness.machine(), "parts": options.parts, "runs": []}
    ours = harness.apart(measure_all, runs, options.parts, options.master)
    theirs = harness.apart(measure_plain, runs)
    for run, found, plain in zip(runs, ours, theirs, strict=True):
        equal = found.pop("sum") == plain.pop("sum") and found["equal"]
        figures["runs"].append({"case": run[0], "size": run[1], **found, **plain, "equal": equal})
        print(f"{found['title']}: {'equal' if equal else 'NOT EQUAL'}", flush=True)
    figures["tables"] = scale.tables(figures["runs"])
    missed = [claim for claim, holds in scale.claims(figures["runs"]) if not holds]
    for claim in missed:
        print(f"Does not hold: {claim}", file=sys.stderr)
    harness.save(options.json, figures)
    return int(bool(missed) or not all(run["equal"] for run in figures["runs"]))


# One store, and parts -----------------------------------------------------------------------------


def measure_all(
    runs: Sequence[tuple[str, int]], parts: int, master: str | None
) -> list[dict[str, Any]]:
    """The figures of one store and of parts, on one cluster; run it in a separate process."""
    with executors.spark(settings(parts, master)) as running:
        return [measure(running, case, size, parts) for case, size in runs]


def measure(running: RunningSession, case: str, size: int, parts: int) -> dict[str, Any]:
    """The figures of a case and size."""
    given = CASES[case](size)
    dictionary = Dictionary()
    with ExitStack() as stack:
        team = gather(running, parts, dictionary, stack)
        for store in (columnar(), divided(team, dictionary)):
            Subject(given, store).cost([(given.rows[:WARM], 1)])
        one = Subject(given, columnar(kind=OneThread))
        other = Subject(given, divided(team, dictionary))
        before = resident(other.parts)
        load = both(one, other, "load", [(given.rows, 1)])
        held = [after - each for after, each in zip(resident(other.parts), before, strict=True)]
        equal = same_trace(one, other)
        found = {
            "title": given.name,
            "rows": len(given.rows),
            "facts": one.session.engine.statistics().present,
            "terms": len(one.session.dictionary),
            "dictionary_bytes": one.session.dictionary.nbytes,
            "store_bytes": one.session.engine.statistics().bytes,
            "term_bytes": one.term_bytes,
            "part_bytes": held,
            "sum": one.checksum(),
            "load": load,
        }
        epochs = [both(one, other, kind, each) for kind, each in epochs_of(case, given)]
        equal = equal and same_trace(one, other)
        again = Subject(given, divided(team, dictionary))
        found["restore"] = again.restore(one)
        return {**found, "epochs": epochs, "equal": equal and same_trace(one, again)}


def settings(parts: int, master: str | None) -> dict[str, str]:
    """Of a session on a cluster: the given one, or of processes on this machine."""
    here = f"local-cluster[{parts + 1},1,{EXECUTOR_MEBIBYTES}]"
    return {
        **HELD,
        "spark.master": here if master is None else master,
        "spark.executor.memory": f"{EXECUTOR_MEBIBYTES}m",
        "spark.executorEnv.PYTHONPATH": str(harness.ROOT),
    }


def divided(team: Team, dictionary: Dictionary) -> Store:
    """An empty store whose parts are in the processes of a team."""
    place = partial(Counted, team)
    return Store(dictionary, lambda plan: PartsBackend(plan, dictionary, place))


def epochs_of(case: str, given: Case) -> Iterator[tuple[str, list[Epoch]]]:
    """Epochs after a load, with what they are called; several are measured together."""
    random = np.random.default_rng(0)
    singles = [row[None] for row in given.singles]
    yield "the first, one removed", [(singles[0], -1)]
    yield "one added", [(singles[0], 1)]
    yield "one triple", [(row, sign) for row in singles[1:] for sign in (-1, 1)]
    for count in BATCHES:
        if count <= len(given.rows):
            chosen = random.choice(len(given.rows), count, replace=False)
            yield f"{count:,} random", [(given.rows[chosen], random.choice([1, -1], count))]
    if case == "lubm":
        edge = programs.schema_edge(given, 1).batch
        yield "schema removed", [(edge, -1)]
        yield "schema added", [(edge, 1)]


class Subject(Run):
    """A case in a store, whose epochs are measured."""

    @property
    def _backend(self) -> Any:
        return cast("Any", self.session.engine)._backend  # noqa: SLF001 - to measure it

    @property
    def parts(self) -> Any:
        """The parts in other processes, or None."""
        return self._backend.parts if isinstance(self._backend, PartsBackend) else None

    @property
    def term_bytes(self) -> int:
        """What arrays by id take for each term, in one store."""
        state = self._backend._state  # noqa: SLF001 - as above
        return int(state.bytes(1) - state.bytes(0))

    @property
    def exchanged(self) -> NDArray[np.float64]:
        """Rounds, and bytes that parts have sent each other, since the start."""
        if self.parts is None:
            return np.zeros(2)
        arity = max(self.session.arities.values())
        heads, changes = np.sum(self.parts.ask(attrgetter("fetched")), axis=0)
        words = heads * (HEAD_WORDS + arity) + changes * (CHANGE_WORDS + arity)
        return np.array([self.parts.rounds, WORD * words], np.float64)

    def cost(self, epochs: Sequence[Epoch]) -> dict[str, float]:
        """The mean cost of epochs, of which all changes are read; the median of the seconds."""
        encoded = [self.encoded(rows, signs) for rows, signs in epochs]
        seconds, changed = [], []

        def run() -> None:
            for updates in encoded:
                started = time.perf_counter()
                closure = self.session.apply(updates).closure
                changed.append(sum(len(block.multiplicity) for block in closure))
                seconds.append(time.perf_counter() - started)

        sent = self.exchanged
        cost = measured(run, self.parts) / len(epochs)
        rounds, size = (self.exchanged - sent) / len(epochs)
        figures = asdict(replace(cost, seconds=median(seconds)))
        return {**figures, "changed": median(changed), "rounds": rounds, "bytes": size}

    def restore(self, other: Subject) -> dict[str, float]:
        """What it takes to restore the state of another one, from blocks of its trace."""
        blocks = [*trace_blocks(other, self.session.dictionary)]
        return asdict(measured(lambda: self.session.engine.restore(blocks, 1), self.parts))

    def checksum(self) -> int:
        """Of the facts of the first output, in the numbers of the case."""
        facts = self.session.engine.facts(self.case.outputs[0])
        ids, places = np.unique(facts, return_inverse=True)
        numbers = self.case.numbers(self.session.dictionary.decode(ids))
        return checksum(numbers[places].reshape(facts.shape))


def both(one: Subject, other: Subject, kind: str, epochs: Sequence[Epoch]) -> dict[str, Any]:
    """The costs of epochs in one store and in parts."""
    found = {"kind": kind, "store": one.cost(epochs), "parts": other.cost(epochs)}
    print(f"{one.case.name}: {found}", file=sys.stderr, flush=True)
    return found


def same_trace(one: Subject, other: Subject) -> bool:
    """Whether two states have the same facts, with the same iterations and multiplicities."""
    terms = other.session.dictionary
    ids = one.session.dictionary.encode(terms.terms(0, len(terms)))
    return all(
        np.array_equal(_trace(one, predicate), _trace(other, predicate, ids))
        for predicate in one.session.arities
    )


def _trace(run: Run, predicate: str, ids: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
    """The trace of a predicate in order, a row for each fact and iteration, with these ids."""
    rows = run.session.engine.trace(predicate)
    args = rows.args if ids is None else ids[rows.args]
    columns = np.column_stack((args, rows.iteration, rows.multiplicity)).astype(np.int64)
    return columns[np.lexsort(columns.T)]


def trace_blocks(run: Run, dictionary: Dictionary) -> Iterator[TraceRows]:
    """The trace of a state in blocks, with the ids of a dictionary."""
    terms = run.session.dictionary
    ids = dictionary.encode(terms.terms(0, len(terms)))
    for predicate in run.session.arities:
        rows = run.session.engine.trace(predicate)
        for start in range(0, len(rows.args), BLOCK):
            part = slice(start, start + BLOCK)
            yield TraceRows(
                predicate, ids[rows.args[part]], rows.iteration[part], rows.multiplicity[part]
            )


# Plain Spark --------------------------------------------------------------------------------------


def measure_plain(runs: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    """Plain Spark on the same rows, the second run if short; run it in a separate process."""
    with executors.spark(USUAL) as running:
        return [recomputed(running.spark, case, CASES[case](size)) for case, size in runs]


def recomputed(spark: SparkSession, case: str, given: Case) -> dict[str, Any]:
    """What it takes to compute everything, and a checksum of it."""
    columns = {f"a{i}": column.astype(np.int64) for i, column in enumerate(given.rows.T)}
    frames: list[DataFrame] = []
    with tempfile.TemporaryDirectory(prefix="streamreasoner-") as name:
        path, output = Path(name, "input"), Path(name, "output")
        path.mkdir()
        pq.write_table(
            pa.table(columns), path / "rows.parquet", row_group_size=len(given.rows) // 4 + 1
        )

        def compute() -> None:
            frames[:] = [recompute(case, spark, path, given)]
            frames[0].count()

        cost = measured(compute)
        if cost.seconds < AGAIN:
            cost = measured(compute)
        frames[0].write.parquet(str(output))
        table = pq.read_table(output)
    facts = np.column_stack([column.to_numpy() for column in table.columns])
    print(f"{given.name}, plain Spark: {cost}", file=sys.stderr, flush=True)
    return {"plain": asdict(cost), "sum": checksum(facts)}


def recompute(case: str, spark: SparkSession, path: Path, given: Case) -> DataFrame:
    """Let plain Spark compute everything."""
    if case != "lubm":
        return PLAIN[case](spark, path)
    names = ("type", "sub_class", "sub_property", "domain", "range")
    return pyspark_loops.rho_df(spark, path, dict(zip(names, given.parameters, strict=True)))


# The inputs ---------------------------------------------------------------------------------------


def lubm(scale: int) -> Case:
    """LUBM(scale) and univ-bench under ρDF."""
    return programs.rho_df(scale, SINGLES + 1, 0)


def closure(nodes: int) -> Case:
    """The closure of a random graph."""
    edges = generators.uniform(nodes, DEGREE * nodes)
    return programs.closure(f"a random graph, {nodes:,} nodes", edges, SINGLES + 1, 0)


def sssp(edges: int) -> Case:
    """Shortest paths in a social graph."""
    share = edges / generators.SOCIAL_EDGES
    graph = generators.social(edges, max(2, round(generators.SOCIAL_NODES * share)))
    return programs.sssp(graph, SINGLES + 1, 0)


CASES: dict[str, Callable[[int], Case]] = {"lubm": lubm, "closure": closure, "sssp": sssp}
PLAIN = {"closure": pyspark_loops.closure, "sssp": pyspark_loops.sssp}


if __name__ == "__main__":
    raise SystemExit(main())
