"""What a reasoner returns: facts, traces and differences. Invariant: decoded when they are read.

A result keeps the term ids, and decodes them at first use, so that an epoch whose difference is not
read, or read as a table, creates no Python object for a term.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from streamreasoner.api import shown, tables
from streamreasoner.api.nodes import from_ntriples
from streamreasoner.api.tables import ITERATION, MULTIPLICITY
from streamreasoner.api.typed import typed
from streamreasoner.api.updates import Update, Violation
from streamreasoner.counts import counted
from streamreasoner.engine.input.registers import NO_FRONTIER
from streamreasoner.engine.updates import Changes, TraceRows
from streamreasoner.errors import DataError
from streamreasoner.facts import decode_rows
from streamreasoner.program.columns import column_names
from streamreasoner.program.unknown import unknown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    import pyarrow as pa
    from numpy.typing import NDArray

    from streamreasoner.api.nodes import PythonTerm
    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.engine.session import Session
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.program.constraints import Constraint
    from streamreasoner.rdf.dictionary import Dictionary

Row = TypeVar("Row")


class Rows(Sequence[Row], ABC):
    """Rows of one predicate; equal to any sequence of the same rows."""

    @abstractmethod
    def _first(self, count: int) -> Self:
        """At most so many of the rows."""

    @abstractmethod
    def _decoded(self) -> list[Row]:
        """All rows."""

    @abstractmethod
    def to_arrow(self, *, types: bool = False) -> pa.Table:
        """As an Arrow table; see `api.tables` for the columns of terms.

        Args:
            types: Whether columns of terms of one kind have values, see `api.typed`.
        """

    @cached_property
    def _rows(self) -> list[Row]:
        return self._decoded()

    def to_pandas(self, *, types: bool = False) -> Any:
        """As a `pandas.DataFrame`, with the columns of `to_arrow`.

        Raises:
            EnvironmentSetupError: pandas is not installed.
        """
        return tables.to_pandas(self.to_arrow(types=types))

    def to_polars(self, *, types: bool = False) -> Any:
        """As a `polars.DataFrame`, with the columns of `to_arrow`.

        Raises:
            EnvironmentSetupError: polars is not installed.
        """
        return tables.to_polars(self.to_arrow(types=types))

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self._rows[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return self._rows == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return shown.text(self._first(shown.ROWS), len(self))

    def _repr_html_(self) -> str:
        return shown.html_table(self._first(shown.ROWS).to_arrow(), len(self))


class Facts(Rows["tuple[PythonTerm, ...]"]):
    """The facts of a predicate: a sequence of tuples of Python terms, in any order.

    Args:
        columns: The columns of the arguments.
        args: Term ids, int32 of shape (n, arity).
        dictionary: Has the terms.
    """

    def __init__(
        self, columns: tuple[str, ...], args: NDArray[np.int32], dictionary: Dictionary
    ) -> None:
        self._columns = columns
        self._args = args
        self._dictionary = dictionary

    def __len__(self) -> int:
        return len(self._args)

    def to_arrow(self, *, types: bool = False) -> pa.Table:
        """As an Arrow table, with the columns that `program.columns` names.

        Args:
            types: Whether columns of terms of one kind have values, see `api.typed`.
        """
        table = tables.facts_table(self._columns, self._args, self._dictionary)
        return typed(table, table.column_names) if types else table

    def _first(self, count: int) -> Facts:
        return Facts(self._columns, self._args[:count], self._dictionary)

    def _decoded(self) -> list[tuple[PythonTerm, ...]]:
        return decode_rows(self._args, self._dictionary, from_ntriples)


class GoalFacts(Facts):
    """The facts that match a goal.

    Attributes:
        how: How they were found, in a sentence: what was read, or why all rules were evaluated.

    Args:
        columns: The columns of the arguments.
        args: Term ids, int32 of shape (n, arity).
        dictionary: Has the terms.
        how: How they were found.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        args: NDArray[np.int32],
        dictionary: Dictionary,
        how: str,
    ) -> None:
        super().__init__(columns, args, dictionary)
        self.how = how


