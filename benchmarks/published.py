"""Tasks that other projects publish figures of: the same tasks, with peers in the same run.

    python benchmarks/published.py [TASK...] [--scale 10] [--uobm PATH...] [--facts DIR]
        [--galen DIR] [--graphs 1000 2000] [--rounds 1] [--cores 1] [--quick] [--json FILE]

- shares: the protocol of Backward/Forward (Motik, Nenov, Piro and Horrocks, AAAI 2015): random
  facts of LUBM, and of UOBM if its files are given, from a hundred to half of all, are removed, and
  compared with loading the rest;
- borrows: the borrow checker of Rust by the rules of Polonius, on the facts of DIR, a folder that
  `rustc -Znll-facts` wrote for a function;
- ontology: the classification of GALEN by the rules of Nemo's evaluation (KR 2024), from DIR, the
  folder `examples/owl-el/from-preprocessed-csv/data` of the repository `knowsys/nemo-examples`;
- points: what variables of a made-up program like Java's point to, and what its calls reach: the
  core of Doop, of which `dynamic-datalog` has a larger part and a real program;
- closures: the transitive closures of the graphs of Logica's benchmark, by numbers of nodes.

Without a folder, the facts of *borrows* and *ontology* are made up, with the same predicates.
Engines with the same task must derive the same facts, or the script fails. Times are seconds of
processor time, as in `compare.py`; a table of the figures that others publish is the last but one.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import borrows, calls, compare, harness, ontologies, programs, verdict
from benchmarks.peers import (
    AbsentError,
    dataflow,
    duckdb_sql,
    flowlog,
    ours,
    polonius,
    scipy_graphs,
)
from benchmarks.peers.case import checksum, middle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.peers.case import Case, Result

    Engine = Callable[[Case], Result]
    Found = tuple[dict[str, Any], dict[str, list[dict[str, Any]]], int]

FEW = 10
"""Single rows, where one changes thousands of facts."""
BATCH = 100
FIXED = (100, 5_000)
"""Facts that are removed, whatever the size of the input."""
SHARES = (1, 10, 25, 50)
"""Per cent of the input that are removed."""
ONTOLOGY = 1_200
"""Classes of a made-up ontology."""
POINTS = 4_000
CLASSES = 60
DENSE = 1_000
"""Nodes of the largest graph whose closure is kept up to date too."""
CLASSIFIED = 1_881_946
"""The facts that all engines of Nemo's evaluation derived from GALEN."""

SHARES_HEADER = (
    "removed",
    "engine",
    "load of the rest, s",
    "remove, s",
    "remove / load",
    "add back, s",
    "add back / load of all",
)


@dataclass(frozen=True, slots=True)
class Figure:
    """What somebody else published.

    Attributes:
        task: How the name of the task begins here.
        engine: Its name and how it was run.
        seconds: Of the clock, or of the processor.
        clock: Which.
        machine: Where, as far as it is told.
        source: Who says so.
        same: Whether the input is the same as here.
    """

    task: str
    engine: str
    seconds: float
    clock: str
    machine: str
    source: str
    same: bool


CLOUD = "c2d-standard-32, 32 threads"
TGDK = "Logica-TGD, TGDK 2026, artifacts"
NEMO = "Nemo, KR 2024, nemo-examples"
DYNAMIC = "dynamic-datalog"
LOGICA = {
    # Nodes: Nemo and Logica on DuckDB by the processor, compiled Soufflé 2.4 by the clock.
    1_000: (3.35, 9.06, 0.58),
    2_000: (14.87, 37.81, 1.73),
    3_000: (36.40, 66.86, 3.61),
    4_000: (70.52, 105.75, 6.98),
    5_000: (116.34, 162.22, 10.96),
}
CLOSED = {
    1_000: 1_000_000,
    2_000: 4_000_000,
    3_000: 9_000_000,
    4_000: 16_000_000,
    5_000: 24_995_000,
}
"""Nodes of a graph of Logica's, and the facts of its closure that all engines there found."""
FIGURES = (
    *(
        Figure(f"closure of g{nodes:,},", engine, seconds, clock, CLOUD, TGDK, same=True)
        for nodes, row in LOGICA.items()
        for engine, clock, seconds in zip(
            ("Nemo", "Logica on DuckDB", "Soufflé, compiled"),
            ("CPU", "CPU", "clock"),
            row,
            strict=True,
        )
    ),
    *(
        Figure("classification of GALEN,", engine, seconds, "clock", "not told", NEMO, same=True)
        for engine, seconds in (
            ("Nemo", 5.5),
            ("Soufflé, compiled", 10.4),
            ("Soufflé, interpreted", 13.7),
            ("Gringo", 22.0),
            ("VLog", 42.7),
        )
    ),
    *(
        Figure(task, engine, seconds, "clock", machine, source, same=False)
        for task, engine, seconds, machine, source in (
            ("borrows", "Polonius, naive", 113.316, "not told", "its README of 2018"),
            ("borrows", "Polonius, optimized", 3.856, "not told", "its README"),
            ("points-to", "Soufflé, compiled", 111.76, "laptop, 1 core", DYNAMIC),
            ("points-to", "differential dataflow", 161.58, "laptop, 1 core", DYNAMIC),
        )
    ),
)
FIGURES_HEADER = (
    "task here",
    "engine",
    "published, s",
    "of",
    "machine",
    "source",
    "input",
    "streamreasoner here, CPU s",
)
NOTE = (
    "Other machines, years and versions: a figure tells the order of magnitude, and no ratio. On"
    " another input it cannot be compared with ours at all."
)


