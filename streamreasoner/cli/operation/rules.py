"""`streamreasoner rules`: change the program of a running pipeline by control messages.

Rules that are wrong on their own are refused here; the pipeline decides the rest, in the order of
the messages.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.cli.help import Command, Group
from streamreasoner.cli.options import CONFIG_FILE, ConfigFile
from streamreasoner.errors import ConfigError, ProgramError

if TYPE_CHECKING:
    from streamreasoner.config import Config
    from streamreasoner.pipeline.control import Operation

_TIMEOUT_SECONDS = 60.0
_NEEDS_WHOLE_PROGRAM = frozenset({"SR211"})

app = typer.Typer(cls=Group, help="The program of a running pipeline.", no_args_is_help=True)

_Name = Annotated[
    str | None,
    typer.Option(help="Of a query: the predicate of its answers; by default that of its file."),
]
_Wait = Annotated[
    bool,
    typer.Option("--wait", help="Wait until the change is in effect; fail if it is rejected."),
]
_Timeout = Annotated[float, typer.Option(min=0, help="Most seconds to wait.")]


@app.callback()
def rules() -> None:
    """The program of a running pipeline."""


@app.command(cls=Command)
def add(
    file: Annotated[Path, typer.Argument(help="A file of rules (.dl, .srl), or a query (.rq).")],
    config: ConfigFile = CONFIG_FILE,
    *,
    name: _Name = None,
    wait: _Wait = False,
    timeout: _Timeout = _TIMEOUT_SECONDS,
) -> None:
    """Add the rules of a file to the program, or those of a query in SPARQL."""
    from streamreasoner.config import load
    from streamreasoner.pipeline.control import Operation
    from streamreasoner.program.checked import check_text
    from streamreasoner.program.load import read_rules
    from streamreasoner.program.sources import QUERY

    text = _as_rules(read_rules(file), file)
    if file.suffix == QUERY or name is not None:
        _send_query(load(config), Operation.ADD, text, file, name, timeout if wait else None)
        return
    try:
        check_text(text, str(file))
    except ProgramError as error:
        # The rest of the program may provide what these rules lack.
        codes = {getattr(diagnostic, "code", None) for diagnostic in error.diagnostics}
        if not codes <= _NEEDS_WHOLE_PROGRAM:
            raise
    _send(load(config), Operation.ADD, text, file, timeout if wait else None)


@app.command(cls=Command)
def remove(
    file: Annotated[Path, typer.Argument(help="A file of rules of the program, or a query.")],
    config: ConfigFile = CONFIG_FILE,
    *,
    name: _Name = None,
    wait: _Wait = False,
    timeout: _Timeout = _TIMEOUT_SECONDS,
) -> None:
    """Remove the rules of a file from the program; their text must match the program's."""
    from streamreasoner.config import load
    from streamreasoner.lang.parser import parse
    from streamreasoner.pipeline.control import Operation
    from streamreasoner.program.load import read_rules
    from streamreasoner.program.sources import QUERY

    text = _as_rules(read_rules(file), file)
    if file.suffix == QUERY or name is not None:
        _send_query(load(config), Operation.REMOVE, text, file, name, timeout if wait else None)
        return
    parse(text, str(file))
    _send(load(config), Operation.REMOVE, text, file, timeout if wait else None)


@app.command(cls=Command)
def replace(
    program: Annotated[str, typer.Argument(help="A rule file, or the name of a ruleset.")],
    config: ConfigFile = CONFIG_FILE,
    *,
    wait: _Wait = False,
    timeout: _Timeout = _TIMEOUT_SECONDS,
) -> None:
    """Replace the program in effect by another, including its imports."""
    from streamreasoner.config import load
    from streamreasoner.lang.diagnostic import render
    from streamreasoner.pipeline.control import Operation
    from streamreasoner.program.edit import canonical_program, with_settings
    from streamreasoner.program.load import load_program

    checked = load_program(program)
    loaded = load(config)
    checked = with_settings(checked, loaded.rules.graphs, loaded.output.annotations)
    if checked.warnings:
        print(render(checked.warnings, checked.texts), file=sys.stderr)
    canonical = canonical_program(checked, program)
    text, wait_seconds = canonical.program.text, timeout if wait else None
    _send(loaded, Operation.REPLACE, text, Path(program), wait_seconds)


