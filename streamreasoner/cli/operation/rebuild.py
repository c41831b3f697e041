"""`streamreasoner rebuild`: turn a state of other semantics into input for a new pipeline."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.cli.options import CONFIG_FILE, ConfigFile
from streamreasoner.counts import counted
from streamreasoner.errors import DataError, StateError

if TYPE_CHECKING:
    from streamreasoner.config.process import StateConfig


def rebuild(
    *,
    into: Annotated[Path, typer.Option(help="A new directory for the program and the facts.")],
    config: ConfigFile = CONFIG_FILE,
) -> None:
    """Write the program in effect and the asserted facts of a stopped pipeline into files.

    A new pipeline derives from them under the semantics of this release.
    """
    from streamreasoner.config import load
    from streamreasoner.io.spark.offsets import Checkpoint
    from streamreasoner.pipeline.bootstrap.record import check_finished
    from streamreasoner.state.maintenance.waiting import check_none_waits
    from streamreasoner.state.migrate import adopt_format
    from streamreasoner.state.objects.held import held

    state = load(config).state
    with held(state) as upload:
        check_finished(state)
        adopt_format(state.tables)
        upload.end()
        last = Checkpoint.read(state.checkpoint_directory).committed
        if last < 0:
            raise StateError(
                f"{state.checkpoint_directory} has no finished batch, so there is nothing to "
                "rebuild. Start with a new state directory and app_id."
            )
        check_none_waits(state.tables, last, "A new state")
        facts = _write(state, last, into)
    print(
        f"Wrote {into / 'program.dl'} and {counted(facts, 'fact')} to {into / 'facts.jsonl'}, "
        f"as of epoch {last}. Start a new pipeline with this program, a new state directory, "
        "app_id and topics, and send it the facts: streamreasoner produce "
        f"{into / 'facts.jsonl'} --config NEW"
    )


def _write(state: StateConfig, last: int, into: Path) -> int:
    """Write both files; returns how many facts there are."""
    from streamreasoner.io.formats.json import write_fact
    from streamreasoner.lang.ast import Constant
    from streamreasoner.lang.parser import parse
    from streamreasoner.state import PROGRAMS, programs
    from streamreasoner.state.restore import asserted

    stored = programs.read(state.tables / PROGRAMS)
    *_, program = (program for epoch, program in stored if epoch <= last)
    stated = {
        (
            head.predicate,
            *(argument.term for argument in head.arguments if isinstance(argument, Constant)),
        )
        for rule in parse(program.text, "program in effect").rules
        for head in rule.heads
        if not rule.body
    }
    facts = 0
    try:
        into.mkdir(parents=True)
        (into / "program.dl").write_text(program.text, encoding="utf-8")
        with (into / "facts.jsonl").open("w", encoding="utf-8") as file:
            for predicate, args, multiplicity, ts in asserted(state.tables, last + 1):
                # The new pipeline asserts the facts of the program itself.
                diff = multiplicity - ((predicate, *args) in stated)
                if diff:
                    file.write(f"{write_fact(predicate, args, diff, ts)}\n")
                    facts += 1
    except OSError as error:
        raise DataError(
            f"{into} cannot be written: {error.strerror}. Choose another directory."
        ) from None
    return facts
