"""What a start refuses and no broker is needed for. Invariant: one check hides no other."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamreasoner.errors import StartError, StreamReasonerError
from streamreasoner.io.formats.rows.fit import check_mappings
from streamreasoner.io.kafka.topic_checks import admin_client
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.pipeline import recovery
from streamreasoner.pipeline.bootstrap.record import check_finished
from streamreasoner.pipeline.published import Published
from streamreasoner.program.load import load_program
from streamreasoner.server.listening import check_certificate
from streamreasoner.state import PROGRAMS, TRACE, check_version, commit, programs
from streamreasoner.state.delta.held import HeldTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.config import Config
    from streamreasoner.program.checked import CheckedProgram


class Problems:
    """Errors of checks that do not depend on each other."""

    def __init__(self) -> None:
        self._errors: list[StreamReasonerError] = []

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the error of a check, and go on with the next one."""
        try:
            yield
        except StreamReasonerError as error:
            self._errors.append(error)

    def end_check(self) -> None:
        """End the start if a check has failed.

        Raises:
            StreamReasonerError: The only error, or a `StartError` with the texts of all.
        """
        match self._errors:
            case []:
                return
            case [error]:
                raise error
            case errors:
                raise StartError("\n".join(map(str, errors)))


def configured_program(config: Config) -> CheckedProgram:
    """The configured program, which the mappings of rows fit.

    Raises:
        ProgramError: The program is invalid.
        ConfigError: A mapping does not fit it.
    """
    program = load_program(
        config.rules.program, config.rules.graphs, annotations=config.output.annotations
    )
    may_change = config.rules.control_topic is not None
    check_mappings(
        config.input.map.values(),
        program.arities,
        may_change=may_change,
        hidden=program.unlisted,
    )
    return program


def check_program(config: Config) -> CheckedProgram:
    """The configured program, which mappings and output fit.

    Raises:
        ProgramError: The program is invalid.
        ConfigError: A mapping or the format of the output does not fit it.
    """
    program = configured_program(config)
    Published.of(config.output).check(program)
    return program


def check_offline(config: Config) -> CheckedProgram:
    """Check a configuration, its program, and the state if there is one; returns the program.

    Raises:
        StreamReasonerError: Says all that is wrong.
    """
    problems, program = Problems(), None
    with problems.kept():
        program = check_program(config)
    with problems.kept():
        # The client reads its options when it is made, and connects later.
        admin_client(config.kafka)
    with problems.kept():
        check_certificate(config.server)
    with problems.kept():
        check_state(config, program)
    problems.end_check()
    if program is None:
        raise AssertionError
    return program


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
