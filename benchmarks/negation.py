"""Negation that the schema decides, alongside a large ontology and alongside negation of input.

    python benchmarks/negation.py [--classes 10000] [--things 50000] [--json FILE]

Claims: with three negated atoms that the schema decides, a load takes at most 1.5 times as long as
with atoms that only input matches, under `rho-df` with 10,000 classes and 1,000 properties; a
triple, a type and an edge of the schema are added or removed in under a millisecond, in the median.
All times are seconds of processor time, on one core, in the same run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from benchmarks.driver import Kernel, cpu, updates
from streamreasoner.errors import CircularNegationError
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.vocabulary import RDF_TYPE, RDFS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.engine.updates import Updates

EX = "http://example.org/"
TRUE = to_ntriples(value=True)
SINGLES, MILLISECOND, RATIO = 300, 1.0, 1.5
BRANCHING = 3  # sub-classes of a class
RULES = """
@import "rho-df" .
@prefix ex: <http://example.org/> .
@input private/1, closed/1, may/2 .
[?x, ex:may, ?y] :- [?x, ex:owns, ?y], not {private} .
[?x, a, ex:Open] :- [?x, a, ex:C1], not {closed} .
[?x, ex:other, ?y] :- [?x, ex:owns, ?y], not {may} .
"""
PROGRAMS = {
    "input": ("private(?y)", "closed(?x)", "may(?x, ?y)"),
    "schema": ("[?y, ex:private, true]", "[?x, a, ex:Closed]", "[?x, ex:may, ?y]"),
}


def main() -> int:
    """Measure, print the table, and fail if a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--classes", type=int, default=10_000)
    arguments.add_argument("--things", type=int, default=50_000)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    measure("schema", 10, 10)  # compiles, or loads from the cache
    peer, ours = (measure(name, options.classes, options.things) for name in PROGRAMS)
    rows = [(name, peer.get(name, "-"), ours[name]) for name in ours]
    header = (f"{options.classes} classes", "negation of input", "the schema decides")
    printed = harness.print_table("Negation and an ontology", header, rows)
    harness.save(options.json, {**harness.machine(), "rows": rows, "tables": [printed]})
    slow = any(value > MILLISECOND for name, value in ours.items() if name.endswith("ms"))
    return int(slow or ours["load, s"] > RATIO * peer["load, s"])


def measure(name: str, classes: int, things: int) -> dict[str, Any]:
    """Plan, load in one epoch, then add and remove triples one at a time."""
    private, closed, may = PROGRAMS[name]
    rules = RULES.format(private=private, closed=closed, may=may)
    dictionary = Dictionary()
    started = time.process_time()
    kernel = Kernel(rules, dictionary)
    planned = time.process_time() - started
    triples = [
        [dictionary.intern(term) for term in triple] for triple in generated(classes, things)
    ]
    load = kernel.load([updates("triple", triples, 1)])

    def median(kind: str) -> float:
        chance = np.random.default_rng(0)
        seconds = []
        for number in range(SINGLES):
            thing, some = f"<{EX}x{chance.integers(things)}>", int(chance.integers(1, classes))
            terms = {
                "triple": (thing, f"<{EX}owns>", f"<{EX}y{number}>"),
                "type": (thing, f"<{RDF_TYPE}>", f"<{EX}C{some}>"),
                "edge": (f"<{EX}D{number}>", f"<{RDFS}subClassOf>", f"<{EX}C{some}>"),
            }[kind]
            row = [[dictionary.intern(term) for term in terms]]
            seconds += [kernel.load([updates("triple", row, sign)]) for sign in (1, -1)]
        return statistics.median(seconds) * 1000

    figures = {
        "plan, s": planned,
        "load, s": load,
        "facts": kernel.statistics().present,
        "a triple, ms": median("triple"),
        "a type, ms": median("type"),
        "a sub-class, ms": median("edge"),
    }
    if name == "schema":
        figures["another order, s"] = kernel.load([edge(dictionary, "domain", "Closed")])
        figures["a refused cycle, s"] = cpu(
            lambda: refused(kernel, edge(dictionary, "subPropertyOf", "private"))
        )
    return figures


def edge(dictionary: Dictionary, verb: str, other: str) -> Updates:
    """What one of the rules derives is a kind of something else."""
    terms = f"<{EX}may>", f"<{RDFS}{verb}>", f"<{EX}{other}>"
    return updates("triple", [[*map(dictionary.intern, terms)]], 1)


def refused(kernel: Kernel, batch: Updates) -> None:
    """An epoch that fails, because its schema makes a negation circular."""
    try:
        kernel.settle([batch])
    except CircularNegationError:
        kernel.rollback()
    else:
        raise AssertionError("The epoch did not fail.")


def generated(classes: int, things: int) -> Iterator[tuple[str, str, str]]:
    """A tree of classes, one of properties, and four triples of each thing."""
    chance = np.random.default_rng(0)
    properties = classes // 10

    def iri(kind: str, number: int) -> str:
        return f"<{EX}{kind}{number}>"

    for n in range(2, classes):
        yield iri("C", n), f"<{RDFS}subClassOf>", iri("C", (n + 1) // BRANCHING)
    for n in range(2, properties):
        yield iri("p", n), f"<{RDFS}subPropertyOf>", iri("p", (n + 1) // BRANCHING)
        yield iri("p", n), f"<{RDFS}domain>", iri("C", int(chance.integers(1, classes)))
    yield iri("p", 2), f"<{RDFS}subPropertyOf>", f"<{EX}private>"
    yield iri("C", 5), f"<{RDFS}subClassOf>", f"<{EX}Closed>"
    yield f"<{EX}may>", f"<{RDFS}subPropertyOf>", f"<{EX}knows>"
    for n in range(things):
        kind, verb, other, owned = chance.integers((classes, properties, things, things)).tolist()
        yield iri("x", n), f"<{RDF_TYPE}>", iri("C", max(kind, 1))
        yield iri("x", n), iri("p", max(verb, 1)), iri("x", other)
        yield iri("x", n), f"<{EX}owns>", iri("x", owned)
        yield iri("x", n), iri("p", max(verb, 1)), TRUE


if __name__ == "__main__":
    raise SystemExit(main())
