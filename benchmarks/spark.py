"""The Spark backend, compared with the columnar one and with recomputing in plain Spark.

    python benchmarks/spark.py [CASE...] [--scales 1 10] [--json FILE]

Cases are `lubm` under ρDF, `closure` of random graphs and `sssp`, shortest paths. Each size runs in
a separate process, on two cores and a JVM of 2 GiB: a bulk load, then epochs of one triple, of 10
to 10,000 random updates, and of a schema triple, which are twenty for LUBM. The first epoch has a
row of its own: it may have to store what the load has left. Plain Spark then computes everything
from the same rows in a separate JVM, and must have the same facts. The columnar backend runs the
same epochs, and must have the same trace after the load and at the end, or the script fails.

CPU seconds are of Python and Java together, for plain Spark too. Jobs, tasks and bytes are Spark's
own numbers: bytes read are those of all files that tasks read, including Delta's log.

Claims, in CPU seconds: no epoch takes more than 1.5 times plain Spark's recomputation, one of one
row a tenth of it, the load of LUBM(10) at most three times. LUBM(50) is materialised; after that an
epoch of one triple reads under 2 % of the bytes of the state, and is 20 times as fast as
recomputing. Smaller sizes give the slope, from which the last table extrapolates to one and ten
billion facts. `--scales 1 10 50` takes half an hour.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import extrapolation, generators, harness, programs
from benchmarks.driver import Kernel, Numbers
from benchmarks.extrapolation import Limit
from benchmarks.growth import available, distinct
from benchmarks.peers import pyspark_loops
from benchmarks.peers.case import checksum
from benchmarks.spark_driver import CORES, OURS, USUAL, SparkKernel, started
from benchmarks.spark_meter import Meter
from streamreasoner.engine.updates import Updates
from streamreasoner.io.formats.ntriples import read
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

SCALES = (1, 10)
NODES = (100, 300)
EDGES = (20_000, 40_000)
DEGREE = 4  # of the graphs for the closure: few paths are long
SINGLES = 6
BATCHES = (10, 100, 1_000, 10_000)
ONE = ("one removed", "one added")
AGAIN = 60.0  # seconds; a longer run needs no second, warm one
MIB = 2**20
PERCENT = 100.0
MOST_READ, LEAST_GAIN = 2.0, 20.0
CLAIMED_ON = 50
MOST_OF_EPOCH, MOST_OF_ONE, MOST_OF_LOAD = 1.5, 0.1, 3.0  # of plain Spark's CPU seconds
LOADED = 10
DAY = 86_400.0
CLUSTER = 100  # processors
DISK = 10 * 2**40
IDS = 2**31
UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
TIMES = ("seconds", "processor")
COUNTED = ("changed", *TIMES, "jobs", "tasks")
CASE_TITLES = {"lubm": "LUBM", "closure": "closure", "sssp": "shortest paths"}


@dataclass(frozen=True, slots=True)
class Input:
    """Rows for a program.

    Attributes:
        title: Their name.
        rules: The program.
        predicate: The input predicate.
        output: The predicate that plain Spark computes as well.
        dictionary: Terms of the ids.
        rows: The input as ids, distinct.
        plain: The input for plain Spark.
        schema: Rows of the input that are the schema.
        recompute: Computes everything from Parquet files.
        shown: Converts ids to facts in plain Spark's form.
    """

    title: str
    rules: str
    predicate: str
    output: str
    dictionary: Dictionary
    rows: NDArray[np.int32]
    plain: NDArray[np.integer]
    schema: NDArray[np.int32]
    recompute: Callable[[SparkSession, Path], DataFrame]
    shown: Callable[[NDArray[np.int32]], NDArray[np.integer]]


def main() -> int:
    """Measure each case and size, print the tables, and fail if a result is not equal."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("cases", nargs="*", choices=(*CASES, []), help="default: all")
    arguments.add_argument("--scales", type=int, nargs="*", default=SCALES, help="of LUBM")
    arguments.add_argument("--nodes", type=int, nargs="*", default=NODES, help="of closure")
    arguments.add_argument("--edges", type=int, nargs="*", default=EDGES, help="of sssp")
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
    figures: dict[str, Any] = {**harness.machine(), "runs": []}
    for case, size in runs:
        result = {"case": case, "size": size, **measure(case, size)}
        print(f"{result['title']}: {'equal' if result['equal'] else 'NOT EQUAL'}", flush=True)
        figures["runs"].append(result)
        harness.save(options.json, figures)
    figures["tables"] = tables(figures["runs"])
    missed = [claim for claim, holds in claims(figures["runs"]) if not holds]
    for claim in missed:
        print(f"Does not hold: {claim}", file=sys.stderr)
    harness.save(options.json, figures)
    return int(bool(missed) or not all(result["equal"] for result in figures["runs"]))


