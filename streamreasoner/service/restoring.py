"""Restores a backup, and evaluates again what was published after it.

Invariant: a state that is not at the last published epoch is marked, and no start takes it.

The output topic has the changes of epochs that the backup lacks. Their markers on the progress
topic say which messages they had. These are read from the input again, and go through the durable
steps without being published, as if a process had been killed before each commit of Spark. What
comes out is the state that published the last marker, and the pipeline goes on from there.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from streamreasoner.counts import counted
from streamreasoner.errors import StateError
from streamreasoner.io.kafka.progress_topic import ProgressTopic
from streamreasoner.io.kafka.reread import reread
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.io.spark.planting import PlantedCheckpoint
from streamreasoner.pipeline import recovery
from streamreasoner.pipeline.batch import EpochRunner
from streamreasoner.service.checks import check_start
from streamreasoner.service.first_load import restored_alone
from streamreasoner.service.options import reread_group
from streamreasoner.state.version import StateVersion
from streamreasoner.system import disk
from streamreasoner.upkeep.backup import copy_back, verify
from streamreasoner.upkeep.start_over import delete_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streamreasoner.config import Config
    from streamreasoner.service.checks import Checked
    from streamreasoner.service.parts import Restored
    from streamreasoner.state.record import EpochRecord
    from streamreasoner.upkeep.backup import Manifest


def restore(
    config: Config, backup: Path, report: Callable[[int, int], None] = lambda _done, _all: None
) -> tuple[Manifest, int]:
    """Restore a backup into an empty state.

    Args:
        config: The configuration of its pipeline, which does not run.
        backup: The backup.
        report: Called after each epoch that is evaluated again, with their number and that of all.

    Returns:
        What the backup has, and the number of epochs that were evaluated again.

    Raises:
        StreamReasonerError: It is refused, or failed; the command can be repeated.
    """
    manifest = verify(backup)
    _check_fits(config, backup, manifest)
    with ExitStack() as stack:
        checked = check_start(config, stack, loading=True)
        _begin(config)
        copy_back(backup, manifest, config.state)
        restored = restored_alone(config, checked, stack, is_behind=True)
        evaluated = _catch_up(config, checked, restored, report)
        config.state.restoring.unlink()
        disk.sync(config.state.directory)
    return manifest, evaluated


def _check_fits(config: Config, backup: Path, manifest: Manifest) -> None:
    """Refuse the backup of another application or version."""
    app_id = config.pipeline.app_id
    if manifest.app_id != app_id:
        raise StateError(
            f"The backup {backup} is of the application {manifest.app_id}, and pipeline.app_id is "
            f"{app_id}. Set it to {manifest.app_id}, or name a backup of {app_id}."
        )
    StateVersion(manifest.format, manifest.semantics).check(f"The backup {backup}")


def _begin(config: Config) -> None:
    """Mark an empty state, or empty one whose restore was interrupted."""
    state = config.state
    found = [
        str(path)
        for path in (state.tables, state.checkpoint_directory, state.pieces, state.topics)
        if path.exists()
    ]
    if found and not state.restoring.exists():
        raise StateError(
            f"There is a state already: {', '.join(found)}. A backup is restored into an empty "
            "state. Move these away, or set another state.directory."
        )
    delete_state(config)
    disk.write(state.restoring, b"")
    disk.sync(state.directory)


def _catch_up(
    config: Config, checked: Checked, restored: Restored, report: Callable[[int, int], None]
) -> int:
    """Evaluate what was published after the backup; returns the number of epochs."""
    point, tables = restored.recovered.point, restored.recovered.tables
    directory = restored.checkpoint.directory
    first, last = point.before, point.published
    published = markers(config, first, last)
    runner = EpochRunner(restored.parts(), point)
    planted = PlantedCheckpoint(directory, {}, int(time.time() * 1000))
    for epoch in range(first, last + 1):
        record = published[epoch]
        if epoch > restored.checkpoint.planned:
            planted.plan(epoch, recovery.ends_of(record.offsets))
        if runner.range(epoch) != record.offsets:
            raise StateError(
                f"Epoch {epoch} was published for the offsets {record.offsets}, and the backup "
                f"goes on with {runner.range(epoch)}. They do not belong together: name a backup "
                "of the pipeline that published it."
            )
        batch = reread(config.kafka, reread_group(config), record.offsets)
        runner.run(batch, epoch, lambda: None)
        planted.commit(epoch)
        report(epoch - first + 1, last - first + 1)
    # The same as at any start: the program that was published, and the ranges.
    with closing(ProgressTopic(config.kafka, config.pipeline.app_id)) as progress:
        progress.read_all()
        recovery.check(progress.marker(), tables, Checkpoint.read(directory))
    checked.topics.check()
    return max(0, last + 1 - first)


def markers(config: Config, first: int, last: int) -> dict[int, EpochRecord]:
    """The markers of epochs, by epoch; the progress topic must still have all of them.

    Raises:
        BrokerError: Kafka does not answer.
        StateError: Some are missing.
    """
    with closing(ProgressTopic(config.kafka, config.pipeline.app_id)) as progress:
        found = progress.markers_from(first)
    missing = [epoch for epoch in range(first, last + 1) if epoch not in found]
    if missing:
        raise StateError(
            f"The topic {config.kafka.progress_topic} (kafka.progress_topic) no longer has the "
            f"markers of {counted(len(missing), 'epoch')} from {missing[0]} to {missing[-1]}, "
            "which were published after the backup: Kafka compacts closed segments, by default "
            "after a week or 1 GiB. Without them it is not known which messages each had. Restore "
            "a later backup, or begin from nothing with: streamreasoner reset --config FILE"
        )
    return found
