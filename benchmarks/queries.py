"""One-off queries: the 14 of LUBM on the closure, compared with pyoxigraph on the same triples.

    python benchmarks/queries.py [--scale 10] [--rounds 3] [--json FILE]

Univ-bench and LUBM are closed under owl-rl. Ours then copies the facts for queries, into an index
and into DuckDB; pyoxigraph loads them from N-Triples into a store in memory. Both write every
answer as JSON, and must have equally many. Times are processor seconds of a process for each, the
median of the rounds, and of a hundred times as many for what takes less than a millisecond; memory
is what a process has more after loading. Claims: all queries together take a tenth of pyoxigraph's
time, and none more than twice its.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from streamreasoner.api.asking.epoch import EpochFacts

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psutil
import pyoxigraph

from benchmarks import harness
from benchmarks.driver import cpu
from streamreasoner import Reasoner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RULESET = "owl-rl"
FOLDER = harness.ROOT / "examples" / "lubm" / "queries"
MOST_OF_ALL, MOST_OF_ONE = 0.1, 2.0  # the claims
HUNDRED = 100
SHORT = 1e-3  # seconds of a query that is asked more often
MIB = 1 << 20


def main() -> int:
    """Measure, print the tables, and fail if answers differ or a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=10, choices=(1, 10))
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    files = harness.lubm(options.scale)
    figures = harness.machine()
    with tempfile.TemporaryDirectory() as folder:
        closure = Path(folder) / "closure.nt"
        ours = harness.apart(reasoner, files, closure, options.rounds)
        theirs = harness.apart(oxigraph, closure, options.rounds)
    for each in (ours, theirs):
        for column in ("answers", "seconds"):
            each[column]["all"] = sum(each[column].values())
    rows = [
        (name, count, 1000 * ours["seconds"][name], 1000 * theirs["seconds"][name],
         ours["seconds"][name] / theirs["seconds"][name])
        for name, count in ours["answers"].items()
    ]  # fmt: skip
    figures["tables"] = [
        harness.print_table(
            f"Queries on LUBM({options.scale}) under {RULESET}, {ours['triples']:,} triples",
            ("query", "answers", "streamreasoner, CPU ms", "pyoxigraph, CPU ms", "ratio"),
            rows,
        ),
        harness.print_table(
            "Before the first query",
            ("", "CPU seconds", "MiB"),
            [
                ("streamreasoner: copy the facts of an epoch", ours["load"], ours["mib"]),
                ("pyoxigraph: load the materialised file", theirs["load"], theirs["mib"]),
            ],
        ),
    ]
    figures |= {"ours": ours, "theirs": theirs}
    harness.save(options.json, figures)
    ratios = {name: each / theirs["seconds"][name] for name, each in ours["seconds"].items()}
    slow = ratios["all"] > MOST_OF_ALL or max(ratios.values()) > MOST_OF_ONE
    return int(slow or ours["answers"] != theirs["answers"])


def reasoner(files: Sequence[Path], closure: Path, rounds: int) -> dict[str, Any]:
    """What our queries take; writes the triples that they are about."""
    reasoner = Reasoner.from_rules(RULESET)
    reasoner.load(*files)

    def ask(query: str) -> tuple[int, bytes]:
        answer = reasoner.query(query)
        assert not isinstance(answer, bool)
        return len(answer), answer.serialize("json")

    epoch = EpochFacts(reasoner.session)

    def load() -> None:
        epoch.facts().connect()

    found = measured(load, ask, rounds)
    columns = reasoner.facts().to_arrow().columns
    lines = [
        " ".join((*triple, ".\n"))
        for triple in zip(*(column.to_pylist() for column in columns), strict=True)
        # Literals have types, too, in generalized RDF, which Oxigraph has not.
        if not triple[0].startswith('"')
    ]
    closure.write_text("".join(lines), "utf-8")
    return found | {"triples": len(lines)}


def oxigraph(closure: Path, rounds: int) -> dict[str, Any]:
    """What pyoxigraph takes for the same triples."""
    store = pyoxigraph.Store()

    def load() -> None:
        store.bulk_load(path=str(closure), format=pyoxigraph.RdfFormat.N_TRIPLES)

    def ask(query: str) -> tuple[int, bytes]:
        results = store.query(query)
        assert isinstance(results, pyoxigraph.QuerySolutions)
        text = results.serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        assert text is not None
        return text.count(b'{"x":'), text

    return measured(load, ask, rounds)


def measured(
    load: Callable[[], object], ask: Callable[[str], tuple[int, bytes]], rounds: int
) -> dict[str, Any]:
    """Seconds and memory to load; for each query its answers and the median of its seconds."""
    process = psutil.Process()
    before = process.memory_info().rss
    seconds = cpu(load)
    memory = (process.memory_info().rss - before) / MIB
    queries = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.iterdir())}
    answers = {name: ask(query)[0] for name, query in queries.items()}
    taken = {}
    for name, query in queries.items():
        is_short = cpu(lambda query=query: ask(query)) < SHORT
        count = HUNDRED * rounds if is_short else rounds
        taken[name] = median(cpu(lambda query=query: ask(query)) for _ in range(count))
    return {"load": seconds, "mib": memory, "answers": answers, "seconds": taken}


if __name__ == "__main__":
    raise SystemExit(main())
