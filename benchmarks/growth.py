"""How costs grow: one triple as the state grows, and one epoch as its updates grow.

    python benchmarks/growth.py [--scales 1 10 50] [--largest 1000000] [--json FILE]

LUBM of each scale and univ-bench are loaded under ρDF, each in a separate process. On each,
random triples are deleted one by one, and then added back. On the largest, epochs of 1, 10, ...
random triples do the same, up to `--largest` or half of the data. The floor of an epoch is its
share of the load in the same run: the cost of its triples when all were loaded together. Times are
seconds of processor time, without reading the changes. A scale without data is named and skipped.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from benchmarks.driver import Kernel, updates
from streamreasoner.io.formats.ntriples import read
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SCALES = (1, 10, 50)
SINGLES = 2_000
# Rounds by number of triples per epoch; small epochs have more.
ROUNDS, MOST = 1_000_000, 300
LEAST = 2
WARM_UP = 20_000
SWEEP = 1 << 25  # numbers of 8 bytes: larger than any cache
MICRO, MILLI = 1e6, 1e3


def main() -> int:
    """Measure each scale and print the tables; the exit code shows whether there was data."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scales", type=int, nargs="+", default=SCALES, choices=SCALES)
    arguments.add_argument("--largest", type=int, default=1_000_000, help="epoch, in triples")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    figures: dict[str, Any] = {**harness.machine(), "scales": [], "epochs": []}
    there = [scale for scale in sorted(set(options.scales)) if available(scale)]
    if not there:
        return harness.ABSENT
    for scale in there:
        largest = options.largest if scale == there[-1] else 0
        result = harness.apart(measure, scale, largest)
        figures["epochs"] = result.pop("epochs")
        figures["scales"].append(result)
    figures["tables"] = tables(figures["scales"], figures["epochs"])
    harness.save(options.json, figures)
    return 0 if all(result["same"] for result in figures["scales"]) else 1


def available(scale: int) -> bool:
    """Whether the data exists; prints a line if not."""
    try:
        harness.lubm(scale)
    except SystemExit:
        print(f"LUBM({scale}) is left out.", file=sys.stderr)
        return False
    return True


def measure(scale: int, largest: int) -> dict[str, Any]:
    """The figures of a scale; run it in a separate process."""
    dictionary = Dictionary()
    files = harness.lubm(scale)
    triples = np.concatenate([block for file in files for block in read(file, dictionary)])
    return {"scale": scale, **grow("rho-df", dictionary, distinct(triples), largest)}


def distinct(triples: NDArray[np.int32]) -> NDArray[np.int32]:
    """Triples in order without duplicates, which would stay present when deleted once."""
    subjects, predicates, objects = triples.astype(np.int64).T
    names, predicates = np.unique(predicates, return_inverse=True)
    keys = (subjects * len(names) + predicates) * (1 + objects.max()) + objects
    _, places = np.unique(keys, return_index=True)
    return triples[np.sort(places)]


def grow(
    rules: str, dictionary: Dictionary, triples: NDArray[np.int32], largest: int
) -> dict[str, Any]:
    """Load distinct triples, then remove and add random ones: one by one, and in large epochs."""
    random = np.random.default_rng(0)
    warm = Kernel(rules, dictionary)
    for sign in (1, -1, 1):
        warm.load([updates("triple", triples[:WARM_UP], sign)])
    del warm
    kernel = Kernel(rules, dictionary)
    load = kernel.load([updates("triple", triples, 1)])
    size, peak = kernel.statistics(), harness.peak_mib()
    deletes, adds = there_and_back(kernel, triples, 1, SINGLES, random)
    epochs = []
    count = 1
    while count <= min(largest, len(triples) // 2):
        rounds = max(LEAST, min(MOST, ROUNDS // count))
        out, back = there_and_back(kernel, triples, count, rounds, random)
        epochs.append(
            {
                "updates": count,
                "rounds": rounds,
                "delete": float(np.median(out)),
                "add": float(np.median(back)),
                "floor": load * count / len(triples),
            }
        )
        count *= 10
    after = kernel.statistics()
    return {
        "triples": len(triples),
        "facts": size.present,
        "load": load,
        "bytes_per_fact": size.bytes / size.facts,
        "peak_mib": peak,
        "delete": float(np.median(deletes)),
        "add": float(np.median(adds)),
        "delete_p99": float(np.percentile(deletes, 99)),
        "add_p99": float(np.percentile(adds, 99)),
        "same": (after.present, after.trace_rows) == (size.present, size.trace_rows),
        "epochs": epochs,
    }


def there_and_back(
    kernel: Kernel,
    triples: NDArray[np.int32],
    count: int,
    rounds: int,
    random: np.random.Generator,
) -> tuple[list[float], list[float]]:
    """Seconds of each epoch: all delete other triples, and then all come back, in the same order.

    The caches are flushed in between: right after its removal, the memory of a triple is cached.
    """
    rounds = max(1, min(rounds, len(triples) // count))
    chosen = random.choice(len(triples), (rounds, count), replace=False)
    seconds = []
    for sign in (-1, 1):
        np.ones(SWEEP, np.int64).sum()
        epochs = [[updates("triple", triples[places], sign)] for places in chosen]
        seconds.append([kernel.load(epoch) for epoch in epochs])
    return seconds[0], seconds[1]


def tables(
    scales: Sequence[dict[str, Any]], epochs: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The tables of the figures, printed."""
    first = scales[0]
    growth = harness.print_table(
        "One triple under rho-df, as the state grows",
        (
            "LUBM",
            "triples",
            "facts",
            "load s",
            "bytes/fact",
            "peak MiB",
            "delete µs, median",
            "p99",
            "add µs, median",
            "p99",
            "state, times the first",
            "delete, times the first",
            "add, times the first",
        ),
        [
            (
                result["scale"],
                *(
                    result[key]
                    for key in ("triples", "facts", "load", "bytes_per_fact", "peak_mib")
                ),
                *(result[key] * MICRO for key in ("delete", "delete_p99", "add", "add_p99")),
                *(result[key] / first[key] for key in ("facts", "delete", "add")),
            )
            for result in scales
        ],
    )
    if not epochs:
        return [growth]
    sizes = harness.print_table(
        f"Epochs of random triples on LUBM({scales[-1]['scale']})",
        (
            "updates",
            "rounds",
            "delete ms",
            "add ms",
            "delete / add",
            "µs per update, delete",
            "add",
            "delete / its share of the load",
            "add / its share of the load",
        ),
        [
            (
                row["updates"],
                row["rounds"],
                row["delete"] * MILLI,
                row["add"] * MILLI,
                row["delete"] / row["add"],
                *(row[key] / row["updates"] * MICRO for key in ("delete", "add")),
                *(row[key] / row["floor"] for key in ("delete", "add")),
            )
            for row in epochs
        ],
    )
    return [growth, sizes]


if __name__ == "__main__":
    raise SystemExit(main())
