"""What a start refuses of a state, without its lock. Invariant: nothing is written or disturbed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.pipeline import recovery
from streamreasoner.pipeline.bootstrap.record import check_finished
from streamreasoner.state import PROGRAMS, TRACE, check_version, commit, programs
from streamreasoner.state.delta.held import HeldTable

if TYPE_CHECKING:
    from streamreasoner.config import Config
    from streamreasoner.program.checked import CheckedProgram


def check_state(config: Config, program: CheckedProgram | None) -> int | None:
    """Check a state against the configuration.

    Args:
        config: The configuration.
        program: The configured program; None if it is invalid.

    Returns:
        The last epoch of the state: -1 before the first, None if there is no state.

    Raises:
        StateError: A start would refuse the state; says what to do.
    """
    state = config.state
    check_finished(state)
    if not (state.tables / PROGRAMS).exists():
        return None
    check_version(state.tables)
    # Before the tables: a batch that is finished is in them.
    checkpoint = Checkpoint.read(state.checkpoint_directory)
    record = commit.last_record(HeldTable(state.tables / TRACE))
    recovery.check_semantics(record, config.semantics)
    recovery.check_granularity(record, config.time.granularity)
    if program is not None:
        stored = programs.read(state.tables / PROGRAMS)
        *_, in_effect = (each for each in stored if each[0] <= checkpoint.committed)
        recovery.check_file(stored, in_effect, program, config.rules.program)
    return -1 if record is None else record.epoch
