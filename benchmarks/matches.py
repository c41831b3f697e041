"""What a match costs that computes a value, and what matches cost that are only counted.

    python benchmarks/matches.py [--terms 300] [--json FILE]

Every pair of some terms is a fact, and a rule applies a function to each pair. The floor, in the
same run, is the rule that copies the pairs; the peer is the same function in Python, called for
each pair without a reasoner. Claims: functions that kernels compute take at most 5 times the floor,
and so does one in Python that is called with few distinct arguments.

Rules whose atoms bind nothing that is needed are loaded, and one fact is added and removed;
in the same run, the same matches with a comparison that needs each of them. Claim: a load
takes at most a tenth. Times are of the processor, the least of some loads, on one core.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from benchmarks.driver import Kernel, cpu, updates
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.values import builtins
from streamreasoner.values.builtins import TESTS

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, RATIO, NANOSECONDS, CALLS = 3, 5.0, 1e9, 20_000
XSD = "http://www.w3.org/2001/XMLSchema#"


def integer(number: int) -> str:
    """An integer from 1 on."""
    return to_ntriples(number + 1)


def decimal(number: int) -> str:
    """A decimal, not whole."""
    return f'"{number}.25"^^<{XSD}decimal>'


def name(number: int) -> str:
    """A string; a tenth of them are parts of others."""
    return to_ntriples(f"thing {number}" if number % 10 else f"{number // 10}")


FLOOR = "copy"
# The function, what applies it to ?x and ?y, and the terms; it reads as many of them as it names.
FUNCTIONS: tuple[tuple[str, str, Callable[[int], str]], ...] = (
    (FLOOR, "", integer),
    ("+", "?x + ?y", integer),
    ("/", "?x / ?y", integer),
    ("*", "?x * ?y", decimal),
    ("%", "?x % ?y", decimal),
    ("starts_with", "starts_with(?x, ?y)", name),
    ("contains", "contains(?x, ?y)", name),
    ("length", "length(?x)", name),
    ("concat", "concat(?x, ?y)", name),
    ("upper", "upper(?x)", name),
    ("md5", "md5(?x)", name),
)
DISTINCT = (("strbefore", "strbefore(?x, ?y)", name), ("**", "?x ** ?y", decimal))
"""Functions in Python of all pairs: nothing that the kernel remembers is asked for again."""
# A rule that counts, the same that needs each fact, and how many facts each predicate has.
COUNTED = (
    ("q(1) :- a(_, _), b(_, _) .", "q(1) :- a(?x, _), b(?y, _), ?x != ?y .", (3_000, 3_000)),
    (
        "q(1) :- a(_, _), b(_, _), c(_, _) .",
        "q(1) :- a(?x, _), b(?y, _), c(?z, _), ?x != ?y, ?y != ?z, ?z != ?x .",
        (200, 200, 200),
    ),
    ("q(?k) :- a(_, ?k), b(_, ?k) .", "q(?k) :- a(?x, ?k), b(?y, ?k), ?x != ?y .", (9_000, 9_000)),
)
KEYS = 10
TENTH = 0.1


def main() -> int:
    """Measure, print the table, and fail if a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--terms", type=int, default=300)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    floor = 0.0
    rows: list[tuple[Any, ...]] = []
    for function, expression, term in (*FUNCTIONS, *DISTINCT):
        load(10, function, expression, term)  # compiles, or loads from the cache
        ours = min(load(options.terms, function, expression, term) for _ in range(ROUNDS))
        floor = floor or ours
        peer = "" if function == FLOOR else python(options.terms, function, expression, term)
        rows.append((expression or FLOOR, ours, ours / floor, peer))
    header = ("of each pair", "ns a pair", "of the floor", "Python alone, ns")
    printed = harness.print_table(f"Functions of {options.terms**2:,} pairs", header, rows)
    changes = [change for rules in COUNTED for change in compare(*rules, options.terms)]
    header = ("a rule", "matches", "counted, ms", "walked, ms", "counted / walked")
    tables = [printed, harness.print_table("Matches that are only counted", header, changes)]
    figures = {"rows": rows, "changes": changes, "tables": tables}
    harness.save(options.json, {**harness.machine(), **figures})
    slow = any(row[2] > RATIO for row in rows[: len(FUNCTIONS)])
    return int(slow or any(change[4] > TENTH for change in changes[::2]))


def load(terms: int, function: str, expression: str, term: Callable[[int], str]) -> float:
    """Nanoseconds a pair to load all pairs into a new state."""
    body = f", {expression}" if function in TESTS else ""
    value = expression if expression and not body else "?x"
    dictionary = Dictionary()
    kernel = Kernel(f"r(?y, {value}) :- pair(?x, ?y){body} .", dictionary)
    ids = dictionary.encode(pa.array([term(i) for i in range(terms)]))
    pairs = np.stack([np.repeat(ids, terms), np.tile(ids, terms)], axis=1)
    return kernel.load([updates("pair", pairs, 1)]) / len(pairs) * NANOSECONDS


def compare(
    counted: str, walked: str, sizes: tuple[int, ...], terms: int
) -> list[tuple[str, int, float, float, float]]:
    """Milliseconds of a load and of changes of one fact, of a rule that counts and one that walks.

    Raises:
        AssertionError: They derive something else.
    """
    scale = min(1.0, terms / 300)
    both = [changed(rule, [int(size * scale) for size in sizes]) for rule in (counted, walked)]
    (loaded, single, traces), (walk, walk_single, expected) = both
    assert traces == expected, counted
    matches = sum(traces.values())
    return [
        (counted, matches, loaded, walk, loaded / walk),
        (
            "one fact of it",
            matches // int(sizes[0] * scale),
            single,
            walk_single,
            single / walk_single,
        ),
    ]


def changed(rule: str, sizes: list[int]) -> tuple[float, float, dict[tuple[int, ...], int]]:
    """Milliseconds of a load, and of adding and removing a fact; the multiplicities of results."""
    dictionary = Dictionary()
    numbers = [dictionary.intern(integer(i)) for i in range(KEYS)]
    names = "abc"[: len(sizes)]
    terms = iter(dictionary.encode(pa.array([name(i) for i in range(sum(sizes))])))
    facts = {
        each: [(next(terms), numbers[i % KEYS]) for i in range(size)]
        for each, size in zip(names, sizes, strict=True)
    }
    batches = [updates(each, rows, 1) for each, rows in facts.items()]
    one = facts["a"][:1]
    loads, singles = [], []
    for _ in range(ROUNDS):
        kernel = Kernel(rule, dictionary)
        loads.append(kernel.load(batches))
        singles += [kernel.load([updates("a", one, sign)]) for sign in (-1, 1)]
    trace = kernel.trace("q")
    rows = zip(map(tuple, trace.args.tolist()), trace.multiplicity.tolist(), strict=True)
    return min(loads) * 1000, min(singles) * 1000, dict(rows)


def python(terms: int, function: str, expression: str, term: Callable[[int], str]) -> float:
    """Nanoseconds a call of the function on terms."""
    names = [term(i) for i in range(terms)]
    count = 2 if "?y" in expression else 1
    calls = [[names[i % terms], names[i // terms % terms]][:count] for i in range(CALLS)]
    apply = builtins.test if function in TESTS else builtins.apply
    return cpu(lambda: [apply(function, each) for each in calls]) / CALLS * NANOSECONDS


if __name__ == "__main__":
    raise SystemExit(main())