class Trace(Rows["tuple[tuple[PythonTerm, ...], int, int]"]):
    """A trace: a sequence of (arguments, iteration, multiplicity), in any order.

    Args:
        columns: The columns of the arguments.
        rows: The rows of one predicate.
        dictionary: Has the terms.
    """

    def __init__(self, columns: tuple[str, ...], rows: TraceRows, dictionary: Dictionary) -> None:
        self._columns = columns
        self._trace = rows
        self._dictionary = dictionary

    def __len__(self) -> int:
        return len(self._trace.args)

    def to_arrow(self, *, types: bool = False) -> pa.Table:
        """As an Arrow table: the columns that `program.columns` names, `iteration`, `multiplicity`.

        Args:
            types: Whether columns of terms of one kind have values, see `api.typed`.
        """
        rows = self._trace
        others = {ITERATION: rows.iteration, MULTIPLICITY: rows.multiplicity}
        table = tables.facts_table(self._columns, rows.args, self._dictionary, **others)
        return typed(table, table.column_names[: rows.args.shape[1]]) if types else table

    def _first(self, count: int) -> Trace:
        rows = self._trace
        first = TraceRows(
            rows.predicate, rows.args[:count], rows.iteration[:count], rows.multiplicity[:count]
        )
        return Trace(self._columns, first, self._dictionary)

    def _decoded(self) -> list[tuple[tuple[PythonTerm, ...], int, int]]:
        rows = self._trace
        return list(
            zip(
                decode_rows(rows.args, self._dictionary, from_ntriples),
                rows.iteration.tolist(),
                rows.multiplicity.tolist(),
                strict=True,
            )
        )


@dataclass(frozen=True, slots=True)
class Size:
    """How many facts there are.

    Attributes:
        present: Facts present: the closure.
        asserted: Those among them that are asserted.
    """

    present: int
    asserted: int

    @property
    def derived(self) -> int:
        """Those among them that are not asserted."""
        return self.present - self.asserted


