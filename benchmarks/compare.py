"""Compare our engine with others, on the same rows and updates, in one run.

    python benchmarks/compare.py [SECTION...] [--scale 10] [--share 4] [--rounds 1] [--cores 1]
        [--quick] [--json FILE]

Sections: lubm, closure, graph, cyclic, program, deletion; all by default. Graphs and programs have
1/SHARE of the size of their models; `graphs.py` compares the whole graph with scipy. A peer that is
not installed is named and skipped. Engines with the same task must derive the same facts, or the
script fails. Times are seconds of processor time, with those of the clock in brackets, from the
input in memory to the result; what reading a file takes is told apart. An update is removed and
added back, and times of single rows are medians. Peers without updates would have to recompute
everything. All engines run on the same cores. With several rounds, engines run by turns and figures
are medians. The last table has the fastest peer of each row; the script fails if one that supports
deletions is faster than we are, or FlowLog in batch at loading triangles or components.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import deletion, generators, harness, programs, verdict
from benchmarks.peers import (
    AbsentError,
    dataflow,
    duckdb_sql,
    flowlog,
    memory,
    nemo,
    networkx_graphs,
    ours,
    rdf,
    scipy_graphs,
)
from benchmarks.peers.case import Result, checksum, middle
from benchmarks.peers.clock import Clock
from streamreasoner.errors import StreamReasonerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from benchmarks.peers.case import Case
    from benchmarks.peers.clock import Seconds

    Run = Callable[[], Result]
    Table = tuple[dict[str, Any], list[dict[str, Any]], int]

SINGLES, BATCH = 200, 1000
FEW_SINGLES = 10  # where a row changes thousands of facts
RDFS_LARGEST = 1
QUICK = 20
HEADER = (
    "engine",
    "load s",
    "load / first",
    "reading s",
    "remove one, ms",
    "add one, ms",
    "remove batch, ms",
    "add batch, ms",
    "MiB",
    "facts",
)


def main() -> int:
    """Run the sections, print their tables, and fail if two engines disagree."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("sections", nargs="*", choices=(*SECTIONS, []), help="default: all")
    arguments.add_argument("--scale", type=int, default=10, choices=(1, 10, 50), help="of LUBM")
    arguments.add_argument("--quick", action="store_true", help="a share of 20, and small closures")
    arguments.add_argument("--share", type=int, default=4, help="of graphs and programs, 1 is all")
    arguments.add_argument("--rounds", type=int, default=1, help="of every engine, by turns")
    arguments.add_argument("--cores", type=int, default=1, help="for all engines")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    if options.quick:
        options.share = QUICK
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.cores :])
    figures: dict[str, Any] = {**harness.machine(), "scale": options.scale, "share": options.share}
    figures.update(cores=options.cores, rounds=options.rounds)
    figures.update(results={}, tables=[])
    wrong = 0
    for section in options.sections or SECTIONS:
        for table, results, bad in SECTIONS[section](options):
            wrong += bad
            figures["tables"].append(table)
            figures["results"][table["title"]] = {"section": section, "rows": results}
            harness.save(options.json, figures)
    compared = verdict.rows(figures["results"])
    if compared:
        figures["tables"].append(verdict.table(compared))
        harness.save(options.json, figures)
    return int(wrong > 0 or any(row.behind for row in compared))


def table(case: Case, runs: list[Run], rounds: int) -> Table:
    """The table, results and number of wrong results of a case; prints it."""
    found: dict[str, list[Result]] = {}
    absent: list[str] = []
    for run in runs * rounds:
        try:
            result = run()
        except (AbsentError, StreamReasonerError) as error:
            reason = str(error).splitlines()[0]
            if reason not in absent:
                print(f"{case.name}: {reason}", file=sys.stderr, flush=True)
                absent.append(reason)
            continue
        found.setdefault(result.engine, []).append(result)
    results: list[Result] = []
    wrong = 0
    for result in map(middle, found.values()):
        if results and result.differs(results[0]):
            print(
                f"{case.name}: {result.engine} derives {result.facts}, not as the first.",
                file=sys.stderr,
            )
            wrong += 1
        results.append(result)
    title = f"{case.name}; {len(case.singles)} single rows, a batch of {len(case.batch):,}"
    note = " ".join(f"{reason[0].upper()}{reason[1:]}." for reason in absent)
    rows = [_cells(result, results[0]) for result in results]
    printed = harness.print_table(title, HEADER, rows, note)
    return printed, [dataclasses.asdict(result) for result in results], wrong