def main() -> int:
    """Run the tasks, print their tables, and fail if two engines disagree."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("tasks", nargs="*", choices=(*TASKS, []), help="default: all")
    arguments.add_argument("--scale", type=int, default=10, choices=(1, 10, 50), help="of LUBM")
    arguments.add_argument(
        "--uobm", type=Path, nargs="+", default=[], metavar="PATH", help="its ontology and data"
    )
    arguments.add_argument("--facts", type=Path, metavar="DIR", help="of a function, by rustc")
    arguments.add_argument("--galen", type=Path, metavar="DIR", help="conj.csv.gz and so on")
    arguments.add_argument("--graphs", type=int, nargs="+", default=[1_000, 2_000], metavar="NODES")
    arguments.add_argument("--rounds", type=int, default=1, help="of every engine, by turns")
    arguments.add_argument("--cores", type=int, default=1, help="for all engines")
    arguments.add_argument("--quick", action="store_true", help="small sizes")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.cores :])
    figures: dict[str, Any] = {**harness.machine(), "results": {}, "tables": []}
    wrong = 0
    for task in options.tasks or TASKS:
        try:
            for table, results, bad in TASKS[task](options):
                wrong += bad
                figures["tables"].append(table)
                figures["results"].update(
                    {title: {"rows": rows} for title, rows in results.items()}
                )
                harness.save(options.json, figures)
        except AbsentError as error:
            print(f"{task} is left out: {error}.", file=sys.stderr)
        except SystemExit:
            print(f"{task} is left out.", file=sys.stderr)  # What it lacks has been told.
    if not figures["tables"]:
        return harness.ABSENT
    figures["tables"].append(known(figures["results"]))
    figures["tables"].append(verdict.table(verdict.rows(figures["results"])))
    harness.save(options.json, figures)
    return int(wrong > 0)


def known(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The figures that others publish of tasks that ran here, with our load of the same input."""
    loads = {
        title.split(";", maxsplit=1)[0]: verdict.seconds(row, ("load",))
        for title, result in results.items()
        for row in result["rows"]
        if row["engine"] == verdict.OURS
    }
    rows = [
        (
            figure.task.rstrip(","),
            figure.engine,
            figure.seconds,
            figure.clock,
            figure.machine,
            figure.source,
            "the same" if figure.same else "another",
            load if figure.same else "",
        )
        for figure in FIGURES
        for name, load in loads.items()
        if name.startswith(figure.task)
    ]
    return harness.print_table("What others publish", FIGURES_HEADER, rows, NOTE)


def shares(options: argparse.Namespace) -> Iterator[Found]:
    """Random facts of universities, removed and added back, and the load of what is left."""
    yield shares_of(programs.rho_df(1 if options.quick else options.scale, 0, 0), options)
    if options.uobm:
        yield shares_of(programs.rho_df_of("UOBM", options.uobm, 0, 0), options)