@app.command(cls=Command)
def show(config: ConfigFile = CONFIG_FILE) -> None:
    """Print the program in effect, with its first epoch and its hash."""
    from streamreasoner.cli.operation.moments import tables_of
    from streamreasoner.state import programs

    epoch, program = programs.read(tables_of(config, None) / "programs")[-1]
    since = f"in effect from epoch {epoch} on" if epoch >= 0 else "in effect from the beginning"
    print(f"% {since}; hash {program.hash}")
    print(program.text, end="")


def _as_rules(text: str, file: Path) -> str:
    """A rule set of SPARQL-RL as the rules that it stands for; any other text as it is."""
    from streamreasoner.program.checked import check_source
    from streamreasoner.program.sources import RULE_SET
    from streamreasoner.program.text import canonical_text

    if file.suffix != RULE_SET:
        return text
    return canonical_text(check_source(text, str(file)).programs)


def _send_query(  # noqa: PLR0917 - what _send takes, and the name
    config: Config,
    operation: Operation,
    text: str,
    file: Path,
    name: str | None,
    wait_seconds: float | None,
) -> None:
    """Send the rules of a query, by which its answers are kept up to date."""
    from streamreasoner.program.checked import check_query
    from streamreasoner.program.sources import name_of_query
    from streamreasoner.program.text import canonical_text

    name = name_of_query(file.name) if name is None else name
    rules = canonical_text(check_query(text, str(file), name).programs)
    _send(config, operation, rules, file, wait_seconds, name)


def _send(  # noqa: PLR0917 - a change, and how it is sent
    config: Config,
    operation: Operation,
    text: str,
    file: Path,
    wait_seconds: float | None,
    query: str | None = None,
) -> None:
    """Send a control message; with *wait_seconds*, wait that long for the outcome."""
    from streamreasoner.system.extras import require

    require("kafka", "A change of rules")

    from streamreasoner.io.kafka.topics import produce_one
    from streamreasoner.pipeline.control import write_control
    from streamreasoner.pipeline.rule_changes import why_files_are_refused

    topic = config.rules.control_topic
    if topic is None:
        raise ConfigError(
            "rules.control_topic is not set, so the program cannot be changed while the pipeline "
            "runs. Set it, create the topic with `streamreasoner topics create`, and restart."
        )
    refusal = why_files_are_refused(text, str(file))
    if refusal is not None:
        raise ProgramError(refusal)
    value = write_control(operation, text, file.name, query)
    # Rules hold terms, so a control message may be as long as a term.
    limit = config.pipeline.max_term_bytes
    if len(value) > limit:
        raise ConfigError(
            f"The message has {len(value)} bytes; pipeline.max_term_bytes allows {limit}. Split "
            "the rules into several files, or raise the limit and restart."
        )
    if wait_seconds is not None:
        _send_and_wait(config, topic, value, wait_seconds)
        return
    produce_one(config.kafka, topic, value)
    print(
        f"Sent to {topic}. If the pipeline rejects it, the reason is on "
        f"{config.kafka.dead_letter_topic}; `streamreasoner rules show` prints the program "
        "in effect. To wait for it, use --wait."
    )


def _send_and_wait(config: Config, topic: str, value: bytes, wait_seconds: float) -> None:
    from streamreasoner.io.kafka.control_outcomes import ControlOutcomes
    from streamreasoner.io.kafka.topics import produce_one

    with ControlOutcomes(config.kafka, config.pipeline.app_id) as answers:
        offset = produce_one(config.kafka, topic, value)
        why = answers.why_rejected(topic, offset, wait_seconds)
    if why is not None:
        raise ProgramError(f"The pipeline rejected the change. {why}")
    print("The change is in effect.")
