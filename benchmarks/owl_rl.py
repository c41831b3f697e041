"""OWL 2 RL: LUBM, and an ontology with hundreds of property axioms, next to reasonable and owlrl.

    python benchmarks/owl_rl.py [--scale 10] [--properties 300] [--json FILE]

Claims: from a file of LUBM(10) to its closure in a tenth of reasonable's processor time;
afterwards one triple is added or removed in under a millisecond, in the median. The peers are
installed with `pip install reasonable owlrl`; without them there is only our time. All times are
seconds of processor time.

The rules are nearly the same: reasonable leaves out some (keys, cardinalities, eq-ref), owlrl has
eq-ref and datatypes. So the numbers of triples differ, and only times are compared.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from benchmarks.driver import Kernel, updates
from benchmarks.peers import rdf
from streamreasoner.io.formats.ntriples import read
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.vocabulary import OWL, RDF, RDF_TYPE, RDFS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

RULESET = "owl-rl"
SINGLES = 300
TENTH, MILLISECOND = 0.1, 1.0  # the claims
MOST_FOR_OWLRL = 3_000  # triples; it takes minutes for more
EX = "http://example.org/"
FAMILY = 10  # properties that axioms relate


def main() -> int:
    """Measure, print the tables, and fail if a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=10, choices=(1, 10))
    arguments.add_argument("--properties", type=int, default=300)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        large, small = (
            generated(Path(folder), count)
            for count in (options.properties, options.properties // 20)
        )
        inputs = {
            f"LUBM({options.scale})": harness.lubm(options.scale),
            f"{options.properties} properties": [large],
            f"{options.properties // 20} properties": [small],
        }
        measured = {name: measure(files) for name, files in inputs.items()}
    header = ("input", "reasoner", "triples", "parse", "reason", "one triple, ms")
    rows = [(name, *row) for name, part in measured.items() for row in part]
    printed = harness.print_table("OWL 2 RL, CPU seconds", header, rows)
    harness.save(options.json, {**harness.machine(), "rows": rows, "tables": [printed]})
    (_, _, parse, reason, single), *peers = measured[f"LUBM({options.scale})"]
    theirs = [row[2] + row[3] for row in peers if row[0] == "reasonable"]
    slow = any(parse + reason > TENTH * each for each in theirs)
    return int(slow or single > MILLISECOND)


def measure(files: Sequence[Path]) -> list[tuple[Any, ...]]:
    """A row for each reasoner: its name, triples, seconds to parse and to reason, and updates."""
    with files[-1].open("rb") as lines:
        size = sum(1 for _ in lines)
    rows = [harness.apart(ours, files)]
    if importlib.util.find_spec("reasonable"):
        measured = harness.apart(rdf.reasonable, files, time.process_time)
        rows.append(("reasonable", *measured, "-"))
    if importlib.util.find_spec("owlrl") and size <= MOST_FOR_OWLRL:
        measured = harness.apart(rdf.owlrl, files, time.process_time, "OWLRL_Semantics")
        rows.append(("owlrl", *measured, "-"))
    return rows


def ours(files: Sequence[Path]) -> tuple[str, int, float, float, float]:
    """Parse and encode, load in one epoch, read its changes; then single triples, each undone."""
    _load(files[:1])
    triples, kernel, parsed, reasoned = _load(files)
    count = len(kernel.facts("triple"))
    each = [
        kernel.load([updates("triple", triples[row : row + 1], sign)])
        for row in np.random.default_rng(0).choice(len(triples), SINGLES)
        for sign in (-1, 1)
    ]
    return "streamreasoner", count, parsed, reasoned, statistics.median(each) * 1000


def _load(files: Sequence[Path]) -> tuple[NDArray[np.int32], Kernel, float, float]:
    dictionary = Dictionary()
    kernel = Kernel(RULESET, dictionary)
    started = time.process_time()
    triples = np.concatenate([block for file in files for block in read(file, dictionary)])
    parsed = time.process_time() - started
    epoch = kernel.epoch([updates("triple", triples, 1)])
    return triples, kernel, parsed, epoch.settle + epoch.read


def generated(folder: Path, properties: int) -> Path:
    """An ontology of the given number of properties, with 50 triples for each, as N-Triples."""
    path = folder / f"{properties}.nt"
    path.write_text("".join(f"{line} .\n" for line in _lines(properties)), "utf-8")
    return path


def _lines(properties: int) -> Iterator[str]:
    chance = np.random.default_rng(properties)
    classes, nodes = properties, 20 * properties

    def iri(kind: str, number: int) -> str:
        return f"<{EX}{kind}{number}>"

    for n in range(1, classes):
        yield f"{iri('C', n)} <{RDFS}subClassOf> {iri('C', int(chance.integers(n)))}"
    for n in range(properties):
        p, family, place = iri("p", n), n - n % FAMILY, n % FAMILY
        yield f"{p} <{RDF_TYPE}> <{OWL}ObjectProperty>"
        yield f"{p} <{RDFS}domain> {iri('C', int(chance.integers(classes)))}"
        yield f"{p} <{RDFS}range> {iri('C', int(chance.integers(classes)))}"
        if place == 0:
            # Nothing else flows into it, so that its paths stay short.
            yield f"{p} <{RDF_TYPE}> <{OWL}TransitiveProperty>"
            yield f"{p} <{RDFS}subPropertyOf> {iri('p', family + 1)}"
        if place == 1:
            yield f"{p} <{RDF_TYPE}> <{OWL}SymmetricProperty>"
        if place > 1:
            other = iri("p", family + int(chance.integers(1, place)))
            axioms = (
                f"{OWL}inverseOf",
                f"{OWL}equivalentProperty",
                f"{OWL}propertyDisjointWith",
                f"{RDFS}subPropertyOf",
            )
            yield f"{p} <{axioms[n % len(axioms)]}> {other}"
        if place == FAMILY - 1:
            yield f"{p} <{OWL}propertyChainAxiom> _:l{n}"
            yield f"_:l{n} <{RDF}first> {iri('p', family)}"
            yield f"_:l{n} <{RDF}rest> _:m{n}"
            yield f"_:m{n} <{RDF}first> {iri('p', family + 2)}"
            yield f"_:m{n} <{RDF}rest> <{RDF}nil>"
        some, filler = f"_:r{n}", iri("C", int(chance.integers(classes)))
        yield f"{some} <{OWL}onProperty> {p}"
        yield f"{some} <{OWL}someValuesFrom> {filler}"
        yield f"{some} <{RDFS}subClassOf> {iri('C', int(chance.integers(classes)))}"
        for subject, object_ in chance.integers(nodes, size=(50, 2)).tolist():
            yield f"{iri('x', subject)} {p} {iri('x', object_)}"


if __name__ == "__main__":
    raise SystemExit(main())
