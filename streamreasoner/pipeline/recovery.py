"""Where a start resumes. Invariant: a state that no crash explains is refused before anything runs.

Batch b is recorded in this order: Spark plans it (`offsets/b`), the tables take it
(durable step 1), the marker records it (2), Spark commits it (3, `commits/b`). A crash may occur
between any two, so at a start

    committed <= marker <= tables <= planned <= committed + 1

and the batch after the committed one runs again, with its planned range and the program that was in
effect before it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner import durations
from streamreasoner.counts import counted
from streamreasoner.errors import StateError
from streamreasoner.io.spark.offsets import check_follows
from streamreasoner.state.in_effect import other_declarations, same_program
from streamreasoner.state.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from streamreasoner.io.spark.offsets import Checkpoint
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.program.text import ProgramText
    from streamreasoner.state.record import EpochRecord, Offsets, TableRecord

    Programs = tuple[tuple[int, ProgramText], ...]

_log = logging.getLogger(__name__)
_MULTISET = "multiset"
_ADVICE = (
    "Restore the state directory, the checkpoint and the topics from the same point in time, or "
    "begin from nothing with: streamreasoner reset --config FILE"
)
_NEW_OUTPUT = (
    "Start from scratch with another state.directory, pipeline.app_id and kafka.output_topic."
)


@dataclass(frozen=True, slots=True)
class Resume:
    """Where to resume.

    Attributes:
        before: The first epoch to run; the state holds the epochs below it.
        published: The last epoch whose changes are visible, -1 if none.
        previous: Input range of the epoch below `before`, None at the first start.
    """

    before: int
    published: int
    previous: Offsets | None


def check(marker: EpochRecord | None, tables: Tables, checkpoint: Checkpoint) -> None:
    """Refuse a state that cannot be resumed, whatever was published after this marker.

    Markers only advance, so this needs no fencing, and a process refused here does not disturb a
    running one of the same application.

    Raises:
        StateError: Checkpoint, tables and progress topic disagree; says how, with the remedy.
    """
    if marker is not None:
        # Older numbers are from before the state was migrated or rebuilt.
        marker.version.check_not_newer(f"The marker of epoch {marker.epoch} on the progress topic")
    published, stored = _published(marker), _stored(tables)
    if not checkpoint.committed <= stored <= checkpoint.planned or published > stored:
        raise _disagree(published, tables, checkpoint)
    if marker is not None:
        _, stored_program = _until(tables.programs, published)[-1]
        if marker.program != stored_program.hash:
            raise StateError(
                f"Epoch {published} was published by another rule program (hash "
                f"{marker.program[:12]}) than the stored one ({stored_program.hash[:12]}). "
                f"{_ADVICE}"
            )
    _check_ranges(marker, tables, checkpoint, stored)


def check_layout(marker: EpochRecord | None, layout: int | None, topic: str) -> None:
    """Refuse an output topic whose facts would be under other keys, or in other partitions.

    Args:
        marker: The last marker.
        layout: That of the markers to come, see `EpochRecord`.
        topic: The output topic.

    Raises:
        StateError: Says what has changed, with the remedy.
    """
    if marker is None or marker.layout == layout:
        return
    if marker.layout is not None and layout is not None:
        raise StateError(
            f"The topic {topic} (kafka.output_topic) had {counted(marker.layout, 'partition')} "
            f"when this application began to publish facts to it, and has {layout}: the tombstone "
            f"of a fact would not be in the partition of its addition. {_NEW_OUTPUT}"
        )
    before, now = ("changes", "upsert") if marker.layout is None else ("upsert", "changes")
    raise StateError(
        f'This application publishes to the topic {topic} (kafka.output_topic) with "{before}", '
        f'but output.envelope is "{now}". Set it to "{before}". Or: {_NEW_OUTPUT}'
    )


def check_contents(marker: EpochRecord | None, contents: str | None, topic: str) -> None:
    """Refuse to publish other facts to a topic that holds facts.

    Args:
        marker: The last marker.
        contents: Those of the markers to come, see `EpochRecord`.
        topic: The output topic.

    Raises:
        StateError: Says what has changed, with the remedy.
    """
    before = None if marker is None else marker.contents
    if before is None or contents is None or before == contents:
        return
    keys = ("include", "inherited")
    for key, was, now in zip(keys, before.split(), contents.split(), strict=True):
        if was != now:
            raise StateError(
                f'The topic {topic} (kafka.output_topic) holds the facts of output.{key} = "{was}",'
                f' and output.{key} is "{now}": those that are left out, or there, from now on '
                f'would stay as they are. Set it to "{was}". Or: {_NEW_OUTPUT}'
            )


def resume(marker: EpochRecord | None, tables: Tables, checkpoint: Checkpoint) -> Resume:
    """Reconcile checkpoint, tables and progress topic.

    Args:
        marker: The last marker, read after every earlier process was fenced.
        tables: The tables.
        checkpoint: Spark's checkpoint.

    Raises:
        StateError: They disagree; says how, with the remedy.
    """
    check(marker, tables, checkpoint)
    published = _published(marker)
    if published < checkpoint.committed:
        raise _disagree(published, tables, checkpoint)
    return Resume(checkpoint.next, published, _previous(tables, checkpoint))


def resume_behind(marker: EpochRecord | None, tables: Tables, checkpoint: Checkpoint) -> Resume:
    """Reconcile a restored backup, after which epochs may have been published.

    Args:
        marker: The last marker, read after every earlier process was fenced.
        tables: The tables.
        checkpoint: Spark's checkpoint.

    Raises:
        StateError: They disagree; says how, with the remedy.
    """
    if marker is None or marker.epoch <= _stored(tables):
        return resume(marker, tables, checkpoint)
    marker.version.check_not_newer(f"The marker of epoch {marker.epoch} on the progress topic")
    check(None, tables, checkpoint)
    return Resume(checkpoint.next, marker.epoch, _previous(tables, checkpoint))


def ends_of(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Where a range ends: topic -> partition -> the offset after the last."""
    return {
        topic: {partition: after for partition, (_, after) in partitions.items()}
        for topic, partitions in offsets.items()
    }


