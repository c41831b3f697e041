"""The configured program. Invariant: a program that its configuration cannot run is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.io.formats.rows.fit import check_mappings
from streamreasoner.program.load import load_program

if TYPE_CHECKING:
    from streamreasoner.config import Config
    from streamreasoner.program.checked import CheckedProgram


def configured_program(config: Config) -> CheckedProgram:
    """The configured program, which the mappings of rows fit.

    Raises:
        ProgramError: The program is invalid.
        ConfigError: A mapping does not fit it.
    """
    program = load_program(config.rules.program, config.rules.graphs)
    may_change = config.rules.control_topic is not None
    check_mappings(
        config.input.map.values(),
        program.arities,
        may_change=may_change,
        hidden=program.unlisted,
    )
    return program