def measure(case: str, size: int) -> dict[str, Any]:
    """The figures of a case: ours in one process, plain Spark in another."""
    with tempfile.TemporaryDirectory(prefix="streamreasoner-spark-") as folder:
        ours = harness.apart(measure_ours, case, size, Path(folder, "ours"))
        plain = harness.apart(measure_plain, case, size, Path(folder, "plain"))
    same = ours.pop("equal") and plain.pop("facts") == ours["facts"]
    return {**ours, **plain, "equal": same and plain.pop("sum") == ours.pop("sum")}


def measure_ours(case: str, size: int, directory: Path) -> dict[str, Any]:
    """Load and epochs on both of our backends; run it in a separate process."""
    workload = CASES[case](size)
    directory.mkdir()
    warm_up(workload)
    with started(directory, OURS) as spark:
        kernel = SparkKernel(spark, directory / "spark", workload.rules, workload.dictionary)
        load = epoch(kernel, workload, workload.rows, 1)
        facts = kernel.facts(workload.output)
        loaded = {
            "title": workload.title,
            "rows": len(workload.rows),
            "facts": len(facts),
            "sum": checksum(workload.shown(facts)),
            "held": kernel.columnar.statistics().facts,
            "terms": len(workload.dictionary),
            "load": load,
            **kernel.size(),
        }
        equal = kernel.equal([workload.output])
        epochs = list(measure_epochs(kernel, workload))
        equal = equal and kernel.equal([workload.output])
        loaded["state_files_after"] = kernel.size()["state_files"]
        loaded["columnar"] = columnar_load(workload)
    return {**loaded, "epochs": epochs, "equal": equal}


def measure_epochs(kernel: SparkKernel, workload: Input) -> Iterable[dict[str, Any]]:
    """Single rows, the first round as warm-up, then batches, then a row of the schema."""
    random = np.random.default_rng(0)
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in ONE}
    for place in random.choice(len(workload.rows), SINGLES + 1, replace=False):
        for name, sign in zip(ONE, (-1, 1), strict=True):
            rounds[name].append(epoch(kernel, workload, workload.rows[place][None], sign))
    yield {"kind": "the first, one removed", **rounds[ONE[0]][0]}
    for name, costs in rounds.items():
        middle = {key: statistics.median(epoch[key] for epoch in costs[1:]) for key in costs[0]}
        yield {"kind": name, **middle}
    for count in BATCHES:
        if count > len(workload.rows):
            break
        chosen = random.choice(len(workload.rows), count, replace=False)
        signs = random.choice([1, -1], count)
        yield {"kind": f"{count:,} random", **epoch(kernel, workload, workload.rows[chosen], signs)}
    for name, sign in zip(("schema removed", "schema added"), (-1, 1), strict=True):
        if len(workload.schema):
            yield {"kind": name, **epoch(kernel, workload, workload.schema[:1], sign)}


def epoch(
    kernel: SparkKernel, workload: Input, rows: NDArray[np.int32], signs: object
) -> dict[str, Any]:
    """The cost of an epoch, and the number of facts changed; prints a line, as it takes long."""
    cost = asdict(kernel.epoch([updates(workload, rows, signs)]))
    print(f"{workload.title}, {len(rows):,} updates: {cost}", file=sys.stderr, flush=True)
    return {**cost, "changed": kernel.changed}


def measure_plain(case: str, size: int, directory: Path) -> dict[str, Any]:
    """Plain Spark on the same rows, the second run if short; run it in a separate process."""
    workload = CASES[case](size)
    directory.mkdir()
    path = directory / "input"
    path.mkdir()
    columns = {f"a{i}": column.astype(np.int64) for i, column in enumerate(workload.plain.T)}
    pq.write_table(
        pa.table(columns), path / "rows.parquet", row_group_size=len(workload.plain) // 4 + 1
    )
    with started(directory, USUAL) as spark:
        meter = Meter(spark, path)
        frames: list[DataFrame] = []
        cost = meter.cost(lambda: count(frames, workload.recompute(spark, path)))
        if cost.seconds < AGAIN:
            frames.clear()
            cost = meter.cost(lambda: count(frames, workload.recompute(spark, path)))
        frames[0].write.parquet(str(directory / "output"))
        table = pq.read_table(directory / "output")
    facts = np.column_stack([column.to_numpy() for column in table.columns])
    return {"plain": asdict(cost), "facts": len(facts), "sum": checksum(facts)}


def count(frames: list[DataFrame], frame: DataFrame) -> None:
    """Compute all rows of a frame and cache them."""
    frame.count()
    frames.append(frame)


def columnar_load(workload: Input) -> float:
    """Seconds of processor time of a warm load by the columnar backend."""
    return Kernel(workload.rules, workload.dictionary).load([updates(workload, workload.rows, 1)])


