"""A large state: what its facts take in time and memory as it is loaded, and as it changes.

    python benchmarks/large.py [--facts 10 50] [--json FILE]

Sizes are in millions of facts; 250 million need 20 GiB of free memory and some minutes. Instances
of 64 classes in a tree of four levels, with a type, a name and four links to other instances each,
are loaded under ρDF from Arrow tables of 600,000 rows, an epoch each, which are made as they are
loaded. An instance is ten facts, of which four are derived and stored, and two terms. Each size is
in a process of its own. Times are processor time, without making the tables. Memory is counted
from an empty reasoner on: the peak, what is resident after the load, and what the state uses.

Then random facts are removed and added back, one by one and a thousand at a time, and so are edges
between classes; the state must then be as before. The claims compare the largest size with the
smallest: the load of a fact takes at most twice as long, a change of one fact at most four times as
long. A fact takes at most 80 bytes, terms included, and the load at its peak at most a tenth more
than the state, besides 400 MiB for an epoch of 600,000 rows.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import harness
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.engine.updates import Updates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

SIZES = (10, 50)
MILLION, MEBIBYTE = 10**6, 1 << 20
FACTS = 10  # of an instance
CHUNK = 100_000  # instances of an epoch
FAN, LEVELS = 4, 3  # of the tree of classes; its root is above them
LEAVES = FAN**LEVELS
NEAR = 1_000  # how far links lead, but for the last one, which leads anywhere
LINKS = 4
WAYS = {"removed": -1, "added": 1}
SINGLES, THOUSANDS, EDGES = 1_000, 20, 3
MOST_LOAD, MOST_CHANGE, MOST_BYTES = 2, 4, 80
MOST_PEAK, EPOCH_MIB = 1.1, 400

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
UNIVERSITY = "http://example.org/university#"
NAME = f"<{UNIVERSITY}name>"


def main() -> int:
    """Measure, print the tables, and fail if a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--facts", type=int, nargs="+", default=SIZES, metavar="MILLIONS")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    figures: dict[str, Any] = harness.machine()
    figures["sizes"] = []
    for millions in sorted(options.facts):
        figures["sizes"].append(harness.apart(measure, millions))
        print(figures["sizes"][-1], flush=True)
    figures["claims"] = claims(figures["sizes"])
    figures["tables"] = tables(figures)
    harness.save(options.json, figures)
    return 0 if all(figures["claims"].values()) else 1


# The data ----------------------------------------------------------------------------------------