def is_published(marker: EpochRecord | None, record: EpochRecord) -> bool:
    """Whether an epoch is visible whose transaction has failed.

    Args:
        marker: The last marker, read after the transaction was fenced.
        record: The record of the epoch.

    Raises:
        StateError: Another process has published.
    """
    last = _published(marker)
    if marker is not None and last == record.epoch and marker.offsets == record.offsets:
        return True
    if last == record.epoch - 1:
        return False
    raise StateError(
        f"Epoch {record.epoch} is to be published, but the progress topic has epoch {last}: "
        "another process with this pipeline.app_id has published meanwhile. Only one may run. Stop "
        "the other, or set another app_id here."
    )


def check_new(tables: Path, checkpoint: Checkpoint) -> None:
    """Refuse to load into a state that has read input.

    Args:
        tables: Directory of the tables, which need not exist.
        checkpoint: Spark's checkpoint.

    Raises:
        StateError: It has an epoch, or Spark has chosen where its input begins.
    """
    if checkpoint.begun or checkpoint.planned >= 0 or any(Tables.rows(tables)):
        raise StateError(
            f"There is a state already ({tables.parent}), and a first load begins one. Send the "
            "facts to an input topic (streamreasoner produce), or start from scratch with another "
            "state.directory, pipeline.app_id and kafka.output_topic."
        )


def programs_before(tables: Tables, checkpoint: Checkpoint) -> Programs:
    """The programs introduced by epochs below the next one, oldest first; the last is in effect."""
    return _until(tables.programs, checkpoint.committed)


def check_semantics(record: TableRecord | None, configured: Mapping[str, str]) -> None:
    """Refuse input whose earlier updates the state has taken in another way.

    Args:
        record: What the last epoch was committed with, None before the first.
        configured: Input topic to the semantics of its updates, if they are not a multiset.

    Raises:
        StateError: The semantics of a topic that the state has read has changed.
    """
    if record is None:
        return
    for topic in record.offsets:
        before = record.input.get(topic, _MULTISET)
        now = configured.get(topic, _MULTISET)
        if before != now:
            raise StateError(
                f"The state has read the topic {topic} as {before}, but input.semantics is {now} "
                f"for it. Keep {before}, or send the updates to a new topic with {now}."
            )


def check_granularity(record: TableRecord | None, configured: int | None) -> None:
    """Refuse a state whose epochs are of another kind.

    Args:
        record: What the last epoch was committed with, None before the first.
        configured: Length of the slots of event time in milliseconds, None for batches.

    Raises:
        StateError: The state has other slots, or none.
    """
    before = None if record is None or record.slots is None else record.slots.granularity
    if record is None or before == configured:
        return
    said, now = (
        "not set" if each is None else f'"{durations.text(each)}"' for each in (before, configured)
    )
    raise StateError(
        f"The state was begun with time.granularity {said}, and it is {now}. Keep it {said}: its "
        "epochs were published by it. Or start from scratch with another state.directory, "
        "pipeline.app_id and kafka.output_topic."
    )


