"""The durable state of one application. Invariant: `commit` is idempotent, epoch by epoch.

Each table is written by a thread of its own, so the appends of an epoch run at the same time.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Self

from streamreasoner.collection.updates import TRACE_EPOCHS
from streamreasoner.errors import StateError
from streamreasoner.storage import commit, layout, log, programs, restore, rows, table
from streamreasoner.storage.maintain import Maintenance
from streamreasoner.storage.table import Identity, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from types import TracebackType

    import pyarrow as pa

    from streamreasoner.collection.programs import ProgramText
    from streamreasoner.collection.updates import TraceRows
    from streamreasoner.rdf.dictionary import TermDictionary
    from streamreasoner.storage.log import Offsets
    from streamreasoner.storage.programs import History
    from streamreasoner.storage.rows import DecodedChanges, File


@dataclass(frozen=True, slots=True)
class StorageStatistics:
    """What the tables amount to.

    Attributes:
        bytes: Size of the data files of the newest snapshots.
        compactions: Merges of data files since the start of the process.
        maintenance_failures: Maintenance runs that were given up since then.
    """

    bytes: int
    compactions: int
    maintenance_failures: int


class Tables:
    """The tables `terms`, `trace`, `changes` and `programs` of one application.

    One thread calls; one process writes. Open with `Tables.open`.
    """

    def __init__(self, directory: Path, tables: dict[str, Table], *, history: int) -> None:
        self.directory = directory
        self._tables = tables
        self._record = commit.last_record(tables[layout.TRACE])
        self._version = commit.complete_version(tables, self._record)
        self._incomplete = commit.incomplete_epoch(tables, self._version)
        self._programs = programs.read(tables[layout.PROGRAMS].directory)
        self._terms = sum(file.rows for file in tables[layout.TERMS].files())
        self._bytes = sum(file.size for each in tables.values() for file in each.files())
        self._maintenance = Maintenance(list(tables.values()), history=history)
        self._writers = {
            name: ThreadPoolExecutor(1, thread_name_prefix=f"write-{name}") for name in tables
        }
        self._commits = 0

    @classmethod
    def open(
        cls,
        directory: Path | str,
        app_id: str,
        program: ProgramText,
        max_arity: int,
        *,
        create: bool = True,
        history: int = TRACE_EPOCHS,
    ) -> Tables:
        """Open the tables of an application, creating those of a new one.

        Args:
            directory: State directory; the tables are its subdirectories.
            app_id: Application id, also the id of the Delta transactions.
            program: The program that a new state begins with; ignored by one that has begun.
            max_arity: Its largest arity; a new `trace` has columns for as many arguments at least.
            create: Whether to create tables where there are none.
            history: Epochs that time travel reaches back at least; older ones may be summed up.

        Raises:
            StateError: There are no tables and `create` is false, some are missing, damaged, or
                they belong to another application.
        """
        root = Path(directory)
        missing = [name for name in layout.NAMES if not log.exists(root / name)]
        if missing and not create:
            raise StateError(f"{root} holds no state: {', '.join(missing)} are not there.")
        width = max(layout.LEAST_ARGUMENTS, max_arity)
        if layout.TRACE not in missing:
            width = table.argument_columns(root / layout.TRACE)
        identity = Identity(app_id, width)
        if 0 < len(missing) < len(layout.NAMES):
            _refuse_lost_tables(root, missing, identity)
        for name in missing:
            table.create(root / name, name, identity)
        tables = {name: Table(root / name, name, identity) for name in layout.NAMES}
        used = any(each.epoch is not None for each in tables.values())
        programs.begin(tables[layout.PROGRAMS], program, used=used)
        return cls(root, tables, history=history)

    @staticmethod
    def rows(directory: Path) -> tuple[int, int]:
        """How many facts, at the most, and terms a state has that is not open, or not there yet.

        Raises:
            StateError: It cannot be read.
        """
        return table.rows(directory / layout.TRACE), table.rows(directory / layout.TERMS)

    def version(self) -> int | None:
        """The last epoch that all tables hold, None before the first."""
        return self._version

    def has_begun(self, epoch: int) -> bool:
        """Whether a table has an epoch."""
        return epoch == self._incomplete or (self._version is not None and epoch <= self._version)

    @property
    def width(self) -> int:
        """How many arguments a fact may have."""
        return self._tables[layout.TRACE].identity.max_arity

    @property
    def programs(self) -> History:
        """Every program that was in effect, with the epoch it came with, oldest first.

        The first came before epoch 0. One may belong to an epoch that was cut short.
        """
        return self._programs

    @property
    def terms_stored(self) -> int:
        """Number of terms in `terms`; the next new term has this id."""
        return self._terms

    def commit(  # noqa: PLR0917  # the order in which an epoch is made
        self,
        epoch: int,
        ts: datetime,
        terms: tuple[int, pa.LargeStringArray],
        trace: Iterable[TraceRows],
        changes: Iterable[DecodedChanges],
        offsets: Offsets,
        program: ProgramText | None = None,
    ) -> None:
        """Durable step 1: append one epoch to all tables; returns when it is on the disk.

        Args:
            epoch: Larger than every epoch before, or the one that is being replayed.
            ts: Time of the epoch, with a time zone; a column of `changes`.
            terms: Id of the first term given, and the terms from that id on. Terms that the
                table has are skipped.
            trace: Signed differences of the trace; ids and iterations as the engine gives them.
            changes: Decoded changes, see `rows.change_files`.
            offsets: Input range: topic -> partition -> offsets, kept with the epoch.
            program: The program from this epoch on, if it changes.

        Raises:
            StateError: The epoch does not follow what the tables hold, another process writes, or
                the disk refuses. The process must restart.
        """
        new_hash = None if program is None else program.hash
        commit.check_epoch(epoch, self._version, self._incomplete)
        if self._record is not None and self._record.epoch == epoch:
            commit.check_replay(self._record, offsets)
            commit.check_program(epoch, self._record.program, new_hash)
        elif epoch in dict(self._programs):
            commit.check_program(epoch, dict(self._programs)[epoch].hash, new_hash)
        if self._version is not None and epoch <= self._version:
            return
        arity = self.width
        start, new_terms = self._new_terms(*terms)
        files = {
            layout.TERMS: _unless_empty(rows.term_files(start, new_terms, epoch, arity)),
            layout.CHANGES: _unless_empty(rows.change_files(changes, epoch, ts, arity)),
            layout.PROGRAMS: None if program is None else rows.program_files(program, epoch),
        }
        latest = {
            name: epoch if given is not None else self._tables[name].epoch
            for name, given in files.items()
        }
        known = {name: number for name, number in latest.items() if number is not None}
        record = log.EpochRecord(epoch, self._version, known, offsets, new_hash)
        appended = {
            name: self._writers[name].submit(self._tables[name].append, given, record)
            for name, given in files.items()
            if given is not None
        }
        trace_files = rows.trace_files(trace, epoch, arity)
        trace_writer, to_trace = self._writers[layout.TRACE], self._tables[layout.TRACE]
        before = appended.get(layout.TERMS)
        last = trace_writer.submit(to_trace.append, trace_files, record, before)
        self._bytes += sum(_results([*appended.values(), last]))
        self._terms += len(new_terms)
        self._version, self._incomplete, self._record = epoch, None, record
        self._commits += 1
        if program is not None:
            self._programs = tuple((dict(self._programs) | {epoch: program}).items())

    def offsets(self, epoch: int) -> Offsets | None:
        """The input range that an epoch was committed with; None if its commit is forgotten."""
        if self._record is not None and self._record.epoch == epoch:
            return self._record.offsets
        record = self._tables[layout.TRACE].snapshot().record(epoch)
        return None if record is None else record.offsets

    def restore_terms(self, dictionary: TermDictionary) -> None:
        """Load all terms into an empty dictionary: before anything else gets an id there.

        Raises:
            StateError: The table is damaged, or the dictionary is not empty.
        """
        restore.restore_terms(self._tables[layout.TERMS], dictionary)

    def restore(self, before: int) -> Iterator[TraceRows]:
        """The trace of the epochs below `before`, in blocks; all rows of a fact are in one.

        Raises:
            StateError: The table is damaged.
        """
        return restore.restore_trace(self._tables[layout.TRACE], before)

    def maintain_if_due(self) -> bool:
        """Start merging, checkpointing and cleaning up in the background when enough was written.

        Returns:
            Whether a run was started.

        Raises:
            Exception: What the last run was ended by, if it is not a fault of the disk or the
                tables.
        """
        return self._version is not None and self._maintenance.start_if_due(
            self._commits, self._version
        )

    def verify(self) -> None:
        """Read all of `terms` and `trace`, for a reader that does not verify what it reads.

        Raises:
            StateError: A data file is damaged.
        """
        for name in (layout.TERMS, layout.TRACE):
            self._tables[name].verify()

    def statistics(self) -> StorageStatistics:
        """Size of the state and work done on it so far."""
        return StorageStatistics(
            bytes=self._bytes + self._maintenance.bytes_gained,
            compactions=self._maintenance.compactions,
            maintenance_failures=self._maintenance.failures,
        )

    def close(self) -> None:
        """Wait for writers and maintenance; the tables are complete without it."""
        self._maintenance.wait()
        for writer in self._writers.values():
            writer.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _new_terms(self, start: int, terms: pa.LargeStringArray) -> tuple[int, pa.Array]:
        if start > self._terms:
            raise StateError(
                f"Terms begin at id {start}, but the table holds ids below {self._terms} only."
            )
        return self._terms, terms[self._terms - start :]


def _unless_empty(files: Iterable[File]) -> Iterable[File] | None:
    """The same files, or None if there are none: they may be made on the way."""
    each = iter(files)
    first = next(each, None)
    return None if first is None else chain([first], each)


def _results(futures: Sequence[Future[int]]) -> list[int]:
    # Every future is waited for before the first error is raised: no writer is left running.
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        raise errors[0]
    return [future.result() for future in futures]


def _refuse_lost_tables(root: Path, missing: Sequence[str], identity: Identity) -> None:
    present = [name for name in layout.NAMES if name not in missing]
    used = [name for name in present if Table(root / name, name, identity).epoch is not None]
    if used:
        raise StateError(
            f"{root} has {', '.join(used)} but not {', '.join(missing)}. {log.RESTORE}"
        )