def schema() -> pa.Table:
    """The tree of classes; what each branch of it links with; one property above another."""
    rows = []
    for level in range(1, LEVELS + 1):
        for number in range(FAN**level):
            above = class_of(level - 1, number // FAN)
            rows.append((class_of(level, number), f"<{RDFS}subClassOf>", above))
    for branch in range(FAN):
        for link in range(LINKS):
            rows.append((link_of(branch, link), f"<{RDFS}domain>", class_of(1, branch)))
            rows.append((link_of(branch, link), f"<{RDFS}range>", class_of(0, 0)))
        rows.append((link_of(branch, 0), f"<{RDFS}subPropertyOf>", f"<{UNIVERSITY}linked>"))
    return table(*map(pa.array, zip(*rows, strict=True)))


def class_of(level: int, number: int) -> str:
    """A class of the tree."""
    return f"<{UNIVERSITY}Class{level}-{number}>"


def link_of(branch: int, link: int) -> str:
    """A property of the instances of a branch."""
    return f"<{UNIVERSITY}link{branch}-{link}>"


def instances(numbers: NDArray[np.int64], count: int) -> pa.Table:
    """The triples of some of *count* instances: their types, names and links, in this order."""
    rows = len(numbers)
    leaves = chance(numbers, 0) % LEAVES
    classes = pa.array([class_of(LEVELS, leaf) for leaf in range(LEAVES)])
    links = pa.array([link_of(*divmod(each, LINKS)) for each in range(FAN * LINKS)])
    branches = leaves // (LEAVES // FAN)
    targets = [
        (numbers + 1 + chance(numbers, 1 + link) % NEAR) % count for link in range(LINKS - 1)
    ]
    targets.append(chance(numbers, LINKS) % count)
    subjects = names(numbers)
    columns = [
        (pa.repeat(TYPE, rows), classes.take(pa.array(leaves))),
        (pa.repeat(NAME, rows), joined('"name of ', numbers, '"')),
        *(
            (links.take(pa.array(branches * LINKS + link)), names(target))
            for link, target in enumerate(targets)
        ),
    ]
    predicates, objects = map(pa.concat_arrays, zip(*columns, strict=True))
    return table(pa.concat_arrays([subjects] * len(columns)), predicates, objects)


def names(numbers: NDArray[np.int64]) -> pa.StringArray:
    """IRIs of instances, a thousand in each department."""
    departments = joined("<http://www.department", numbers // NEAR, ".example.org/person")
    return pc.binary_join_element_wise(departments, joined("", numbers % NEAR, ">"), "")


def joined(before: str, numbers: NDArray[np.int64], after: str) -> pa.StringArray:
    """Texts with a number in each."""
    return pc.binary_join_element_wise(before, pa.array(numbers).cast(pa.string()), after, "")


def chance(numbers: NDArray[np.int64], which: int) -> NDArray[np.int64]:
    """Numbers that look random, the same for the same arguments: SplitMix64."""
    mixed = numbers.astype(np.uint64) * np.uint64(8) + np.uint64(which)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed >> np.uint64(33)).astype(np.int64)


def table(subjects: pa.Array, predicates: pa.Array, objects: pa.Array) -> pa.Table:
    """Triples, as `apply_arrow` takes them."""
    return pa.table({"s": subjects, "p": predicates, "o": objects})


# Measuring ---------------------------------------------------------------------------------------


def measure(millions: int) -> dict[str, Any]:
    """Load a state of some million facts, and change it; run it in a separate process."""
    count = millions * MILLION // FACTS
    warm_up()
    reasoner = Reasoner.from_rules("rho-df", hierarchies="stored")
    reasoner.apply_arrow(schema())
    resident = harness.resident_mib()
    asserted, seconds = load(reasoner, count)
    peak = MEBIBYTE * (harness.peak_mib() - resident)
    kept = MEBIBYTE * (harness.resident_mib() - resident)
    engine = reasoner.session.engine
    sizes = engine.statistics()
    before = sizes.present, sizes.trace_rows
    found = {
        "millions": millions,
        "facts": sizes.present,
        "asserted": asserted,
        "terms": len(reasoner.session.dictionary),
        "load": seconds,
        "load_ns": seconds / sizes.present * 1e9,
        "bytes_of_facts": sizes.bytes / sizes.present,
        "bytes": sizes.capacity.bytes / sizes.present,
        "resident": kept / sizes.present,
        "peak": peak / sizes.present,
        "peak_mib": peak / MEBIBYTE,
        "fill": 100 * sizes.capacity.records.ratio,
        **changes(reasoner, count),
    }
    sizes = engine.statistics()
    return {**found, "same": before == (sizes.present, sizes.trace_rows)}


def load(reasoner: Reasoner, count: int) -> tuple[int, float]:
    """Load all instances; returns the number of triples, and seconds of processor time."""
    asserted, seconds = 0, 0.0
    for start in range(0, count, CHUNK):
        rows = instances(np.arange(start, min(start + CHUNK, count)), count)
        asserted += len(rows)
        seconds += cpu(partial(reasoner.apply_arrow, rows))
    return asserted, seconds


def warm_up() -> None:
    """Compile everything that is timed later, or load it from the cache."""
    reasoner = Reasoner.from_rules("rho-df", hierarchies="stored")
    reasoner.apply_arrow(schema())
    few = instances(np.arange(NEAR), NEAR)
    for sign in (1, -1):
        reasoner.session.apply([encoded(reasoner, few, sign)])


def changes(reasoner: Reasoner, count: int) -> dict[str, float]:
    """What it takes to remove facts and to add them back."""
    random = np.random.default_rng(0)

    def some(size: int) -> NDArray[np.int32]:
        """Triples of random instances, one of each."""
        numbers = random.choice(count, size, replace=False)
        rows = encoded(reasoner, instances(numbers, count), 1).args.reshape(-1, size, 3)
        return np.ascontiguousarray(rows[random.integers(0, len(rows), size), np.arange(size)])

    found = there_and_back(reasoner, some(SINGLES)[:, None], "one")
    thousands = some(THOUSANDS * SINGLES).reshape(THOUSANDS, SINGLES, 3)
    found |= there_and_back(reasoner, thousands, "thousand")
    edges = encoded(reasoner, schema(), 1).args
    leaves = edges[edges[:, 1] == reasoner.session.dictionary.intern(f"<{RDFS}subClassOf>")]
    return found | there_and_back(reasoner, leaves[-EDGES:, None], "edge")


def there_and_back(reasoner: Reasoner, epochs: NDArray[np.int32], name: str) -> dict[str, float]:
    """Milliseconds of an epoch, the median, and facts that one of them changes on average.

    All are removed, and then all come back, so that nothing is in the cache when it does.
    """
    found: dict[str, float] = {}
    changed = 0
    for way, sign in WAYS.items():
        seconds = []
        for rows in epochs:
            updates = [Updates("triple", rows, np.full(len(rows), sign, np.int64))]
            started = time.process_time()
            result = reasoner.session.apply(updates)
            changed += sum(len(each.multiplicity) for each in result.closure)
            seconds.append(time.process_time() - started)
        found[f"{name}_{way}"] = median(seconds) * 1e3
    return {**found, f"{name}_changes": changed / (2 * len(epochs))}


def encoded(reasoner: Reasoner, rows: pa.Table, sign: int) -> Updates:
    """Triples as updates."""
    columns = [reasoner.session.dictionary.encode(column) for column in rows.columns]
    args = np.ascontiguousarray(np.column_stack(columns), np.int32)
    return Updates("triple", args, np.full(len(args), sign, np.int64))


def cpu(work: Callable[[], object]) -> float:
    """Seconds of processor time of a call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def claims(sizes: Sequence[dict[str, Any]]) -> dict[str, bool]:
    """What is claimed, and whether it holds."""
    least, most = sizes[0], sizes[-1]
    ones = ("one_removed", "one_added")
    return {
        f"the load of a fact takes at most {MOST_LOAD} times as long": most["load_ns"]
        <= MOST_LOAD * least["load_ns"],
        f"a change of one fact takes at most {MOST_CHANGE} times as long": all(
            most[one] <= MOST_CHANGE * least[one] for one in ones
        ),
        f"at most {MOST_BYTES} bytes a fact": all(each["bytes"] <= MOST_BYTES for each in sizes),
        f"a peak of at most {MOST_PEAK} times the state, and {EPOCH_MIB} MiB": all(
            each["peak_mib"] <= MOST_PEAK * each["bytes"] * each["facts"] / MEBIBYTE + EPOCH_MIB
            for each in sizes
        ),
        "after all changes the state is as before": all(each["same"] for each in sizes),
    }


LOAD = (
    ("facts", "facts"),
    ("asserted", "asserted"),
    ("terms", "terms"),
    ("load, CPU s", "load"),
    ("ns a fact", "load_ns"),
)
MEMORY = (
    ("records, tables, groups", "bytes_of_facts"),
    ("with terms", "bytes"),
    ("resident after the load", "resident"),
    ("peak of the load", "peak"),
    ("peak, MiB", "peak_mib"),
    ("addresses in use, %", "fill"),
)
CHANGES = (
    ("a fact", "one"),
    ("1,000 facts", "thousand"),
    ("an edge between classes", "edge"),
)


def tables(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables, printed."""
    sizes = figures["sizes"]
    return [
        harness.print_table(
            "Loads", [name for name, _ in LOAD], [[each[key] for _, key in LOAD] for each in sizes]
        ),
        harness.print_table(
            "Bytes of a fact",
            ("facts", *(name for name, _ in MEMORY)),
            [[each["facts"], *(each[key] for _, key in MEMORY)] for each in sizes],
        ),
        harness.print_table(
            "Changes, milliseconds of processor time",
            ("epoch of", "facts", "changes", "removed", "added"),
            [
                (name, each["facts"], *(each[f"{key}_{what}"] for what in ("changes", *WAYS)))
                for name, key in CHANGES
                for each in sizes
            ],
            "Changes: facts that appear or disappear, on average. Times are medians.",
        ),
        harness.print_table("Claims", ("claim", "holds"), list(figures["claims"].items())),
    ]


if __name__ == "__main__":
    sys.exit(main())
