"""`streamreasoner rules`: the program of a running pipeline, changed by control messages.

What can be told from here is refused here; the rest is decided by the pipeline, in the order of the
messages.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.analysis.change import in_one_text
from streamreasoner.analysis.check import check_text
from streamreasoner.analysis.load import load_program, read_rules
from streamreasoner.config import load
from streamreasoner.errors import ConfigError, ProgramError
from streamreasoner.lang.diagnostic import render
from streamreasoner.lang.parser import parse
from streamreasoner.storage import programs
from streamreasoner.streaming.answers import Answers
from streamreasoner.streaming.control import Operation, write_control
from streamreasoner.streaming.program import why_files_are_refused
from streamreasoner.streaming.topics import produce_one

if TYPE_CHECKING:
    from streamreasoner.config import Config

_PATIENCE_SECONDS = 60.0
_ONLY_IN_THE_WHOLE = frozenset({"SR211"})

app = typer.Typer(help="The program of a running pipeline.", no_args_is_help=True)

_Config = Annotated[Path, typer.Option(help="The configuration file (TOML).")]
_Wait = Annotated[
    bool,
    typer.Option("--wait", help="Wait until the change is in effect; fail if it is rejected."),
]
_Timeout = Annotated[float, typer.Option(min=0, help="Seconds to wait at the most.")]


@app.callback()
def rules() -> None:
    """The program of a running pipeline."""


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help="A file of rules, facts and directives.")],
    config: _Config,
    *,
    wait: _Wait = False,
    timeout: _Timeout = _PATIENCE_SECONDS,
) -> None:
    """Take the rules of a file into the program."""
    text = read_rules(file)
    try:
        check_text(text, str(file))
    except ProgramError as error:
        # The rest of the program may have what these rules lack.
        codes = {getattr(one, "code", None) for one in error.diagnostics}
        if not codes <= _ONLY_IN_THE_WHOLE:
            raise
    _send(load(config), Operation.ADD, text, file, timeout if wait else None)


@app.command()
def remove(
    file: Annotated[Path, typer.Argument(help="A file of rules and facts of the program.")],
    config: _Config,
    *,
    wait: _Wait = False,
    timeout: _Timeout = _PATIENCE_SECONDS,
) -> None:
    """Take the rules of a file out of the program; they are written as the program has them."""
    text = read_rules(file)
    parse(text, str(file))
    _send(load(config), Operation.REMOVE, text, file, timeout if wait else None)


@app.command()
def replace(
    program: Annotated[str, typer.Argument(help="A rule file, or the name of a ruleset.")],
    config: _Config,
    *,
    wait: _Wait = False,
    timeout: _Timeout = _PATIENCE_SECONDS,
) -> None:
    """Put a program in the place of the one in effect, with all that it imports."""
    checked = load_program(program)
    if checked.warnings:
        print(render(checked.warnings, checked.texts), file=sys.stderr)
    one = in_one_text(checked, program)
    text, patience = one.program.text, timeout if wait else None
    _send(load(config), Operation.REPLACE, text, Path(program), patience)


@app.command()
def show(config: _Config) -> None:
    """Print the program in effect, with the epoch it came with and its hash."""
    epoch, program = programs.read(load(config).state.tables / "programs")[-1]
    since = f"in effect from epoch {epoch} on" if epoch >= 0 else "in effect from the beginning"
    print(f"% {since}; hash {program.hash}")
    print(program.text, end="")


def _send(
    config: Config, operation: Operation, text: str, file: Path, patience: float | None
) -> None:
    """Send a control message; with *patience*, wait that many seconds for the outcome."""
    topic = config.rules.control_topic
    if topic is None:
        raise ConfigError(
            "rules.control_topic is not set, so the program cannot be changed while the pipeline "
            "runs. Set it, create the topic with `streamreasoner topics create`, and restart."
        )
    refusal = why_files_are_refused(text, str(file))
    if refusal is not None:
        raise ProgramError(refusal)
    value = write_control(operation, text, file.name)
    most = config.pipeline.max_message_bytes
    if len(value) > most:
        raise ConfigError(
            f"The message has {len(value)} bytes; pipeline.max_message_bytes allows {most}. Send "
            "the rules in several files, or raise it and restart."
        )
    if patience is not None:
        _send_and_wait(config, topic, value, patience)
        return
    produce_one(config.kafka, topic, value)
    print(
        f"Sent to {topic}. If the pipeline rejects it, {config.kafka.dead_letter_topic} says why; "
        "`streamreasoner rules show` prints the program in effect. Wait for it with --wait."
    )


def _send_and_wait(config: Config, topic: str, value: bytes, patience: float) -> None:
    with Answers(config.kafka, config.pipeline.app_id) as answers:
        offset = produce_one(config.kafka, topic, value)
        why = answers.why_rejected(topic, offset, patience)
    if why is not None:
        raise ProgramError(f"The pipeline rejected the change. {why}")
    print("The change is in effect.")