def warm_up(workload: Input) -> None:
    """Compile the kernels of the columnar backend."""
    kernel = Kernel(workload.rules, workload.dictionary)
    for sign in (1, -1):
        kernel.load([updates(workload, workload.rows[:1_000], sign)])


def updates(workload: Input, rows: NDArray[np.int32], signs: object) -> Updates:
    """Updates of the input, with one sign for all rows or one per row."""
    signs = np.broadcast_to(np.asarray(signs, np.int64), len(rows))
    return Updates(workload.predicate, np.ascontiguousarray(rows, np.int32), signs.copy())


# The inputs --------------------------------------------------------------------------------------


def lubm(scale: int) -> Input:
    """LUBM(scale) and univ-bench under ρDF."""
    dictionary = Dictionary()
    files = harness.lubm(scale)
    rows = distinct(np.concatenate([block for file in files for block in read(file, dictionary)]))
    names = ("type", "sub_class", "sub_property", "domain", "range")
    ids = dict(zip(names, map(dictionary.intern, programs.VOCABULARY), strict=True))
    edge = (f"<{UB}GraduateCourse>", programs.VOCABULARY[1], f"<{UB}Course>")

    def recompute(spark: SparkSession, path: Path) -> DataFrame:
        return pyspark_loops.rho_df(spark, path, ids)

    return Input(
        title=f"LUBM({scale})",
        rules="rho-df",
        predicate="triple",
        output="triple",
        dictionary=dictionary,
        rows=rows,
        plain=rows,
        schema=np.array([list(map(dictionary.intern, edge))], np.int32),
        recompute=recompute,
        shown=lambda ids: ids,
    )


def closure(nodes: int) -> Input:
    """The closure of a random graph."""
    graph = generators.uniform(nodes, DEGREE * nodes)
    title = f"closure of {len(graph):,} edges"
    return _of_graph(title, graph, programs.CLOSURE, "path", pyspark_loops.closure)


def sssp(edges: int) -> Input:
    """Shortest paths in a social graph."""
    share = edges / generators.SOCIAL_EDGES
    graph = generators.social(edges, max(2, round(generators.SOCIAL_NODES * share)))
    title = f"shortest paths, {edges:,} edges"
    return _of_graph(title, graph, programs.SSSP, "dist", pyspark_loops.sssp)


def _of_graph(
    title: str,
    graph: NDArray[np.int32],
    rules: str,
    output: str,
    recompute: Callable[[SparkSession, Path], DataFrame],
) -> Input:
    dictionary = Dictionary()
    numbers = Numbers(dictionary, 1 + int(graph.max()))
    rows = numbers.encode(graph)
    return Input(
        title=title,
        rules=rules,
        predicate="edge",
        output=output,
        dictionary=dictionary,
        rows=rows,
        plain=graph,
        schema=rows[:0],
        recompute=recompute,
        shown=numbers.decode,
    )


CASES: dict[str, Callable[[int], Input]] = {"lubm": lubm, "closure": closure, "sssp": sssp}

# The tables --------------------------------------------------------------------------------------


