"""Hierarchies: what an inherited fact takes if it is stored, and if it is encoded.

    python benchmarks/hierarchy.py [--instances 1000000] [--classes 30000] [--json FILE]

Instances with one class each, of an ontology of fourteen levels where a tenth of the classes have
two parents, by the rules of ρDF; a tenth of them in a directory, whose tables have all facts; an
ontology of 350,000 classes alone; and LUBM, whose hierarchies are shallow. Each state is built
three times, in processes of their own: with all copies stored, encoded, and as the default, with
which an epoch decides (auto). Times are processor time,
bytes those of facts without terms. The claims: encoded, the instances take at most a fifth of the
memory and a third of the load, and edges that change what instances inherit take at most a tenth,
if nothing is published. All have the same number of facts, and the default encodes the instances,
and not LUBM.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from benchmarks import harness
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.engine.updates import Updates
from streamreasoner.io.formats.ntriples import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from streamreasoner.rdf.dictionary import Dictionary

LEVELS = 14
SECOND_PARENT = 0.1  # how many classes have one
SNOMED = 350_000  # its classes
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
Mode: TypeAlias = Literal["stored", "encoded", "auto"]
MODES: tuple[Mode, ...] = ("stored", "encoded", "auto")
HEADER = ("", *MODES, "encoded / stored", "auto / stored")
SHARES = {"bytes": 1 / 5, "load": 1 / 3, "edges": 1 / 10}
ROUNDS = 3


def main() -> int:
    """Measure, print the tables, and fail if a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--instances", type=int, default=1_000_000)
    arguments.add_argument("--classes", type=int, default=30_000)
    arguments.add_argument("--scale", type=int, default=10, choices=(1, 10, 50), help="of LUBM")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    figures: dict[str, Any] = harness.machine()
    sizes = options.instances, options.classes
    figures["instances"] = {mode: harness.apart(instances, mode, *sizes) for mode in MODES}
    fewer = options.instances // 10, options.classes
    figures["directory"] = {mode: harness.apart(in_a_directory, mode, *fewer) for mode in MODES}
    figures["ontology"] = {mode: harness.apart(ontology_alone, mode) for mode in MODES}
    figures["lubm"] = {mode: harness.apart(lubm, mode, options.scale) for mode in MODES}
    figures["claims"] = claims(figures["instances"], figures["lubm"])
    figures["tables"] = tables(figures, options.scale)
    harness.save(options.json, figures)
    return 0 if all(figures["claims"].values()) else 1


