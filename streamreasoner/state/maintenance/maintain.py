"""Background merging and checkpointing. Invariant: maintenance never changes what is restored.

A merge replaces small data files of one partition by one file with the same content. It sums rows
of `trace` that are more than `Retention.trace_epochs` old under the newest of their epochs; the
sum over `epoch <= N` stays exact for every N of these last epochs. Files are
merged with files of similar size, so a row is rewritten a logarithmic number of times.

The number of files written triggers a run, which bounds the number of files; an appender that is
faster than maintenance waits for it.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from streamreasoner.errors import StateError
from streamreasoner.state import consolidate, rows, schemas
from streamreasoner.state.delta import datafile
from streamreasoner.state.maintenance.exactness import exact_from
from streamreasoner.state.maintenance.prune import prune, prune_closed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamreasoner.state.delta.datafile import DataFile
    from streamreasoner.state.delta.retention import Retention
    from streamreasoner.state.delta.table import Table

EPOCHS_BETWEEN_RUNS: Final = 64
FILES_BETWEEN_RUNS: Final = 256
FILES_TO_WAIT: Final = 768
"""Files written since a run began at which the next epoch waits for the run to end."""
PRUNINGS: Final = 16
"""How often rows of `changes` are deleted in the time that they are retained."""
DAY: Final = 86_400.0
"""Most seconds between two deletions of rows of `changes`."""
SMALL_ROWS: Final = 4096
TIER_FACTOR: Final = 16
SMALL_FILES_TO_MERGE: Final = 4
FILES_TO_MERGE: Final = 8
MERGE_ROWS: Final = 1 << 23

_logger = logging.getLogger(__name__)


class Maintenance:
    """Runs over all tables in a background thread, one run at a time.

    Errors of the disk or the tables (no space, a damaged file) are logged and counted, and the
    next run tries again. Any other exception is a bug: the next `start_if_due` raises it, which
    ends the process.

    Args:
        tables: The tables.
        retention: What to retain.
    """

    def __init__(self, tables: Sequence[Table], retention: Retention) -> None:
        self.compactions = 0
        self.failures = 0
        self.bytes_gained = 0
        self._tables = tables
        self._retention = retention
        self._pruned = -math.inf
        self._commits_seen = 0
        self._files_seen = 0
        self._bug: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start_if_due(self, commits: int, version: int, closed: int | None = None) -> bool:
        """Start a run if enough was written and no run is active.

        Args:
            commits: Epochs committed by this process.
            version: The last complete epoch.
            closed: The frontier of the epoch before, which no start replays; None without one.

        Raises:
            Exception: The last run failed with it.
        """
        files = sum(table.written for table in self._tables) - self._files_seen
        if files >= FILES_TO_WAIT:
            self.wait()
        if self._thread is not None and self._thread.is_alive():
            return False
        if self._bug is not None:
            raise self._bug
        if files < FILES_BETWEEN_RUNS and commits - self._commits_seen < EPOCHS_BETWEEN_RUNS:
            return False
        self._commits_seen = commits
        self._files_seen += files
        self._thread = threading.Thread(
            target=self._run, args=(version, closed), name="maintenance"
        )
        self._thread.start()
        return True

    def wait(self) -> None:
        """Wait until no run is active."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, version: int, closed: int | None) -> None:
        horizon = version - self._retention.trace_epochs
        for table in self._tables:
            try:
                table.clean(self._retention)
                if table.name == schemas.CHANGES:
                    self._prune(table, version)
                elif table.name == schemas.WAITING and closed is not None:
                    self.bytes_gained += prune_closed(table, closed)
                if groups := mergeable(table.files()):
                    self.bytes_gained += merge(table, groups, horizon)
                    self.compactions += len(groups)
                table.save()
            except (StateError, OSError, pa.ArrowException) as error:
                self.failures += 1
                _logger.warning("Maintenance of %s failed: %s", table.directory, error)
            except BaseException as error:
                self.failures += 1
                self._bug = error
                _logger.exception(
                    "Maintenance of %s failed because of a bug. Report it.", table.directory
                )
                return

    def _prune(self, changes: Table, version: int) -> None:
        """Delete old rows of `changes`, at intervals: files with other rows are rewritten."""
        seconds, now = self._retention.changes, time.monotonic()
        if seconds and now - self._pruned >= min(seconds / PRUNINGS, DAY):
            before = datetime.now(UTC) - timedelta(seconds=seconds)
            self.bytes_gained += prune(changes, before, version)
            self._pruned = now


def mergeable(files: Sequence[DataFile]) -> list[list[DataFile]]:
    """Groups of files of one partition and similar size that are worth merging.

    Small files are merged sooner than larger ones; a merge reads a bounded number of rows.
    """
    by_tier: dict[tuple[str, int], list[DataFile]] = {}
    for file in files:
        by_tier.setdefault((file.predicate, _tier(file.rows)), []).append(file)
    groups = []
    for (_, tier), group in sorted(by_tier.items()):
        chosen: list[DataFile] = []
        read = 0
        for file in sorted(group, key=lambda file: file.rows):
            if read + file.rows <= MERGE_ROWS:
                chosen.append(file)
                read += file.rows
        if len(chosen) >= (SMALL_FILES_TO_MERGE if tier == 0 else FILES_TO_MERGE):
            groups.append(chosen)
    return groups


def merge(table: Table, groups: Sequence[Sequence[DataFile]], horizon: int) -> int:
    """Replace the files of each group, all of one partition, by one file, in a single commit.

    Args:
        table: Any table.
        groups: Files of its newest snapshot.
        horizon: Rows of `trace` at epochs up to this one may be summed.

    Returns:
        Bytes added, usually negative.

    Raises:
        StateError: A file is damaged, or another process has removed files.
    """
    old = [file for group in groups for file in group]
    known = table.snapshot().exact_from
    first = exact_from(table.snapshot(), table.name, table.epoch or 0)
    new = []
    for group in groups:
        merged = _read(table, group)
        if table.name == schemas.TRACE:
            first = max(first, _last_summed(merged, horizon))
            merged = _sum_old(merged, horizon, table.identity.max_arity)
        if len(merged):
            new.append(_write(table, merged, group[0].partition))
    table.replace(old, new, first if first != known else None)
    return sum(file.size for file in new) - sum(file.size for file in old)


def _read(table: Table, files: Sequence[DataFile]) -> pa.Table:
    names = schemas.file_schema(table.name, table.identity.max_arity).names
    return pa.concat_tables(table.read(file, names) for file in files)


def _write(table: Table, rows: pa.Table, partition: Mapping[str, str]) -> DataFile:
    schema = schemas.file_schema(table.name, table.identity.max_arity)
    return datafile.write(table.directory, rows.cast(schema), partition)


def _last_summed(trace: pa.Table, horizon: int) -> int:
    """The epoch that `_sum_old` moves rows of earlier epochs to, if there are any."""
    epochs = np.unique(trace.column("epoch").to_numpy())
    past = epochs[epochs <= horizon]
    return int(past[-1]) if len(past) > 1 else schemas.NOTHING_SUMMED


def _sum_old(trace: pa.Table, horizon: int, max_arity: int) -> pa.Table:
    epoch = trace.column("epoch").to_numpy()
    old = epoch <= horizon
    if not old.any():
        return trace
    past = trace.filter(pa.array(old))
    used = [name for name in schemas.arg_columns(max_arity) if past.column(name).null_count == 0]
    keys, multiplicity = consolidate.consolidate(
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