def _cells(result: Result, first: Result) -> tuple[Any, ...]:
    def both(seconds: Seconds | None, factor: float) -> str:
        if seconds is None:
            return ""
        return f"{seconds.processor * factor:.3g} ({seconds.wall * factor:.3g})"

    return (
        result.engine,
        both(result.load, 1),
        result.load.processor / first.load.processor,
        both(result.reading, 1),
        both(result.remove, 1e3),
        both(result.add, 1e3),
        both(result.batch_remove, 1e3),
        both(result.batch_add, 1e3),
        "" if result.peak_bytes is None else result.peak_bytes * 2**-20,
        " ".join(f"{count:,}" for count in result.facts.values()),
    )


def engines(case: Case, cores: int) -> list[Run]:
    """Our engine, and those that read the same rows and rules, as far as they have the task."""
    runs: list[Run] = [partial(ours.run, case)]
    if case.task in dataflow.TASKS:
        runs.append(partial(dataflow.run, case, cores))
    runs += [partial(flowlog.run, case, mode, cores) for mode in ("incremental", "batch")]
    return [*runs, partial(nemo.run, case)]


def batch(
    engine: str,
    case: Case,
    prepare: Callable[[NDArray[np.int32]], Any],
    evaluate: Callable[[Any], NDArray[np.int64] | int],
) -> Run:
    """A peer that evaluates from scratch; the preparation of its input is not timed."""

    def run() -> Result:
        prepared = prepare(case.rows)
        memory.hand_out()
        clock = Clock()
        facts = evaluate(prepared)
        seconds = clock.seconds()
        name = case.outputs[0]
        if isinstance(facts, int):
            return Result(engine, seconds, {name: facts})
        return Result(engine, seconds, {name: len(facts)}, {name: checksum(facts)})

    return run


def lubm(options: argparse.Namespace) -> Iterator[Table]:
    """ρDF, and the times of RDF libraries for the same files."""
    case = programs.rho_df(options.scale, SINGLES, BATCH)
    planned = [partial(dataflow.run, case, options.cores, plan) for plan in dataflow.PLANS]
    yield table(case, [*engines(case, options.cores), *planned], options.rounds)
    case = programs.schema_edge(case, FEW_SINGLES)
    planned = [partial(dataflow.run, case, options.cores, plan) for plan in ("", "strata")]
    runs = [partial(ours.run, case), *planned, partial(flowlog.run, case, workers=options.cores)]
    yield table(case, runs, options.rounds)
    title = f"RDF libraries on LUBM({options.scale}) and univ-bench; other rules than ours"
    files = harness.lubm(options.scale)
    rows, absent = [], []
    for name, peer in (
        ("reasonable, OWL 2 RL", rdf.reasonable),
        ("owlrl, RDFS", rdf.owlrl),
        ("pyoxigraph, parse only", rdf.pyoxigraph),
    ):
        if peer is rdf.owlrl and options.scale > RDFS_LARGEST:
            absent.append(f"{name} is left out: it is for LUBM({RDFS_LARGEST}).")
            continue
        try:
            rows.append((name, *peer(files)))
        except AbsentError as error:
            absent.append(f"{name}: {error}.")
    header = ("library", "triples", "parse s", "reason s")
    printed = harness.print_table(title, header, rows, " ".join(absent))
    yield printed, [dict(zip(header, row, strict=True)) for row in rows], 0


