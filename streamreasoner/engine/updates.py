"""Encoded collections of one predicate. Invariant: every column has as many rows as `args`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

MAX_MULTIPLICITY = 1 << 58
"""Greatest absolute value of a multiplicity."""
TRACE_EPOCHS = 1_000
"""Minimum number of recent epochs that a stored trace distinguishes; older ones may be merged."""


@dataclass(frozen=True, slots=True, eq=False)
class Updates:
    """Input of an epoch: facts of one predicate with signed multiplicities, in any order.

    Attributes:
        predicate: Name of the predicate; triples are facts of `triple`.
        args: Term ids, int32 of shape (n, arity).
        multiplicity: int64 of shape (n,).
        times: Event times in milliseconds since 1970, int64 of shape (n,); None if they have none.
        source: The source that these updates are of, if the state keeps it apart; else empty.
        order: Places in the input, ascending, int64 of shape (n,); None if they have none. Those of
            a source have one.
        iteration: That they are added at; only facts that a program states have another than 0.
    """

    predicate: str
    args: NDArray[np.int32]
    multiplicity: NDArray[np.int64]
    times: NDArray[np.int64] | None = None
    source: str = ""
    order: NDArray[np.int64] | None = None
    iteration: int = 0

    def __post_init__(self) -> None:
        if len(self.args) != len(self.multiplicity):
            _refuse(self.args, self.multiplicity)
        for column in (self.times, self.order):
            if column is not None and len(column) != len(self.args):
                _refuse(self.args, column)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Updates:
        """Some of the updates."""
        times, order = (
            None if column is None else column[rows] for column in (self.times, self.order)
        )
        args, multiplicity = self.args[rows], self.multiplicity[rows]
        return Updates(self.predicate, args, multiplicity, times, self.source, order)


@dataclass(frozen=True, slots=True, eq=False)
class TraceRows:
    """Rows of a trace: multiplicities by fact and iteration, or their signed differences.

    Attributes:
        predicate: Name of the predicate.
        args: Term ids, int32 of shape (n, arity).
        iteration: Iteration of the fixpoint, int32 of shape (n,); 0 is the asserted part.
        multiplicity: int64 of shape (n,), never 0.
    """

    predicate: str
    args: NDArray[np.int32]
    iteration: NDArray[np.int32]
    multiplicity: NDArray[np.int64]

    def __post_init__(self) -> None:
        if not len(self.args) == len(self.iteration) == len(self.multiplicity):
            _refuse(self.args, self.iteration, self.multiplicity)

    @classmethod
    def of(cls, parts: Iterable[TraceRows]) -> TraceRows:
        """Rows of one predicate as one collection; there is at least one part."""
        import numpy as np  # noqa: PLC0415 - plans are printed without it

        each = list(parts)
        if len(each) == 1:
            return each[0]
        return cls(
            each[0].predicate,
            np.concatenate([rows.args for rows in each]),
            np.concatenate([rows.iteration for rows in each]),
            np.concatenate([rows.multiplicity for rows in each]),
        )

    def take(self, rows: NDArray[np.bool_] | slice) -> TraceRows:
        """Some of the rows."""
        args, iteration, multiplicity = self.args, self.iteration, self.multiplicity
        return TraceRows(self.predicate, args[rows], iteration[rows], multiplicity[rows])


def added_by(trace: Iterable[TraceRows]) -> Iterator[Updates]:
    """What was added to facts: the rows of a trace, or of its differences, at iteration 0."""
    for rows in trace:
        at_first = rows.iteration == 0
        if at_first.any():
            yield Updates(rows.predicate, rows.args[at_first], rows.multiplicity[at_first])


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Facts of one predicate that became present (+1) or absent (-1) in an epoch.

    Attributes:
        predicate: Name of the predicate.
        args: Term ids, int32 of shape (n, arity).
        multiplicity: int8 of shape (n,), +1 or -1.
    """

    predicate: str
    args: NDArray[np.int32]
    multiplicity: NDArray[np.int8]

    def __post_init__(self) -> None:
        if len(self.args) != len(self.multiplicity):
            _refuse(self.args, self.multiplicity)

    def take(self, rows: NDArray[np.bool_]) -> Changes:
        """Some of the changes."""
        return Changes(self.predicate, self.args[rows], self.multiplicity[rows])


def check_arity(predicate: str, args: NDArray[np.int32], arities: Mapping[str, int]) -> int:
    """Check rows of ids against the arity of a predicate, and return it.

    Raises:
        EngineError: The program has no such predicate, or it has another arity.
    """
    if predicate not in arities:
        known = ", ".join(sorted(arities))
        raise EngineError(f"The program has no predicate {predicate!r}; it has {known}.")
    arity = arities[predicate]
    if args.ndim != 2 or args.shape[1] != arity:  # noqa: PLR2004 - rows and arguments
        raise EngineError(f"{predicate} has {arity} arguments, not shape {args.shape}.")
    return arity


def _refuse(*columns: NDArray[np.generic]) -> None:
    raise ValueError(f"Columns of one collection have lengths {[*map(len, columns)]}.")
