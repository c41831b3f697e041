"""Merging, forgetting and vacuuming behind the stream. Invariant: `restore` cannot tell.

A merge replaces small data files of one partition by one file with the same content, in one
commit. Rows of `trace` whose epochs lie further back than `history` are summed there, under the
newest of those epochs; the sum over `epoch <= N` stays exact for every N of the last `history`
epochs. Files are merged with files of about their size, so a row is rewritten a logarithmic number
of times.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from deltalake.exceptions import DeltaError

from streamreasoner.errors import StateError
from streamreasoner.storage import datafile, layout, log, rows, sums
from streamreasoner.storage.table import NO_HOOKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.storage.datafile import DataFile
    from streamreasoner.storage.table import Table

RUNS_BETWEEN_VACUUMS: Final = 8
SMALL_ROWS: Final = 4096
TIER_FACTOR: Final = 16
FILES_TO_MERGE: Final = 8
MERGE_ROWS: Final = 1 << 23

_logger = logging.getLogger(__name__)


class Maintenance:
    """Runs over all tables in a background thread, one run at a time.

    Args:
        tables: The tables; only their directories and schemas are used.
        history: Epochs whose rows keep their own epoch.
    """

    def __init__(self, tables: Sequence[Table], *, history: int) -> None:
        self.compactions = 0
        self.failures = 0
        self.bytes_gained = 0
        self._tables = tables
        self._history = history
        self._runs = 0
        self._commits_seen = 0
        self._thread: threading.Thread | None = None

    def start_if_due(self, commits: int, version: int) -> bool:
        """Start a run if enough commits have gone by and the last run is over.

        Args:
            commits: Epochs committed by this process.
            version: The last complete epoch.
        """
        busy = self._thread is not None and self._thread.is_alive()
        if busy or commits - self._commits_seen < layout.CHECKPOINT_INTERVAL:
            return False
        self._commits_seen = commits
        horizon = version - self._history
        self._thread = threading.Thread(target=self._run, args=(horizon,), name="maintenance")
        self._thread.start()
        return True

    def wait(self) -> None:
        """Wait until no run is under way."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, horizon: int) -> None:
        self._runs += 1
        for table in self._tables:
            try:
                for files in mergeable(table.files()):
                    self.bytes_gained += merge(table, files, horizon)
                    self.compactions += 1
                checkpoint(table)
                if self._runs % RUNS_BETWEEN_VACUUMS == 0:
                    forget(table)
            except (StateError, DeltaError, OSError, pa.ArrowException) as error:
                self.failures += 1
                _logger.warning("Maintenance of %s was given up: %s", table.directory, error)


def mergeable(files: Sequence[DataFile]) -> list[list[DataFile]]:
    """Groups of files of one partition and about one size that are worth merging.

    Small files always are, larger ones when there are several; a merge reads a bounded number of
    rows.
    """
    groups: dict[tuple[str, int], list[DataFile]] = {}
    for file in files:
        groups.setdefault((file.predicate, _tier(file.rows)), []).append(file)
    found = []
    for _, group in sorted(groups.items()):
        chosen: list[DataFile] = []
        read = 0
        for file in sorted(group, key=lambda file: file.rows):
            if read + file.rows <= MERGE_ROWS:
                chosen.append(file)
                read += file.rows
        if len(chosen) >= FILES_TO_MERGE:
            found.append(chosen)
    return found


def merge(table: Table, files: Sequence[DataFile], horizon: int) -> int:
    """Replace `files`, all of one partition, by one file.

    Args:
        table: Any table.
        files: Files of its newest snapshot.
        horizon: Rows of `trace` at epochs up to this one may be summed.

    Returns:
        Bytes added, usually negative.

    Raises:
        StateError: A file is damaged, or another process removes files.
    """
    schema = layout.file_schema(table.name, table.identity.max_arity)
    read = [datafile.read(table.directory, file, schema.names) for file in files]
    merged = pa.concat_tables(read)
    if table.name == layout.TRACE:
        merged = _sum_old(merged, horizon, table.identity.max_arity)
    merged = merged.cast(schema)
    new = [datafile.write(table.directory, merged, files[0].partition)] if len(merged) else []
    table.replace(files, new)
    return sum(file.size for file in new) - sum(file.size for file in files)


def checkpoint(table: Table) -> None:
    """Write a checkpoint and flush it, so that the commits before it may be forgotten."""
    snapshot = table.snapshot()
    snapshot.create_checkpoint()
    logs = log.directory_of(table.directory)
    for path in (*logs.glob(f"{snapshot.version():020}.checkpoint*"), logs / "_last_checkpoint"):
        datafile.sync_file(path)
    datafile.sync_file(logs)


def forget(table: Table) -> None:
    """Delete log entries before the last checkpoint and files no snapshot of the last hour uses."""
    snapshot = table.snapshot()
    snapshot.cleanup_metadata()
    snapshot.vacuum(
        retention_hours=layout.RETENTION_HOURS,
        dry_run=False,
        full=True,
        post_commithook_properties=NO_HOOKS,
    )


def _sum_old(trace: pa.Table, horizon: int, max_arity: int) -> pa.Table:
    epoch = trace.column("epoch").to_numpy()
    old = epoch <= horizon
    if not old.any():
        return trace
    past = trace.filter(pa.array(old))
    used = [name for name in layout.arg_columns(max_arity) if past.column(name).null_count == 0]
    keys, multiplicity = sums.consolidate(
        [past.column(name).to_numpy() for name in (*used, "iteration")],
        past.column("multiplicity").to_numpy(),
    )
    *args, iteration = keys
    summed = rows.trace_table(
        np.stack(args, axis=1) if args else np.empty((len(multiplicity), 0), np.int64),
        iteration,
        multiplicity,
        int(epoch[old].max()),
        max_arity,
    )
    return pa.concat_tables([summed.cast(trace.schema), trace.filter(pa.array(~old))])


def _tier(count: int) -> int:
    tier = 0
    while count >= SMALL_ROWS:
        count //= TIER_FACTOR
        tier += 1
    return tier