def closure(options: argparse.Namespace) -> Iterator[Table]:
    """Transitive closure of graphs of several shapes."""
    size = 0.3 if options.quick else 1.0
    side = round(36 * size)
    nodes = round(1_000 * size)
    for name, edges in (
        (f"a chain of {nodes:,}", generators.chain(nodes)),
        (f"a cycle of {nodes:,}", generators.cycle(nodes)),
        (f"a grid, {side} x {side}", generators.grid(side, side)),
        (f"a random graph, {nodes:,} nodes", generators.uniform(nodes, nodes * 2)),
    ):
        case = programs.closure(name, edges, FEW_SINGLES, min(BATCH, len(edges) // 2))
        runs = [
            *engines(case, options.cores),
            batch("DuckDB", case, duckdb_sql.table, duckdb_sql.closure),
            batch("networkx", case, networkx_graphs.graph, networkx_graphs.closure),
            batch("scipy", case, np.asarray, scipy_graphs.closure),
        ]
        yield table(case, runs, options.rounds)


def graph(options: argparse.Namespace) -> Iterator[Table]:
    """Shortest paths, components and triangles of a social graph."""
    share = options.share
    edges = generators.social(generators.SOCIAL_EDGES // share, generators.SOCIAL_NODES // share)
    case = programs.sssp(edges, SINGLES, BATCH)
    runs = [
        *engines(case, options.cores),
        batch("DuckDB", case, duckdb_sql.table, lambda t: duckdb_sql.sssp(t, 0)),
        batch("networkx", case, networkx_graphs.graph, lambda g: networkx_graphs.sssp(g, 0)),
        batch("scipy", case, np.asarray, lambda rows: scipy_graphs.sssp(rows, 0)),
    ]
    yield table(case, runs, options.rounds)
    case = programs.components(edges, SINGLES, BATCH)
    runs = [
        *engines(case, options.cores),
        batch("networkx", case, networkx_graphs.graph, networkx_graphs.components),
        batch("scipy", case, np.asarray, scipy_graphs.components),
    ]
    yield table(case, runs, options.rounds)
    case = programs.triangles(edges, SINGLES, BATCH)
    runs = [
        *engines(case, options.cores),
        batch("DuckDB", case, duckdb_sql.table, duckdb_sql.triangles),
        batch("scipy", case, np.asarray, scipy_graphs.triangles),
    ]
    yield table(case, runs, options.rounds)


def cyclic(options: argparse.Namespace) -> Iterator[Table]:
    """Joins whose atoms close a cycle: four-cycles, four-cliques, and queries 2 and 9 of LUBM."""
    share = options.share
    edges = generators.uniform(40_000 // share, 400_000 // share)
    case = programs.cycles(edges, SINGLES, BATCH)
    peer = batch("DuckDB", case, duckdb_sql.table, duckdb_sql.cycles)
    yield table(case, [*engines(case, options.cores), peer], options.rounds)
    share *= 5
    edges = generators.social(generators.SOCIAL_EDGES // share, generators.SOCIAL_NODES // share)
    case = programs.cliques(edges, SINGLES, BATCH)
    peer = batch("DuckDB", case, duckdb_sql.table, duckdb_sql.cliques)
    yield table(case, [*engines(case, options.cores), peer], options.rounds)
    case = programs.lubm_cycles(options.scale, SINGLES, BATCH)
    yield table(case, engines(case, options.cores), options.rounds)


def program(options: argparse.Namespace) -> Iterator[Table]:
    """Analyses of synthetic programs."""
    share = options.share
    case = programs.cspa("httpd", 0.1 / share, SINGLES, BATCH)
    yield table(case, engines(case, options.cores), options.rounds)
    case = programs.csda(2_000 // share, SINGLES, BATCH)
    yield table(case, engines(case, options.cores), options.rounds)
    case = programs.andersen(1_000 // share, FEW_SINGLES, BATCH // share)
    yield table(case, engines(case, options.cores), options.rounds)


SECTIONS = {
    "lubm": lubm,
    "closure": closure,
    "graph": graph,
    "cyclic": cyclic,
    "program": program,
    "deletion": deletion.tables,
}

if __name__ == "__main__":
    raise SystemExit(main())