def shares_of(whole: Case, options: argparse.Namespace) -> Found:
    """The protocol for the facts of a case."""
    count = len(whole.rows)
    order = np.random.default_rng(0).permutation(count)
    sizes = sorted({*FIXED, *(count * share // 100 for share in SHARES)})
    cells: list[tuple[Any, ...]] = []
    results: dict[str, list[dict[str, Any]]] = {}
    wrong, absent = 0, set()
    for size in sizes:
        removed, left = whole.rows[order[:size]], whole.rows[np.sort(order[size:])]
        name = f"{size:,} of {count:,} facts, {whole.name}"
        every = replace(whole, name=name, batch=removed)
        rest = replace(whole, name=f"without {name}", rows=left)
        pairs = []
        for engine in share_engines(options.cores):
            try:
                runs = [(engine(every), engine(rest)) for _ in range(options.rounds)]
            except AbsentError as error:
                absent.add(str(error))
                continue
            pairs.append(tuple(middle(column) for column in zip(*runs, strict=True)))
        wrong += disagree(pairs, every)
        cells += [share_cells(size, count, *pair) for pair in pairs]
        results[name] = [asdict(result) for result, _ in pairs]
    title = f"Backward/Forward's protocol, {whole.name}: random facts removed and added back"
    note = " ".join(f"{reason[0].upper()}{reason[1:]}." for reason in sorted(absent))
    return harness.print_table(title, SHARES_HEADER, cells, note), results, wrong


def share_engines(cores: int) -> list[Engine]:
    """Those that can remove facts."""
    return [
        ours.run,
        partial(dataflow.run, workers=cores),
        partial(dataflow.run, workers=cores, plan="compiled"),
        partial(flowlog.run, workers=cores),
    ]


def disagree(pairs: list[tuple[Result, ...]], case: Case) -> int:
    """How many engines have other facts than ours, of all rows or of what is left of them."""
    first = pairs[0]
    wrong = sum(
        result.differs(own) for pair in pairs[1:] for result, own in zip(pair, first, strict=True)
    )
    driver = ours.Driver(case)
    for rows, sign in ((case.rows, 1), (case.batch, -1)):
        driver.apply(driver.encode(rows, sign))
    kept = {name: checksum(driver.facts(name)) for name in case.outputs}
    return wrong + (kept != first[1].checksums)


def share_cells(size: int, count: int, every: Result, rest: Result) -> tuple[Any, ...]:
    """A row of the table of shares."""
    assert every.batch_remove is not None
    assert every.batch_add is not None
    remove, add = every.batch_remove.processor, every.batch_add.processor
    return (
        f"{size:,}" if size in FIXED else f"{round(size / count * 100)} %",
        every.engine,
        rest.load.processor,
        remove,
        remove / rest.load.processor,
        add,
        add / every.load.processor,
    )


def check(options: argparse.Namespace) -> Iterator[Found]:
    """The borrow checker, by the rules that Polonius calls naive."""
    if options.facts:
        name, tables = options.facts.resolve().name, borrows.read(options.facts)
    else:
        name, tables = "a made-up function", borrows.made_up(400 if options.quick else POINTS)
    case = borrows.case(name, tables, FEW, BATCH)
    peers = [partial(polonius.run, case, rules) for rules in polonius.RULES]
    yield of_case(case, [*compare.engines(case, options.cores), *peers], options)


def ontology(options: argparse.Namespace) -> Iterator[Found]:
    """The classification of an ontology in EL."""
    if options.galen:
        name, axioms = "GALEN", ontologies.read(options.galen)
    else:
        name = "a made-up ontology"
        axioms = ontologies.made_up(200 if options.quick else ONTOLOGY)
    case = ontologies.case(name, axioms, FEW, BATCH)
    table, results, wrong = of_case(case, compare.engines(case, options.cores), options)
    derived = {sum(row["facts"].values()) for rows in results.values() for row in rows}
    yield table, results, wrong + (name == "GALEN" and derived != {CLASSIFIED})


def points(options: argparse.Namespace) -> Iterator[Found]:
    """What variables point to, with the call graph that is found along the way."""
    classes = 10 if options.quick else CLASSES
    case = calls.case(f"{classes:,} classes", calls.program(classes), FEW, BATCH)
    yield of_case(case, compare.engines(case, options.cores), options)


def closures(options: argparse.Namespace) -> Iterator[Found]:
    """Closures of graphs where nearly each node reaches nearly each other."""
    for nodes in [300] if options.quick else options.graphs:
        edges = duckdb_sql.hashed(nodes)
        kept = nodes <= DENSE
        case = programs.closure(
            f"g{nodes:,}, {len(edges):,} edges", edges, FEW if kept else 0, BATCH if kept else 0
        )
        runs = compare.engines(case, options.cores)
        if not kept:
            runs = [partial(ours.run, case), partial(flowlog.run, case, "batch", options.cores)]
        runs += [
            compare.batch("DuckDB", case, duckdb_sql.table, duckdb_sql.closure),
            compare.batch("scipy", case, np.asarray, scipy_graphs.closure),
        ]
        table, results, wrong = of_case(case, runs, options)
        derived = {row["facts"]["path"] for rows in results.values() for row in rows}
        yield table, results, wrong + (derived != {CLOSED.get(nodes, *derived)})


def of_case(case: Case, runs: list[compare.Run], options: argparse.Namespace) -> Found:
    """The table of a case, as `compare.py` has them."""
    table, rows, wrong = compare.table(case, runs, options.rounds)
    return table, {table["title"]: rows}, wrong


TASKS = {
    "shares": shares,
    "borrows": check,
    "ontology": ontology,
    "points": points,
    "closures": closures,
}

if __name__ == "__main__":
    raise SystemExit(main())
