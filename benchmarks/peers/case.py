"""A task for several engines, and their results. Invariant: equal sets of facts have equal
checksums, in any order and from any engine.
"""  # noqa: D205

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.peers.clock import median

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.peers.clock import Seconds

INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
FACTOR = np.uint64(0x9E37_79B9_7F4A_7C15)
SHIFT = np.uint64(29)
TIMES = ("load", "remove", "add", "batch_remove", "batch_add", "reading")


def integers(numbers: NDArray[np.integer]) -> pa.Array:
    """Canonical terms of integers."""
    texts = pc.cast(pa.array(numbers), pa.string())
    return pc.binary_join_element_wise('"', texts, f'"^^{INTEGER}', "")


def numbers(terms: pa.Array) -> NDArray[np.int64]:
    """The inverse of `integers`."""
    digits = pc.utf8_slice_codeunits(terms, 1, -len(INTEGER) - 3)
    return np.asarray(pc.cast(digits, pa.int64()), np.int64)


@dataclass(frozen=True, slots=True)
class Case:
    """A program, its input, and the updates to it.

    Attributes:
        name: Title of the table.
        task: Name of the program in the crates of peers, or "" if none has it.
        rules: The program in our language.
        inputs: The input predicates. If there are several, column 0 of a row is the index of its
            predicate and the rest are its arguments, with 0 in columns that it does not have; if
            there is one, all columns are.
        outputs: The derived predicates that are compared.
        rows: The input, int32 of shape (n, columns), distinct.
        singles: Rows of the input that are removed and added back one by one.
        batch: Rows of the input that are removed and added back together.
        parameters: Numbers that the crates' programs need.
        terms: From the numbers in rows to canonical terms.
        numbers: From terms to numbers.
        widths: The columns of each input predicate, where they differ.
    """

    name: str
    task: str
    rules: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rows: NDArray[np.int32]
    singles: NDArray[np.int32]
    batch: NDArray[np.int32]
    parameters: tuple[int, ...] = ()
    terms: Callable[[NDArray[np.integer]], pa.Array] = integers
    numbers: Callable[[pa.Array], NDArray[np.int64]] = numbers
    widths: tuple[int, ...] = ()

    def split(self, rows: NDArray[np.int32]) -> dict[str, NDArray[np.int32]]:
        """Arguments by input predicate; those of shape (0, n) are left out."""
        if len(self.inputs) == 1:
            return {self.inputs[0]: rows}
        widths = self.widths or [rows.shape[1] - 1] * len(self.inputs)
        parts = {
            name: rows[rows[:, 0] == i, 1 : 1 + width]
            for i, (name, width) in enumerate(zip(self.inputs, widths, strict=True))
        }
        return {name: part for name, part in parts.items() if len(part)}


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of an engine for a case; None if not measured.

    Attributes:
        engine: Its name and how it was run.
        load: From the input in memory to the fixpoint.
        facts: Number of facts by predicate, asserted and derived.
        checksums: `checksum` of the facts by predicate; empty if only their numbers are known.
        remove: Median for one row.
        add: Median for one row.
        batch_remove: For all rows of the batch.
        batch_add: For all rows of the batch.
        peak_bytes: Peak memory of a process that only runs this case.
        reading: What of the load was reading files, for an engine that takes no others.
    """

    engine: str
    load: Seconds
    facts: Mapping[str, int]
    checksums: Mapping[str, int] = field(default_factory=dict)
    remove: Seconds | None = None
    add: Seconds | None = None
    batch_remove: Seconds | None = None
    batch_add: Seconds | None = None
    peak_bytes: int | None = None
    reading: Seconds | None = None

    def differs(self, other: Result) -> bool:
        """Whether the two derived different facts, as far as both report them."""
        return any(
            mine[name] != theirs[name]
            for mine, theirs in ((self.facts, other.facts), (self.checksums, other.checksums))
            for name in mine.keys() & theirs.keys()
        )


def choose(
    rows: NDArray[np.int32], singles: int, batch: int, seed: int = 0
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Random rows to remove and add back: some one by one, and some together."""
    random = np.random.default_rng(seed)
    one, all_ = (
        random.choice(len(rows), min(count, len(rows)), replace=False) for count in (singles, batch)
    )
    return rows[one], rows[all_]


def checksum(facts: NDArray[np.integer]) -> int:
    """A checksum of distinct facts, int of shape (n, arity); missing ones of three are 0."""
    cells = np.zeros((len(facts), max(3, facts.shape[1])), np.uint32)
    cells[:, : facts.shape[1]] = facts.astype(np.uint32)
    hashes = np.zeros(len(facts), np.uint64)
    for column in cells.T:
        hashes = (hashes ^ column.astype(np.uint64)) * FACTOR
        hashes ^= hashes >> SHIFT
    return int(hashes.sum(dtype=np.uint64))


def middle(results: Sequence[Result]) -> Result:
    """One result of an engine's runs of a case: medians, and the greatest memory.

    Raises:
        RuntimeError: The runs derived different facts.
    """
    first = results[0]
    if any(result.differs(first) for result in results):
        raise RuntimeError(f"{first.engine} does not derive the same facts in each run.")
    times = {
        name: median(value for result in results if (value := getattr(result, name)) is not None)
        for name in TIMES
    }
    peaks = [result.peak_bytes for result in results if result.peak_bytes is not None]
    return replace(first, **times, peak_bytes=max(peaks, default=None))
