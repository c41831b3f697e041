"""What an epoch of one row costs, with its changes read out and without.

    python benchmarks/single_rows.py [--epochs 4000] [--json FILE]

One row is removed and added, over and over, in small states that fit the caches, so what is left is
what each epoch costs however little it changes. The floor, in turns in the same run, is the same
epoch without reading its changes. Claim: reading them takes no longer than the rest of the epoch.
Times are of the processor, on one core, and the least of some rounds.
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
from benchmarks.driver import cpu, updates
from streamreasoner import Reasoner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ROUNDS, MICROSECONDS, RATIO = 5, 1e6, 2.0
A, SUB = (
    "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
    "<http://www.w3.org/2000/01/rdf-schema#subClassOf>",
)
CLOSURE = "p(?x, ?y) :- e(?x, ?y) .\np(?x, ?z) :- p(?x, ?y), e(?y, ?z) ."
TRIANGLES = """
arc(?x, ?y) :- e(?x, ?y), ?x != ?y .
link(?x, ?y) :- arc(?x, ?y) .
triangle(?x, ?y, ?z) :- link(?x, ?y), link(?y, ?z), link(?x, ?z) .
"""


def name(number: int) -> str:
    """A term."""
    return f"<http://example.org/{number}>"


SCHEMA = ((name(1), SUB, name(2)), (name(2), SUB, name(3)))
TYPES = tuple((name(number), A, name(1)) for number in range(10, 40))
PLAIN = tuple((name(number), name(4), name(5)) for number in range(10, 40))
PATHS = tuple((name(2 * number), name(2 * number + 1)) for number in range(200))
GRAPH = tuple({(name(number % 97), name(number * number % 89)) for number in range(400)})
# What it is, the rules, the predicate, all rows, and those of them that go and come back.
CASES: tuple[tuple[str, str, str, Sequence[Sequence[str]], Sequence[Sequence[str]]], ...] = (
    ("no rule matches", "q(?x) :- [?x, <urn:p>, ?x] .", "triple", PLAIN, PLAIN),
    ("rho-df, no consequence", "rho-df", "triple", SCHEMA + TYPES + PLAIN, PLAIN),
    ("rho-df, a type", "rho-df", "triple", SCHEMA + TYPES + PLAIN, TYPES),
    ("closure, an edge", CLOSURE, "e", PATHS, PATHS[:20]),
    ("triangles, an edge", TRIANGLES, "e", GRAPH, GRAPH[:20]),
)


def main() -> int:
    """Measure, print the table, and fail if the claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--epochs", type=int, default=4_000)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows: list[tuple[Any, ...]] = []
    for case, rules, predicate, loaded, moved in CASES:
        reasoner = Reasoner.from_rules(rules)
        reasoner.session.engine.apply(0, [updates(predicate, encoded(reasoner, loaded), 1)])
        chosen = encoded(reasoner, moved)
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(ROUNDS):
            for report, seconds in times.items():
                taken = run(reasoner, predicate, chosen, options.epochs, report=report)
                seconds.append(taken * MICROSECONDS)
        read, unread = min(times[True]), min(times[False])
        rows.append((case, read, unread, read / unread))
    header = ("one row", "read out, us", "not read, us", "ratio")
    printed = harness.print_table("An epoch of one row", header, rows)
    harness.save(options.json, {**harness.machine(), "rows": rows, "tables": [printed]})
    return int(any(row[3] > RATIO for row in rows))


def encoded(reasoner: Reasoner, rows: Sequence[Sequence[str]]) -> NDArray[np.int32]:
    """Ids of rows of terms."""
    terms = pa.array([term for row in rows for term in row])
    return np.asarray(reasoner.session.dictionary.encode(terms)).reshape(len(rows), -1)


def run(
    reasoner: Reasoner, predicate: str, rows: NDArray[np.int32], epochs: int, *, report: bool
) -> float:
    """Seconds of an epoch, of which half remove a row and the others add it again."""
    inputs = [
        [updates(predicate, rows[at : at + 1], sign)] for at in range(len(rows)) for sign in (-1, 1)
    ]

    def apply() -> None:
        for epoch in range(epochs):
            reasoner.session.engine.apply(epoch, inputs[epoch % len(inputs)], report=report)

    # An even number of epochs of each row leaves the state as it was.
    epochs -= epochs % len(inputs)
    return cpu(apply) / epochs


if __name__ == "__main__":
    raise SystemExit(main())
