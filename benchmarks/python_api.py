"""The Python API: updates in and differences out, as Python objects and as tables of Arrow.

    python benchmarks/python_api.py [--scale 1] [--rounds 3] [--json FILE]

Under rho-df, a reasoner with univ-bench takes LUBM's triples: all as a table, the first 100,000 as
objects. Claims: 100,000 updates of rdflib terms take no more processor time than rdflib's own
`Graph.add` for the same triples, and a difference is an Arrow table in a twentieth of the time that
its Python objects take.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import rdflib

from benchmarks import harness
from streamreasoner import Reasoner, Update
from streamreasoner.api.nodes import from_ntriples

if TYPE_CHECKING:
    import pyarrow as pa

OBJECTS = 100_000
SAME, TWENTIETH = 1.0, 0.05  # the claims


def main() -> int:
    """Measure, print a table, and fail if a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=1, choices=(1, 10))
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    ontology, path = harness.lubm(options.scale)
    table = table_of(path)
    triples = objects_of(table.slice(0, OBJECTS))
    rounds = [measure(ontology, table, triples) for _ in range(options.rounds)]
    seconds = {name: median(each[name] for each in rounds) for name in rounds[0]}
    figures = {**harness.machine(), "triples": len(table), "seconds": seconds}
    rows = [(name, round(each, 3)) for name, each in seconds.items()]
    figures["tables"] = [
        harness.print_table(f"{path.name}, {len(table):,} triples", ("step", "CPU seconds"), rows)
    ]
    harness.save(options.json, figures)
    taken = seconds["apply of updates"] / seconds["Graph.add of rdflib"]
    shown = seconds["Diff.to_arrow"] / seconds["Diff.changes"]
    return int(taken > SAME or shown > TWENTIETH)


def table_of(path: Path) -> pa.Table:
    """The triples of a file, as a reasoner would return them."""
    reasoner = Reasoner.from_rules("@input triple/3 .")
    reasoner.load(path)
    return reasoner.facts().to_arrow()


def objects_of(table: pa.Table) -> list[tuple[rdflib.term.Node, ...]]:
    """The same as terms of rdflib."""
    nodes = {text: node(text) for column in table.columns for text in column.unique().to_pylist()}
    return [tuple(nodes[text] for text in row.values()) for row in table.to_pylist()]


def node(text: str) -> rdflib.term.Node:
    """A term of rdflib."""
    term = from_ntriples(text)
    return term if isinstance(term, rdflib.term.Node) else rdflib.Literal(term)


def measure(
    ontology: Path, table: pa.Table, triples: list[tuple[rdflib.term.Node, ...]]
) -> dict[str, float]:
    """Processor seconds of each step."""
    found: dict[str, float] = {}

    def timed(name: str, step):  # noqa: ANN001, ANN202 - any function
        started = time.process_time()
        result = step()
        found[name] = time.process_time() - started
        return result

    graph = rdflib.Graph()
    timed("Graph.add of rdflib", lambda: [graph.add(triple) for triple in triples])
    updates = [Update.triple(*triple) for triple in triples]
    reasoner = Reasoner.from_rules("rho-df")
    reasoner.load(ontology)
    timed("apply of updates", lambda: reasoner.apply(updates))

    reasoner = Reasoner.from_rules("rho-df")
    reasoner.load(ontology)
    diff = timed("apply_arrow of all", lambda: reasoner.apply_arrow(table))
    arrow = timed("Diff.to_arrow", diff.to_arrow)
    changes = timed("Diff.changes", lambda: diff.changes)
    assert len(arrow) == len(changes)
    facts = reasoner.facts()
    timed("Facts.to_arrow", facts.to_arrow)
    timed("Facts as objects", lambda: list(facts))
    return found


if __name__ == "__main__":
    sys.exit(main())