def tables(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tables of the figures, printed."""
    printed = [loads(runs), epochs_table(runs)]
    for case in CASES:
        own = [run for run in runs if run["case"] == case]
        if len(own) > 1:
            printed += extrapolated(own)
    if outcome := claims(runs):
        printed.append(harness.print_table("Claims", ("claim", "holds"), outcome))
    return printed


def loads(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Bulk loads and the resulting states."""
    return harness.print_table(
        f"Bulk load on {CORES} processors, and the state after it",
        (
            "input",
            "rows",
            "facts",
            "Spark s",
            "CPU s",
            "plain Spark s",
            "plain CPU s",
            "CPU / plain",
            "columnar s",
            "rows of the state",
            "MiB",
            "bytes/fact held",
            "files",
            "equal",
        ),
        [
            (
                *(run[key] for key in ("title", "rows", "facts")),
                *(run["load"][key] for key in TIMES),
                *(run["plain"][key] for key in TIMES),
                run["load"]["processor"] / run["plain"]["processor"],
                *(run[key] for key in ("columnar", "state_rows")),
                run["state_bytes"] / MIB,
                run["state_bytes"] / run["held"],
                *(run[key] for key in ("state_files", "equal")),
            )
            for run in runs
        ],
        "Seconds are of a clock, CPU seconds of Python and Java, with changes read out; columnar"
        " is processor time, without.",
    )


def epochs_table(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The cost of epochs, in Spark's own numbers."""
    return harness.print_table(
        "Epochs after it",
        (
            "input",
            "epoch",
            "facts changed",
            "seconds",
            "CPU s",
            "jobs",
            "tasks",
            "KiB read",
            "% of the state",
            "files of the state read",
            "KiB shuffled",
            "KiB written",
            "plain CPU / CPU",
        ),
        [
            (
                run["title"],
                row["kind"],
                *(row[key] if key in TIMES else round(row[key]) for key in COUNTED),
                row["read"] / 1024,
                PERCENT * row["read"] / run["state_bytes"],
                round(row["files"]),
                *(row[key] / 1024 for key in ("shuffled", "written")),
                run["plain"]["processor"] / row["processor"],
            )
            for run in runs
            for row in run["epochs"]
        ],
        f"One row: medians of {SINGLES}. Bytes read are those of all files, Delta's log included.",
    )


def rate(run: dict[str, Any]) -> float:
    """Facts per core and second of a load."""
    return float(run["facts"] / run["load"]["seconds"] / CORES)


def single(run: dict[str, Any]) -> dict[str, float]:
    """An epoch of one row: the mean of a removal and an addition."""
    parts = [epoch for epoch in run["epochs"] if epoch["kind"] in ONE]
    return {
        key: statistics.mean(epoch[key] for epoch in parts) for key in ("seconds", "read", "files")
    }


def extrapolated(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same at sizes that were not measured, and which limit is reached first."""
    last = runs[-1]
    facts = [run["facts"] for run in runs]
    fact_bytes = last["state_bytes"] / last["facts"]
    lines: dict[str, tuple[extrapolation.Line, float]] = {
        "load, hours": (extrapolation.Line(0, 1 / rate(last) / CORES), 3600),
        f"load, hours on {CLUSTER} processors": (
            extrapolation.Line(0, 1 / rate(last) / CLUSTER),
            3600,
        ),
        "state, GiB": (extrapolation.Line(0, fact_bytes), 2**30),
    }
    for title, key, unit in (
        ("one row: seconds", "seconds", 1),
        ("one row: KiB read", "read", 1024),
        ("one row: files of the state read", "files", 1),
    ):
        costs = [single(run)[key] for run in runs]
        lines[title] = (extrapolation.fit(list(zip(facts, costs, strict=True))), unit)
    title = CASE_TITLES[last["case"]]
    slopes = harness.print_table(
        f"From the measured slopes: {title}",
        (
            "figure",
            *(f"at {count:,} facts" for count in facts),
            "slope, for a million facts",
            *(f"at {target // extrapolation.BILLION} billion" for target in extrapolation.TARGETS),
        ),
        [
            (
                name,
                *(line.at(count) / unit for count in facts),
                line.slope * 1e6 / unit,
                *(line.at(target) / unit for target in extrapolation.TARGETS),
            )
            for name, (line, unit) in lines.items()
        ],
        "Lines fitted to the sizes that were measured; one that would fall is taken to be level.",
    )
    limits = [
        Limit("terms are numbered with 32 bits", last["terms"] / last["facts"], IDS),
        Limit(f"a load within a day on {CLUSTER} processors", 1 / rate(last) / CLUSTER, DAY),
        Limit("a state of 10 TiB", fact_bytes, DISK),
    ]
    order = harness.print_table(
        f"What breaks first: {title}",
        ("limit", "million facts"),
        [(limit.name, limit.facts / 1e6) for limit in extrapolation.first_to_break(limits)],
    )
    return [slopes, order]


def claims(runs: Sequence[dict[str, Any]]) -> list[tuple[str, bool]]:
    """What is claimed of each run, and of the largest LUBM if it ran, and whether it holds."""
    outcomes = []
    for run in runs:
        plain = run["plain"]["processor"]
        shares = {epoch["kind"]: epoch["processor"] / plain for epoch in run["epochs"]}
        claimed = [
            ("an epoch", max(shares.values()), MOST_OF_EPOCH),
            ("one row", max(shares[kind] for kind in ONE), MOST_OF_ONE),
        ]
        if (run["case"], run["size"]) == ("lubm", LOADED):
            claimed.append(("the load", run["load"]["processor"] / plain, MOST_OF_LOAD))
        for what, share, most in claimed:
            claim = f"{run['title']}: {what} takes at most {share:.2g} of plain Spark's CPU seconds"
            outcomes.append((f"{claim}, ≤ {most:g}", share <= most))
        if run["case"] == "lubm" and run["size"] >= CLAIMED_ON:
            one, title = single(run), run["title"]
            read = PERCENT * one["read"] / run["state_bytes"]
            gain = run["plain"]["seconds"] / one["seconds"]
            outcomes += [
                (f"{title}: one row reads {read:.3g} % of the state, < 2 %", read < MOST_READ),
                (f"{title}: one row is {gain:.3g} times as fast, > 20", gain > LEAST_GAIN),
            ]
    return outcomes


if __name__ == "__main__":
    raise SystemExit(main())