def instances(mode: Mode, count: int, classes: int) -> dict[str, float]:
    """What instances of a deep ontology take."""
    reasoner = Reasoner.from_rules("rho-df", hierarchies=mode)
    session = reasoner.session
    edges, things = schema_and_instances(session.dictionary, count, classes)

    def apply(args: NDArray[np.int32], sign: int, *, report: bool = False) -> int:
        rows = Updates("triple", args, np.full(len(args), sign, np.int64))
        result = session.apply([rows], report=report)
        return sum(len(block.args) for block in result.closure)

    # The first edges are above the most instances.
    top = edges[:ROUNDS]
    found = {
        "schema": timed(lambda: apply(edges, 1)),
        "load": timed(lambda: apply(things, 1)),
        "bytes": session.engine.statistics().bytes,  # before reads sort what they look up
        "facts": reasoner.size().present,
        "edges": timed(lambda: [apply(each[None], sign) for each in top for sign in (-1, 1)]),
        "published": timed(lambda: [apply(each[None], -1, report=True) for each in top]),
    }
    apply(top, 1)
    few = [(each[None], sign) for each in things[:: max(count // 100, 1)] for sign in (-1, 1)]
    found["one"] = timed(lambda: [apply(*each) for each in few]) / len(few)
    # The first sorts the instances that it looks up.
    found["first published"] = timed(lambda: apply(*few[0], report=True))
    rest = few[1:]
    found["one published"] = timed(lambda: [apply(*each, report=True) for each in rest]) / len(rest)
    return found


def in_a_directory(mode: Mode, count: int, classes: int) -> dict[str, float]:
    """What they take if the state is in a directory: in memory, to load and to open again."""
    with tempfile.TemporaryDirectory() as folder:
        with Reasoner.open(folder, "rho-df", hierarchies=mode) as reasoner:
            session = reasoner.session
            parts = schema_and_instances(session.dictionary, count, classes)
            edges, things = (
                [Updates("triple", args, np.ones(len(args), np.int64))] for args in parts
            )
            session.apply(edges)
            found = {"load": timed(lambda: session.apply(things))}
        start = time.process_time()
        with Reasoner.open(folder, hierarchies=mode) as reasoner:
            found["start"] = time.process_time() - start
            found["bytes"] = reasoner.session.engine.statistics().bytes
            found["facts"] = reasoner.size().present
        rows = DeltaTable(f"{folder}/tables/trace").to_pyarrow_dataset().count_rows()
        return {**found, "rows": rows}


def schema_and_instances(
    dictionary: Dictionary, count: int, classes: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The triples of the ontology, from the top, and of instances of the lower half of it."""
    ids = dictionary.encode(names("c", classes))
    edges = ontology(ids, dictionary.intern(SUBCLASS))
    things = np.empty((count, 3), np.int32)
    things[:, 0] = dictionary.encode(names("x", count))
    things[:, 1] = dictionary.intern(TYPE)
    things[:, 2] = ids[np.random.default_rng(0).integers(classes // 2, classes, count)]
    return edges, things


def ontology_alone(mode: Mode) -> dict[str, float]:
    """What an ontology of the size of SNOMED takes."""
    reasoner = Reasoner.from_rules("rho-df", hierarchies=mode)
    session = reasoner.session
    ids = session.dictionary.encode(names("c", SNOMED))
    edges = ontology(ids, session.dictionary.intern(SUBCLASS))
    rows = Updates("triple", edges, np.ones(len(edges), np.int64))
    return {
        "schema": timed(lambda: session.apply([rows], report=False)),
        "bytes": session.engine.statistics().bytes,
        "facts": reasoner.size().present,
    }


def names(kind: str, count: int) -> pa.LargeStringArray:
    """IRIs."""
    return pa.array([f"<http://example.org/{kind}{i}>" for i in range(count)], pa.large_string())


def ontology(ids: NDArray[np.int32], predicate: int) -> NDArray[np.int32]:
    """Edges from each class to one or two classes of the level above it, which is smaller."""
    chance = Random(0)  # noqa: S311 - the same ontology each time
    growth = len(ids) ** (1 / LEVELS)
    shares = (growth ** np.arange(LEVELS + 1) - 1) / (growth**LEVELS - 1)
    starts = np.maximum.accumulate(np.rint(shares * (len(ids) - 1)).astype(int) + (shares > 0))
    edges = []
    for level in range(1, LEVELS):
        upper = range(starts[level - 1], starts[level])
        for lower in range(starts[level], starts[level + 1]):
            parents = {chance.choice(upper) for _ in range(1 + (chance.random() < SECOND_PARENT))}
            edges += [(lower, parent) for parent in sorted(parents)]
    ends = ids[np.array(edges)]
    rows = np.column_stack([ends[:, 0], np.full(len(ends), predicate), ends[:, 1]])
    return np.ascontiguousarray(rows, np.int32)


def lubm(mode: Mode, scale: int) -> dict[str, float]:
    """What LUBM takes, with nothing published."""
    paths = harness.lubm(scale)
    reasoner = Reasoner.from_rules("rho-df", hierarchies=mode)
    session = reasoner.session

    def blocks() -> Iterator[Updates]:
        for path in paths:
            for args in read(path, session.dictionary):
                yield Updates("triple", args, np.ones(len(args), np.int64))

    return {
        "load": timed(lambda: session.load(blocks(), report=False)),
        "bytes": session.engine.statistics().bytes,
        "facts": reasoner.size().present,
    }


def timed(work: Callable[[], object]) -> float:
    """Processor time in seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def claims(
    instances: dict[str, dict[str, float]], lubm: dict[str, dict[str, float]]
) -> dict[str, bool]:
    """Which claims hold."""
    stored, encoded, auto = (instances[mode] for mode in MODES)
    found = {
        f"{each}: at most {share:.2f} of stored": encoded[each] <= share * stored[each]
        for each, share in SHARES.items()
    }
    found["as many facts"] = len({each["facts"] for each in instances.values()}) == 1
    found["LUBM: as many facts"] = len({each["facts"] for each in lubm.values()}) == 1
    found["auto: encoded"] = auto["bytes"] <= SHARES["bytes"] * stored["bytes"]
    found["LUBM: auto: stored"] = lubm["auto"]["bytes"] < 1.01 * lubm["stored"]["bytes"]
    return found


def tables(figures: dict[str, Any], scale: int) -> list[dict[str, Any]]:
    """The tables, printed."""
    rows = {
        "facts": ("facts, inherited ones included", "facts", 1),
        "memory": ("bytes of facts, MiB", "bytes", 2**20),
        "schema": ("load of the ontology, CPU s", "schema", 1),
        "load": ("load of the instances, CPU s", "load", 1),
        "edges": (f"{2 * ROUNDS} edges removed and added, CPU s", "edges", 1),
        "published": (f"{ROUNDS} edges removed, published, CPU s", "published", 1),
        "rows": ("rows of the trace in tables", "rows", 1),
        "start": ("open again, CPU s", "start", 1),
        "one": ("a type removed or added, CPU ms", "one", 1e-3),
        "first published": ("the first type removed, published, CPU ms", "first published", 1e-3),
        "one published": ("each of the next, published, CPU ms", "one published", 1e-3),
    }
    deep, shallow = figures["instances"], figures["lubm"]
    stored = ("facts", "rows", "memory", "load", "start")
    return [
        harness.print_table(
            "Instances of a deep ontology",
            HEADER,
            _rows((rows[name] for name in rows if name not in {"rows", "start"}), deep),
        ),
        harness.print_table(
            "A tenth of them in a directory",
            HEADER,
            _rows((rows[name] for name in stored), figures["directory"]),
        ),
        harness.print_table(
            f"{SNOMED:,} classes",
            HEADER,
            _rows((rows["facts"], rows["memory"], rows["schema"]), figures["ontology"]),
        ),
        harness.print_table(
            f"LUBM({scale})",
            HEADER,
            _rows((rows["facts"], rows["memory"], ("load, CPU s", "load", 1)), shallow),
        ),
        harness.print_table("Claims", ("claim", "holds"), list(figures["claims"].items())),
    ]


def _rows(
    rows: Iterable[tuple[str, str, float]], found: dict[str, dict[str, float]]
) -> list[tuple[object, ...]]:
    """A row for each figure: its name, that of each mode, and their ratios."""
    made: list[tuple[object, ...]] = []
    for name, key, unit in rows:
        stored, encoded, auto = (found[mode][key] for mode in MODES)
        shares = ((each / stored if stored else 1.0) for each in (encoded, auto))
        made.append((name, stored / unit, encoded / unit, auto / unit, *shares))
    return made


if __name__ == "__main__":
    raise SystemExit(main())