def check_file(
    programs: Sequence[tuple[int, ProgramText]],
    current: tuple[int, ProgramText],
    configured: CheckedProgram,
    path: object,
) -> None:
    """Compare the configured program with those that the state has had.

    Args:
        programs: All of the state, including that of a replayed epoch.
        current: The program in effect, with its first epoch.
        configured: The program that the configuration names.
        path: Its name or path in the configuration.

    Raises:
        StateError: The state never had the configured program.
    """
    epoch, in_effect = current
    effective = f"program {in_effect.hash[:12]}"
    effective += f" of epoch {epoch}" if epoch >= 0 else " that the state began with"
    if same_program(in_effect, configured):
        others = other_declarations(in_effect, configured)
        if others:
            _log.warning(
                "The declarations of rules.program (%s) are not those of the %s, which stay in "
                "effect: %s. To put those of the file into effect, run: streamreasoner rules "
                "replace FILE --config CONFIG.",
                path,
                effective,
                "; ".join(others),
            )
        return
    if not any(same_program(program, configured) for _, program in programs):
        raise StateError(
            f"The state belongs to another program: the {effective} is in effect, and that of "
            f"rules.program ({path}, hash {configured.hash[:12]}) never was. Set rules.program to "
            "the one that the state began with, and change it while the pipeline runs, through "
            "rules.control_topic: streamreasoner rules replace FILE --config CONFIG. Or start from "
            "scratch with another pipeline.app_id and state.directory."
        )
    _log.warning(
        "The %s is in effect, not that of rules.program (%s, hash %s). To see it, run: "
        "streamreasoner rules show --config CONFIG. To change it, run: streamreasoner rules "
        "replace FILE --config CONFIG.",
        effective,
        path,
        configured.hash[:12],
    )


def _previous(tables: Tables, checkpoint: Checkpoint) -> Offsets | None:
    return tables.offsets(checkpoint.committed) if checkpoint.committed >= 0 else None


def _published(marker: EpochRecord | None) -> int:
    return -1 if marker is None else marker.epoch


def _stored(tables: Tables) -> int:
    version = tables.version()
    return -1 if version is None else version


def _disagree(published: int, tables: Tables, checkpoint: Checkpoint) -> StateError:
    if max(checkpoint.planned, checkpoint.committed, _stored(tables)) < 0:
        return StateError(
            "The state and the progress topic do not belong together: the state is empty "
            f"({tables.completing_table}), and this pipeline.app_id has published batch "
            f"{published}. The state was deleted, or state.directory is another one than before. "
            "Restore it, or begin from nothing with: streamreasoner reset --config FILE"
        )
    return StateError(
        f"Checkpoint, tables and progress topic do not belong together: Spark has planned "
        f"batch {_batch(checkpoint.planned)} and committed {_batch(checkpoint.committed)} "
        f"({checkpoint.directory}), the last in the tables is {_batch(_stored(tables))} "
        f"({tables.completing_table}), the last published is {_batch(published)}. {_ADVICE}"
    )


def _until(programs: Sequence[tuple[int, ProgramText]], last: int) -> Programs:
    return tuple((epoch, program) for epoch, program in programs if epoch <= last)


def _check_ranges(
    marker: EpochRecord | None, tables: Tables, checkpoint: Checkpoint, stored: int
) -> None:
    """Compare ranges too: a new checkpoint counts batches from 0 again, over other data."""
    if marker is not None:
        _check_same(marker.epoch, "the progress topic", marker.offsets, checkpoint)
    for epoch in {stored, checkpoint.committed} - {-1}:
        stored_range = tables.offsets(epoch)
        if stored_range is not None:
            _check_same(epoch, "the tables", stored_range, checkpoint)
    previous = _previous(tables, checkpoint)
    if previous is not None and checkpoint.planned > checkpoint.committed:
        check_follows(checkpoint.planned, previous, checkpoint.range(checkpoint.planned))


def _check_same(epoch: int, where: str, recorded: Offsets, checkpoint: Checkpoint) -> None:
    planned = checkpoint.range(epoch)
    if planned != recorded:
        raise StateError(
            f"Epoch {epoch} covers the offsets {recorded} according to {where}, but {planned} "
            f"according to the checkpoint {checkpoint.directory}. {_ADVICE}"
        )


def _batch(number: int) -> str:
    return "none" if number < 0 else str(number)