@dataclass(frozen=True, eq=False)
class Diff:
    """What one epoch changed, but for the facts of predicates declared with `@hidden`.

    Attributes:
        epoch: Logical time of the epoch, counted from 0.
        iterations: Iterations that the epoch touched, summed over strata.
        frontier: The event time up to which facts have expired, in milliseconds since 1970; None
            before the first.
    """

    epoch: int
    iterations: int
    frontier: int | None
    _arities: Mapping[str, int] = field(repr=False)
    _program: CheckedProgram = field(repr=False)
    _visible: frozenset[str] = field(repr=False)
    _closure: tuple[Changes, ...] = field(repr=False)
    _derived: tuple[Changes, ...] = field(repr=False)
    _constraints: Mapping[str, Constraint] = field(repr=False)
    _dictionary: Dictionary = field(repr=False)

    @classmethod
    def of(cls, session: Session, result: EpochResult, before: CheckedProgram | None) -> Diff:
        """What an epoch of a session changed.

        Args:
            session: The session.
            result: The epoch, which is its last one.
            before: The program before the epoch, if it has changed it.
        """
        program = session.program
        programs = [program] if before is None else [before, program]
        return cls(
            result.epoch,
            result.iterations,
            None if result.frontier == NO_FRONTIER else result.frontier,
            session.arities,
            program,
            frozenset(name for each in programs for name in each.visible),
            tuple(result.closure),
            tuple(result.derived),
            {name: item for each in programs for name, item in each.constraints.items()},
            session.dictionary,
        )

    def with_hidden(self) -> Diff:
        """The same, with the facts of hidden predicates."""
        return replace(self, _visible=frozenset(self._arities))

    @cached_property
    def changes(self) -> tuple[Update, ...]:
        """Facts that became present (+1) or absent (-1), asserted and derived alike."""
        return self._updates(self._closure)

    @cached_property
    def derived(self) -> tuple[Update, ...]:
        """The same for the derived facts: those present without being asserted."""
        return self._updates(self._derived)

    @property
    def present(self) -> tuple[Update, ...]:
        """The facts that became present."""
        return tuple(change for change in self.changes if change.multiplicity > 0)

    @property
    def absent(self) -> tuple[Update, ...]:
        """The facts that became absent."""
        return tuple(change for change in self.changes if change.multiplicity < 0)

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        """Those of `changes` that are violations, with their texts."""
        return tuple(
            violation
            for changes in self._closure
            if changes.predicate in self._constraints
            for violation in violations(
                self._constraints[changes.predicate], changes, self._dictionary
            )
        )

    def to_arrow(self, predicate: str | None = None, *, types: bool = False) -> pa.Table:
        """The changes as an Arrow table.

        Args:
            predicate: If given, only its facts, hidden or not, with a column for each argument; see
                `program.columns`.
                Otherwise those of all predicates, with the columns `predicate` and `args`, a list.
                `multiplicity` is +1 or -1 (int8).
            types: Whether columns of terms of one kind have values, see `api.typed`. Terms in a
                list stay terms.

        Raises:
            DataError: The program has no such predicate.
        """
        if predicate is None:
            return tables.changes_table(self._shown(self._closure), self._dictionary)
        if predicate not in self._arities:
            visible = {name: self._arities[name] for name in self._visible}
            raise DataError(unknown_text(predicate, visible))
        found = [changes for changes in self._closure if changes.predicate == predicate]
        none = np.empty((0, self._arities[predicate]), np.int32)
        args = np.concatenate([none, *(changes.args for changes in found)])
        signs = np.concatenate([np.empty(0, np.int8), *(each.multiplicity for each in found)])
        names = column_names(self._program.programs, predicate, args.shape[1])
        table = tables.facts_table(names, args, self._dictionary, **{MULTIPLICITY: signs})
        return typed(table, table.column_names[: args.shape[1]]) if types else table

    def to_pandas(self, predicate: str | None = None, *, types: bool = False) -> Any:
        """As a `pandas.DataFrame`; see `to_arrow`.

        Raises:
            EnvironmentSetupError: pandas is not installed.
        """
        return tables.to_pandas(self.to_arrow(predicate, types=types))

    def to_polars(self, predicate: str | None = None, *, types: bool = False) -> Any:
        """As a `polars.DataFrame`; see `to_arrow`.

        Raises:
            EnvironmentSetupError: polars is not installed.
        """
        return tables.to_polars(self.to_arrow(predicate, types=types))

    def __repr__(self) -> str:
        counts = shown.signed_counts(self._shown(self._closure))
        return (
            f"Diff(epoch={self.epoch}, iterations={self.iterations}, frontier={self.frontier},"
            f" changes={counts})"
        )

    def _repr_html_(self) -> str:
        closure = self._shown(self._closure)
        count = sum(len(each.args) for each in closure)
        first = [
            Changes(each.predicate, each.args[: shown.ROWS], each.multiplicity[: shown.ROWS])
            for each in closure
        ]
        table = tables.changes_table(first, self._dictionary)
        totals = shown.html_paragraph(f"Epoch {self.epoch}: {counted(count, 'change')}.")
        return totals + shown.html_table(table, count)

    def _shown(self, parts: tuple[Changes, ...]) -> list[Changes]:
        return [each for each in parts if each.predicate in self._visible]

    def _updates(self, parts: tuple[Changes, ...]) -> tuple[Update, ...]:
        return tuple(
            Update(changes.predicate, args, multiplicity)
            for changes in self._shown(parts)
            for args, multiplicity in zip(
                decode_rows(changes.args, self._dictionary, from_ntriples),
                changes.multiplicity.tolist(),
                strict=True,
            )
        )


def violations(
    constraint: Constraint, changes: Changes, dictionary: Dictionary
) -> Iterator[Violation]:
    """The violations among facts of a constraint."""
    rows, signs = decode_rows(changes.args, dictionary, from_ntriples), changes.multiplicity
    for ids, args, sign in zip(changes.args, rows, signs.tolist(), strict=True):
        text = constraint.message(dictionary.decode(ids).to_pylist())
        yield Violation(changes.predicate, args, text, sign)
