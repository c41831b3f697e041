"""The durable state of one application. Invariant: committing an epoch again changes nothing.

Each table has its own writer thread, so the appends of an epoch run in parallel.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Self

from streamreasoner.errors import StateError
from streamreasoner.state import commit, programs, restore, rows, schemas
from streamreasoner.state.delta import log, snapshot, table
from streamreasoner.state.delta.retention import DEFAULT
from streamreasoner.state.delta.table import Identity, Table
from streamreasoner.state.maintenance.maintain import Maintenance
from streamreasoner.state.record import TableRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.program.text import ProgramText
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.state.delta.retention import Retention
    from streamreasoner.state.programs import ProgramsByEpoch
    from streamreasoner.state.record import EpochRecord, Offsets
    from streamreasoner.state.rows import DatedChanges, File


@dataclass(frozen=True, slots=True)
class StorageStatistics:
    """Size and maintenance of the tables.

    Attributes:
        bytes: Size of the data files of the newest snapshots.
        compactions: Merges of data files since the start of the process.
        maintenance_failures: Failures of maintenance since then.
    """

    bytes: int
    compactions: int
    maintenance_failures: int


class Tables:
    """The tables of one application, see `schemas`.

    Used by one thread of one process. Open with `Tables.open`.
    """

    def __init__(self, directory: Path, tables: dict[str, Table], retention: Retention) -> None:
        self.directory = directory
        self._tables = tables
        self._record = commit.last_record(tables[schemas.TRACE])
        self._version = commit.complete_version(tables, self._record)
        self._incomplete = commit.incomplete_epoch(tables, self._version)
        self._programs = programs.read(tables[schemas.PROGRAMS].directory)
        self._terms = sum(file.rows for file in tables[schemas.TERMS].files())
        self._bytes = sum(file.size for each in tables.values() for file in each.files())
        self._maintenance = Maintenance(list(tables.values()), retention)
        self._writers = {
            name: ThreadPoolExecutor(1, thread_name_prefix=f"write-{name}") for name in tables
        }
        self._commits = 0
        # The frontier of the epoch before the last: of what came later, a start may replay some.
        self._closed: int | None = None

    @classmethod
    def open(
        cls,
        directory: Path | str,
        app_id: str,
        program: ProgramText,
        max_arity: int,
        *,
        create: bool = True,
        waiting: bool = False,
        retention: Retention = DEFAULT,
    ) -> Tables:
        """Open the tables of an application, or create them for a new one.

        Args:
            directory: State directory; the tables are its subdirectories.
            app_id: Application id, also the id of the Delta transactions.
            program: The initial program of a new state; ignored for an existing one.
            max_arity: Its largest arity; a new `trace` has at least this many argument columns.
            create: Whether to create tables if there are none.
            waiting: Whether updates of a new state wait for their slots of event time.
            retention: What maintenance retains.

        Raises:
            StateError: There are no tables and `create` is false, some are missing or damaged, or
                another application owns them.
        """
        root = Path(directory)
        names = schemas.names(root)
        if waiting and schemas.WAITING not in names and not _is_used(root, app_id):
            names = (*names, schemas.WAITING)
        missing = [name for name in names if not log.exists(root / name)]
        if missing and not create:
            raise StateError(f"{root} holds no state: {', '.join(missing)} do not exist.")
        width = max(schemas.LEAST_ARGUMENTS, max_arity)
        if schemas.TRACE not in missing:
            width = table.argument_columns(root / schemas.TRACE)
        identity = Identity(app_id, width)
        if 0 < len(missing) < len(names):
            _refuse_lost_tables(root, missing, identity)
        for name in missing:
            table.create(root / name, name, identity)
        tables = {name: Table(root / name, name, identity) for name in names}
        used = any(each.epoch is not None for each in tables.values())
        programs.begin(tables[schemas.PROGRAMS], program, used=used)
        return cls(root, tables, retention)

    @staticmethod
    def rows(directory: Path) -> tuple[int, int]:
        """Upper bound on the facts, and number of terms, of a state that need not be open or exist.

        Raises:
            StateError: It cannot be read.
        """
        return table.rows(directory / schemas.TRACE), table.rows(directory / schemas.TERMS)

    def version(self) -> int | None:
        """The last complete epoch, None before the first."""
        return self._version

    @property
    def completing_table(self) -> Path:
        """The table whose commit completes an epoch: `trace`, which is written last."""
        return self.directory / schemas.TRACE

    @property
    def last_record(self) -> TableRecord | None:
        """What the last epoch was committed with; None before the first."""
        return self._record

    def has_begun(self, epoch: int) -> bool:
        """Whether any table has rows of an epoch."""
        return epoch == self._incomplete or (self._version is not None and epoch <= self._version)

    @property
    def width(self) -> int:
        """The largest number of arguments a fact can have."""
        return self._tables[schemas.TRACE].identity.max_arity

    @property
    def programs(self) -> ProgramsByEpoch:
        """Every program that was in effect, with the epoch it took effect in, oldest first.

        The first has epoch -1. The last may belong to an interrupted epoch.
        """
        return self._programs

    @property
    def terms_stored(self) -> int:
        """Number of terms in `terms`; the next new term has this id."""
        return self._terms

    def commit(  # noqa: PLR0917  # the order in which an epoch is made
        self,
        record: EpochRecord,
        terms: tuple[int, pa.LargeStringArray],
        trace: Iterable[TraceRows],
        changes: Iterable[DatedChanges],
        program: ProgramText | None = None,
        waiting: Iterable[pa.Table] = (),
    ) -> None:
        """Durable step 1: append one epoch to all tables; returns when it is durable.

        Args:
            record: The record of an epoch that follows all others, or of the one that is being
                replayed.
            terms: Id of the first term, and the terms from that id on. Terms that the table has
                already are skipped.
            trace: Signed differences of the trace, with the engine's ids and iterations.
            changes: Decoded changes, see `rows.change_files`.
            program: The program from this epoch on, if it changes.
            waiting: Updates that wait for their slots, see `rows.waiting_files`.

        Raises:
            StateError: The epoch does not follow the last one, another process writes to the
                tables, or they cannot be written. The process must restart.
        """
        epoch, new_hash = record.epoch, None if program is None else program.hash
        commit.check_epoch(epoch, self._version, self._incomplete)
        if self._record is not None and self._record.epoch == epoch:
            commit.check_replay(self._record, record)
            commit.check_program(epoch, self._record.new_program, new_hash)
        elif epoch in dict(self._programs):
            commit.check_program(epoch, dict(self._programs)[epoch].hash, new_hash)
        if self._version is not None and epoch <= self._version:
            return
        arity = self.width
        start, new_terms = self._new_terms(*terms)
        files = {
            schemas.TERMS: _unless_empty(rows.term_files(start, new_terms, epoch, arity)),
            schemas.CHANGES: _unless_empty(rows.change_files(changes, epoch, arity)),
            schemas.PROGRAMS: None if program is None else rows.program_files(program, epoch),
        }
        if schemas.WAITING in self._tables:
            files[schemas.WAITING] = _unless_empty(rows.waiting_files(waiting, epoch, arity))
        last_epochs = {
            name: epoch if new_files is not None else self._tables[name].epoch
            for name, new_files in files.items()
        }
        latest = {name: number for name, number in last_epochs.items() if number is not None}
        stored = TableRecord(
            epoch,
            self._version,
            latest,
            record.offsets,
            new_hash,
            record.frontier,
            record.input,
            record.slots,
            record.encoded,
        )
        appended: dict[str, Future[int]] = {}
        for name, new_files in files.items():
            if new_files is not None:
                # Ids in `waiting` need their terms, as those in `trace` do.
                first = appended.get(schemas.TERMS) if name == schemas.WAITING else None
                append = self._tables[name].append
                appended[name] = self._writers[name].submit(append, new_files, stored, first)
        trace_files = rows.trace_files(trace, epoch, arity)
        trace_writer, to_trace = self._writers[schemas.TRACE], self._tables[schemas.TRACE]
        before = appended.get(schemas.TERMS)
        last = trace_writer.submit(to_trace.append, trace_files, stored, before)
        self._bytes += sum(_results([*appended.values(), last]))
        self._terms += len(new_terms)
        self._closed = None if self._record is None else self._record.frontier
        self._version, self._incomplete, self._record = epoch, None, stored
        self._commits += 1
        if program is not None:
            self._programs = tuple((dict(self._programs) | {epoch: program}).items())

    def offsets(self, epoch: int) -> Offsets | None:
        """The input range that an epoch was committed with; None if the log no longer holds it."""
        record = self._record_of(epoch)
        return None if record is None else record.offsets

    def record(self, epoch: int) -> TableRecord:
        """What an epoch was committed with.

        Raises:
            StateError: The log no longer holds the epoch.
        """
        record = self._record_of(epoch)
        if record is None:
            raise StateError(
                f"The log of {self.completing_table} no longer has the record of epoch {epoch}. "
                f"{log.RESTORE}"
            )
        return record

    def _record_of(self, epoch: int) -> TableRecord | None:
        if self._record is not None and self._record.epoch == epoch:
            return self._record
        return self._tables[schemas.TRACE].snapshot().record(epoch)

    def restore_terms(self, dictionary: Dictionary) -> None:
        """Load all terms into a dictionary, which must be empty so that they keep their ids.

        Raises:
            StateError: The table is damaged, or the dictionary is not empty.
        """
        restore.restore_terms(self._tables[schemas.TERMS], dictionary)

    def restore(self, before: int) -> Iterator[TraceRows]:
        """The trace of the epochs below `before`, in blocks; all rows of a fact are in one block.

        Raises:
            StateError: The table is damaged.
        """
        return restore.restore_trace(self._tables[schemas.TRACE], before)

    def waiting(self, before: int, after: int) -> pa.Table:
        """The rows of `waiting` of the epochs below `before` with slots that end after a time.

        Args:
            before: The epoch to stop before.
            after: Milliseconds since 1970.

        Raises:
            StateError: The table is damaged, or the state began without it.
        """
        if schemas.WAITING not in self._tables:
            raise StateError(
                f"{self.directory} was begun without time.granularity. Leave it out, or start from "
                "scratch with another state.directory, pipeline.app_id and kafka.output_topic."
            )
        return restore.waiting(self._tables[schemas.WAITING], before, after)

    def maintain_if_due(self) -> bool:
        """Merge, checkpoint and clean up in the background if enough was written.

        Returns:
            Whether a run was started.

        Raises:
            Exception: The last run failed with it, without an error of the disk or tables.
        """
        return self._version is not None and self._maintenance.start_if_due(
            self._commits, self._version, self._closed
        )

    def statistics(self) -> StorageStatistics:
        """Size of the state and maintenance done so far."""
        return StorageStatistics(
            bytes=self._bytes + self._maintenance.bytes_gained,
            compactions=self._maintenance.compactions,
            maintenance_failures=self._maintenance.failures,
        )

    def close(self) -> None:
        """Wait for writers and maintenance; durability does not depend on it."""
        self._maintenance.wait()
        for writer in self._writers.values():
            writer.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _new_terms(self, start: int, terms: pa.LargeStringArray) -> tuple[int, pa.Array]:
        if start > self._terms:
            raise StateError(
                f"Terms begin at id {start}, but the table only holds ids below {self._terms}."
            )
        return self._terms, terms[self._terms - start :]


def _unless_empty(files: Iterable[File]) -> Iterable[File] | None:
    """The same files, or None if there are none; they may be generated lazily."""
    iterator = iter(files)
    first = next(iterator, None)
    return None if first is None else chain([first], iterator)


def _results(futures: Sequence[Future[int]]) -> list[int]:
    # Waits for every future before raising the first error, so that no writer is left running.
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        raise errors[0]
    return [future.result() for future in futures]


def _is_used(root: Path, app_id: str) -> bool:
    """Whether any table has an epoch."""
    return any(
        snapshot.read(root / name).epoch(app_id) is not None
        for name in schemas.NAMES
        if log.exists(root / name)
    )


def _refuse_lost_tables(root: Path, missing: Sequence[str], identity: Identity) -> None:
    present = [name for name in schemas.NAMES if name not in missing]
    used = [name for name in present if Table(root / name, name, identity).epoch is not None]
    if used:
        raise StateError(
            f"{root} has {', '.join(used)} but not {', '.join(missing)}. {log.RESTORE}"
        )
