"""Where a start continues. Invariant: what replay cannot explain is refused before anything runs.

Batch b passes three places in this order: Spark plans it (`offsets/b`), the tables take it
(durable step 1), the marker records it (2), Spark commits it (3, `commits/b`). A crash may fall
between any two, so at a start

    committed <= marker <= tables <= planned <= committed + 1

and the batch after the committed one is run again, with the range that was planned and the program
that was in effect before it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.errors import StateError
from streamreasoner.streaming.offsets import check_follows
from streamreasoner.streaming.program import same_program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.analysis.check import CheckedProgram
    from streamreasoner.collection.programs import ProgramText
    from streamreasoner.streaming.offsets import Checkpoint
    from streamreasoner.streaming.ports import Offsets, Tables
    from streamreasoner.streaming.progress import Marker

    History = tuple[tuple[int, ProgramText], ...]

_log = logging.getLogger(__name__)
_ADVICE = (
    "Restore the state directory, the checkpoint and the topics as they were at one moment, or "
    "begin anew: delete the state directory and the checkpoint and choose another pipeline.app_id."
)


@dataclass(frozen=True, slots=True)
class Resume:
    """Where and with what to continue.

    Attributes:
        before: The first epoch to run; the state is that of the epochs below it.
        published: The last epoch whose changes are visible, -1 if none.
        previous: Input range of the epoch below `before`, None at the beginning.
        programs: The programs that came with epochs below `before`, oldest first; the last one is
            in effect.
    """

    before: int
    published: int
    previous: Offsets | None
    programs: History


def check(marker: Marker | None, tables: Tables, checkpoint: Checkpoint) -> None:
    """Refuse a state that cannot be resumed, whatever is published after this marker.

    Markers only advance, so this needs no fencing, and a process that is refused here leaves
    another one of its application alone.

    Raises:
        StateError: Checkpoint, tables and progress topic disagree; says how, and what to do.
    """
    if marker is not None:
        # Older numbers are those of epochs before the state was migrated or rebuilt.
        marker.version.check_not_newer(f"The marker of epoch {marker.batch} on the progress topic")
    published, stored = _published(marker), _stored(tables)
    if not checkpoint.committed <= stored <= checkpoint.planned or published > stored:
        raise _disagree(published, stored, checkpoint)
    if marker is not None:
        _, stored_program = _until(tables.programs, published)[-1]
        if marker.program_hash != stored_program.hash:
            raise StateError(
                f"Epoch {published} was published by another rule program (hash "
                f"{marker.program_hash[:12]}) than it is stored with ({stored_program.hash[:12]}). "
                f"{_ADVICE}"
            )
    _check_ranges(marker, tables, checkpoint, stored)


def resume(marker: Marker | None, tables: Tables, checkpoint: Checkpoint) -> Resume:
    """Reconcile checkpoint, tables and progress topic.

    Args:
        marker: The last marker, read after every earlier process has been fenced.
        tables: The tables.
        checkpoint: Spark's checkpoint.

    Raises:
        StateError: They disagree; says how, and what to do.
    """
    check(marker, tables, checkpoint)
    committed, published = checkpoint.committed, _published(marker)
    if published < committed:
        raise _disagree(published, _stored(tables), checkpoint)
    previous = tables.offsets(committed) if committed >= 0 else None
    return Resume(checkpoint.next, published, previous, programs_before(tables, checkpoint))


def programs_before(tables: Tables, checkpoint: Checkpoint) -> History:
    """The programs that came with epochs below the next one, oldest first."""
    return _until(tables.programs, checkpoint.committed)


def check_file(
    programs: Sequence[tuple[int, ProgramText]],
    current: tuple[int, ProgramText],
    given: CheckedProgram,
    path: object,
) -> None:
    """Compare the program that the configuration names with those that a state has had.

    Args:
        programs: All of the state, that of an epoch which is replayed too.
        current: The one in effect, with its epoch.
        given: The program that the configuration names.
        path: What the configuration says about it.

    Raises:
        StateError: The state never had it.
    """
    epoch, in_effect = current
    effective = f"the program {in_effect.hash[:12]}"
    effective += f" of epoch {epoch}" if epoch >= 0 else ", with which the state began"
    if same_program(in_effect, given):
        return
    if not any(same_program(program, given) for _, program in programs):
        raise StateError(
            f"The state belongs to another program: in effect is {effective}, and the one of "
            f"rules.program ({path}, hash {given.hash[:12]}) never was. Give rules.program the one "
            "that the state began with, and change the program while the pipeline runs, through "
            "rules.control_topic: streamreasoner rules replace FILE --config CONFIG. Or begin anew "
            "with another pipeline.app_id and state.directory."
        )
    _log.warning(
        "In effect is %s, not the one of rules.program (%s, hash %s). See it with: "
        "streamreasoner rules show --config CONFIG. Change it with: streamreasoner rules "
        "replace FILE --config CONFIG.",
        effective,
        path,
        given.hash[:12],
    )


def _published(marker: Marker | None) -> int:
    return -1 if marker is None else marker.batch


def _stored(tables: Tables) -> int:
    version = tables.version()
    return -1 if version is None else version


def _disagree(published: int, stored: int, checkpoint: Checkpoint) -> StateError:
    return StateError(
        f"Checkpoint, tables and progress topic do not belong together: Spark has planned "
        f"batch {_batch(checkpoint.planned)} and committed {_batch(checkpoint.committed)}, the "
        f"tables hold {_batch(stored)}, published is {_batch(published)}. {_ADVICE}"
    )


def _until(programs: Sequence[tuple[int, ProgramText]], last: int) -> History:
    return tuple((epoch, program) for epoch, program in programs if epoch <= last)


def _check_ranges(
    marker: Marker | None, tables: Tables, checkpoint: Checkpoint, stored: int
) -> None:
    """Batch ids that agree prove nothing: a new checkpoint counts from 0 again, over other data."""
    if marker is not None:
        _same(marker.batch, "the progress topic", marker.offsets, checkpoint)
    for epoch in {stored, checkpoint.committed} - {-1}:
        found = tables.offsets(epoch)
        if found is not None:
            _same(epoch, "the tables", found, checkpoint)
    previous = tables.offsets(checkpoint.committed) if checkpoint.committed >= 0 else None
    if previous is not None and checkpoint.planned > checkpoint.committed:
        check_follows(checkpoint.planned, previous, checkpoint.range(checkpoint.planned))


def _same(epoch: int, where: str, found: Offsets, checkpoint: Checkpoint) -> None:
    planned = checkpoint.range(epoch)
    if planned != found:
        raise StateError(
            f"Epoch {epoch} covers the offsets {found} according to {where}, but {planned} "
            f"according to the checkpoint {checkpoint.directory}. {_ADVICE}"
        )


def _batch(number: int) -> str:
    return "none" if number < 0 else str(number)
