"""What a start refuses and no broker is needed for. Invariant: one check hides no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.io.kafka.topic_checks import admin_client
from streamreasoner.pipeline.problems import Problems
from streamreasoner.pipeline.published import Published
from streamreasoner.server.listening import check_certificate
from streamreasoner.upkeep.program import configured_program
from streamreasoner.upkeep.state import check_state

if TYPE_CHECKING:
    from streamreasoner.config import Config
    from streamreasoner.program.checked import CheckedProgram


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
