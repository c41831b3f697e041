"""The epochs of a state that can be asked. Invariant: an answer is exact, or refused by name.

A reader needs no lock: it holds one version of each table (`HeldTable`), `trace` first, because
other tables may only be ahead of it, and answers for epochs that were complete then.

`trace` is summed up to some epoch, and rows of `changes` may be deleted up to some epoch; each
table says which (`Snapshot.exact_from`). `trace` answers for the end of an epoch from there on.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.engine.updates import TraceRows
from streamreasoner.errors import NoEpochError, StateError
from streamreasoner.history.stored_terms import StoredTerms
from streamreasoner.state import commit, programs, restore, schemas
from streamreasoner.state.delta import log
from streamreasoner.state.delta.held import HeldTable
from streamreasoner.state.maintenance.exactness import exact_from
from streamreasoner.state.version import StateVersion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from streamreasoner.program.text import ProgramText
    from streamreasoner.rdf.dictionary import Dictionary

    Row = tuple[int, datetime, int]
    Rows = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


_1970 = datetime(1970, 1, 1, tzinfo=UTC)


class Past:
    """The tables of a state as of its last complete epoch.

    Args:
        directory: Directory of the tables; a pipeline may be writing to them.
        earlier: What was read before; the commits since then are read only.

    Attributes:
        directory: The same.
        tables: The versions of the tables that are held.
        follows: Whether all rows of the epochs after those of *earlier* are as they were written,
            and those before are the same. Otherwise tables were replaced, summed or erased.
        last: The last complete epoch.
        oldest: The first epoch whose end `trace` can be asked for; 0 if it can for all.
        summed: Whether `trace` has lost what was before `oldest`.
        changes_from: The first epoch from which on `changes` has all rows; -1 for all epochs.

    Raises:
        StateError: There is no state, it is damaged, has no epoch yet or another version.
    """

    def __init__(self, directory: Path, earlier: Past | None = None) -> None:
        self.directory = directory
        known: dict[str, HeldTable] = {} if earlier is None else earlier.tables
        self._trace = HeldTable(directory / schemas.TRACE, known.get(schemas.TRACE))
        tables = {schemas.TRACE: self._trace}
        others = (name for name in schemas.names(directory) if name != schemas.TRACE)
        tables |= {name: HeldTable(directory / name, known.get(name)) for name in others}
        self.tables: dict[str, HeldTable] = tables
        for table in tables.values():
            version = StateVersion.of_properties(table.snapshot().properties)
            version.check(f"The table {table.directory}")
        self._terms, self._changes = tables[schemas.TERMS], tables[schemas.CHANGES]
        self._programs = programs.of_table(tables[schemas.PROGRAMS])
        if not self._programs or self._programs[0][0] != programs.BEGINNING:
            raise StateError(
                f"The table {directory / schemas.PROGRAMS} lacks the program that the state began "
                f"with. {log.RESTORE}"
            )
        record = commit.last_record(self._trace)
        last = commit.complete_version(tables, record)
        if last is None:
            raise NoEpochError(f"{directory} has no complete epoch yet.")
        self._slots = None if record is None else record.slots
        self.last = last
        first = exact_from(self._trace.snapshot(), schemas.TRACE, last)
        self.oldest, self.summed = max(first, 0), first >= 0
        self.changes_from = exact_from(self._changes.snapshot(), schemas.CHANGES, last)
        self.follows = earlier is not None and self._continues(earlier)

    def newer(self) -> Past | None:
        """The epochs that are complete by now; None if there are no others.

        Raises:
            StateError: The state is damaged, or has another version by now.
        """
        if all(table.is_newest for table in self.tables.values()):
            return None
        return Past(self.directory, self)

    def _continues(self, earlier: Past) -> bool:
        same = all(table.follows for table in self.tables.values())
        # An erasure sums up to the last epoch; maintenance, only what is long past.
        untouched = self.oldest == earlier.oldest or self.oldest < earlier.last
        return same and untouched and self.last >= earlier.last

    def check(self, epoch: int) -> None:
        """Refuse an epoch whose end cannot be asked for.

        Raises:
            StateError: It is too old, or not complete yet.
        """
        if epoch > self.last:
            raise StateError(
                f"Epoch {epoch} is not complete; the last complete one is {self.last}."
            )
        if epoch < self.oldest:
            raise StateError(
                f"Epoch {epoch} is too old: the state is retained at the ends of the epochs "
                f"{self.oldest} to {self.last}. To retain more from now on, raise "
                "retention.trace_epochs."
            )

    def programs_until(self, epoch: int) -> tuple[tuple[int, ProgramText], ...]:
        """The programs of the epochs up to this one, oldest first; the last is in effect."""
        return tuple((first, program) for first, program in self._programs if first <= epoch)

    def times(self) -> dict[int, datetime]:
        """The time of each epoch with rows in `changes`, by epoch, ascending.

        It is the last one of an epoch that closed several slots of event time.
        """
        return {epoch: last for epoch, (_, last) in self._spans().items()}

    def _spans(self) -> dict[int, tuple[datetime, datetime]]:
        """The first and the last time of each epoch with rows in `changes`, by epoch, ascending."""
        found: dict[int, tuple[datetime, datetime]] = {}
        for file in self._changes.files():
            rows = (
                self._changes.read(file, ["epoch", "ts"])
                .group_by("epoch")
                .aggregate([("ts", "min"), ("ts", "max")])
            )
            columns = (rows.column(name).to_pylist() for name in ("epoch", "ts_min", "ts_max"))
            for epoch, first, last in zip(*columns, strict=True):
                before = found.get(epoch, (first, last))
                found[epoch] = min(first, before[0]), max(last, before[1])
        return {epoch: found[epoch] for epoch in sorted(found) if epoch <= self.last}

    def epoch_at(self, time: datetime) -> int:
        """The last epoch with rows in `changes` whose time is not after *time*.

        Raises:
            StateError: There is none, or the time is between slots that one epoch closed.
        """
        spans = self._spans()
        times = {epoch: last for epoch, (_, last) in spans.items()}
        for epoch, (first, last) in spans.items():
            if first <= time < last:
                raise StateError(
                    f"One batch closed the slots of event time from {first.isoformat()} to "
                    f"{last.isoformat()}, and the state is stored at its end only. Name an earlier "
                    f"or later time, or epoch {epoch} for the end of the batch."
                )
        earlier = [epoch for epoch, moment in times.items() if moment <= time]
        if earlier:
            return earlier[-1]
        known = f"begin at {min(times.values()).isoformat()}" if times else "are empty"
        raise StateError(
            f"No epoch is known to be as old as {time.isoformat()}: the rows of "
            f"{self._changes.directory} {known}. Name an epoch instead."
        )

    def last_number(self, epoch: int) -> int | None:
        """The greatest `epoch` of the messages up to the end of an epoch; None if there are none.

        It is the epoch itself, or the number of the last slot of event time that changed something.

        Raises:
            StateError: The changes that tell it are no longer retained.
        """
        if self._slots is None:
            return epoch
        times = [time for number, time in self.times().items() if number <= epoch]
        if times:
            return (times[-1] - _1970) // timedelta(milliseconds=self._slots.granularity)
        if self.changes_from >= 0:
            raise StateError(
                f"The changes of epoch {epoch} are no longer retained, so that the last slot of "
                "event time that it closed is not known. Name a later epoch, or raise "
                "retention.changes."
            )
        return None

    def trace(self, epoch: int, predicates: Collection[str]) -> Iterator[TraceRows]:
        """The trace of some predicates at the end of an epoch, in blocks; see `restore_trace`.

        Raises:
            StateError: The epoch cannot be asked for, or a data file is damaged.
        """
        self.check(epoch)
        yield from restore.restore_trace(self._trace, epoch + 1, predicates)

    def trace_after(
        self, epoch: int, predicates: Collection[str] | None = None, last: int | None = None
    ) -> Iterator[TraceRows]:
        """The rows of `trace` of the epochs after one, in blocks of one predicate each.

        Args:
            epoch: The one before them.
            predicates: The predicates to read; None for all, hidden ones included.
            last: The last of the epochs; None for the last complete one.

        Raises:
            StateError: A data file is damaged.
        """
        last = self.last if last is None else last
        columns = schemas.arg_columns(self._trace.max_arity)
        for file in self._trace.files():
            is_read = predicates is None or file.predicate in predicates
            if not is_read or not file.may_have("epoch", epoch + 1, last):
                continue
            rows = self._trace.read(file, [*columns, "iteration", "epoch", "multiplicity"])
            rows = rows.filter(self._between(rows, epoch + 1, last))
            if not len(rows):
                continue
            used = [rows.column(name).to_numpy() for name in columns if not rows[name].null_count]
            args = np.stack(used, axis=1) if used else np.empty((len(rows), 0))
            yield TraceRows(
                file.predicate,
                args.astype(np.int32),
                rows.column("iteration").to_numpy(),
                rows.column("multiplicity").to_numpy(),
            )

    def restore(self, before: int) -> Iterator[TraceRows]:
        """The trace of the epochs below one, of all predicates, in blocks; see `restore_trace`.

        Raises:
            StateError: A data file is damaged.
        """
        return restore.restore_trace(self._trace, before)

    def restore_terms(self, dictionary: Dictionary) -> None:
        """Load all terms into a dictionary, which must be empty so that they keep their ids.

        Raises:
            StateError: The table is damaged, or the dictionary is not empty.
        """
        restore.restore_terms(self._terms, dictionary)

    def changes_between(self, first: int, last: int) -> pa.Table:
        """The rows of `changes` of some epochs, by epoch and time.

        Returns:
            Columns `epoch`, `ts`, `predicate`, `args` and `multiplicity`.

        Raises:
            StateError: A data file is damaged.
        """
        schema = schemas.file_schema(schemas.CHANGES, self._changes.max_arity)
        parts = [schema.empty_table()]
        for file in self._changes.files():
            if file.may_have("epoch", first, last):
                rows = self._changes.read(file, schema.names).cast(schema)
                parts.append(rows.filter(self._between(rows, first, last)))
        rows = pa.concat_tables(parts)
        times = rows.column("ts").cast(pa.int64()).to_numpy()
        return rows.take(pa.array(np.lexsort((times, rows.column("epoch").to_numpy()))))

    def new_terms(self, first: int) -> pa.LargeStringArray:
        """The terms from an id on, in the order of their ids.

        Raises:
            StateError: A data file is damaged, or ids are missing or repeated.
        """
        return restore.terms_by_id(self._terms, first)

    def _between(self, rows: pa.Table, first: int, last: int) -> pa.Array:
        epochs = rows.column("epoch")
        return pc.and_(pc.greater_equal(epochs, first), pc.less_equal(epochs, last))

    def touched(self, first: int, last: int) -> set[str]:
        """The predicates that may have rows of epochs after *first* and up to *last*.

        They are known from the bounds in the log, so no data file is read.
        """
        return {
            file.predicate
            for file in self._trace.files()
            if file.may_have("epoch", first + 1, last)
        }

    def rows(self, predicate: str) -> Rows:
        """The rows of a predicate in `trace`.

        Returns:
            Arguments, of shape (n, arity); epochs and multiplicities, both of shape (n,).

        Raises:
            StateError: A data file is damaged.
        """
        columns = schemas.arg_columns(self._trace.max_arity)
        parts = [
            self._trace.read(file, [*columns, "epoch", "multiplicity"])
            for file in self._trace.files()
            if file.predicate == predicate
        ]
        if not parts:
            return np.empty((0, 0), np.int32), np.empty(0, np.int64), np.empty(0, np.int64)
        rows = pa.concat_tables(parts)
        rows = rows.filter(pc.less_equal(rows.column("epoch"), self.last))
        used = [rows.column(name).to_numpy() for name in columns if not rows[name].null_count]
        args = np.stack(used, axis=1) if used else np.empty((len(rows), 0))
        return (
            args.astype(np.int32),
            rows.column("epoch").to_numpy(),
            rows.column("multiplicity").to_numpy(),
        )

    def changes(self, predicate: str, arguments: Sequence[str]) -> list[Row]:
        """The rows of a fact in `changes`: epoch, time and multiplicity, in their order.

        Raises:
            StateError: A data file is damaged.
        """
        found: list[Row] = []
        for file in self._changes.files():
            names = ["epoch", "ts", "predicate", "args", "multiplicity"]
            rows = self._changes.read(file, names)
            rows = rows.filter(pc.equal(rows.column("predicate"), predicate))
            for position, term in enumerate(arguments):
                argument = pc.list_element(rows.column("args"), position)
                rows = rows.filter(pc.equal(argument, term))
            columns = (rows.column(name).to_pylist() for name in ("epoch", "ts", "multiplicity"))
            found += zip(*columns, strict=True)
        return sorted(row for row in found if row[0] <= self.last)

    def terms(self) -> StoredTerms:
        """The terms by id; they take as much memory as their text.

        Raises:
            StateError: A data file is damaged.
        """
        return StoredTerms(restore.terms_by_id(self._terms))
