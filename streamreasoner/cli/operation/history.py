"""`streamreasoner history`: when a fact became present and absent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.cli.operation.moments import Format, Lines
from streamreasoner.cli.options import CONFIG_FILE, ConfigFile, StateDirectory

if TYPE_CHECKING:
    from streamreasoner.history.epochs import Past
    from streamreasoner.history.past_facts import Event, History


def history(
    fact: Annotated[
        str,
        typer.Argument(
            # Escaped: rich would read the bracket as markup.
            help="The fact, as in a rule: 'path(ex:a, ex:b)', '\\[ex:a, a, ex:B]', with the"
            " prefixes of the program; or a message of the output topic."
        ),
    ],
    config: ConfigFile = CONFIG_FILE,
    *,
    state_directory: StateDirectory = None,
    format_: Format = Lines.TEXT,
) -> None:
    """Print the epochs at which a fact became present (+) and absent (-).

    The pipeline may be running. The last lines tell how far back that is known.
    """
    from streamreasoner.cli.operation.moments import open_past
    from streamreasoner.explain.fact import read_fact
    from streamreasoner.io.formats.json import fact_of_message

    facts = open_past(config, state_directory)
    target = read_fact(fact_of_message(fact), facts.program(facts.past.last))
    found = facts.history(target)
    match format_:
        case Lines.TEXT:
            _print_text(found, facts.past)
        case Lines.JSON:
            _print_json(found, facts.past)


def _print_text(found: History, past: Past) -> None:
    presence = {True: "present", False: "absent"}
    if past.changes_from >= 0:
        print(f"# `changes` begins with epoch {past.changes_from}; older rows are deleted")
    for event in found.published:
        print(f"{_line(event)}  published")
    if past.summed:
        print(f"{presence[found.was_present]} at the end of epoch {past.oldest}, the oldest one")
    for event in found.events:
        print(_line(event))
    print(f"{presence[found.is_present]} at the end of epoch {past.last}, the last one")


def _line(event: Event) -> str:
    from streamreasoner.cli.operation.moments import iso

    return f"{'+' if event.diff > 0 else '-'} epoch {event.epoch}  {iso(event.time) or '-'}"


def _print_json(found: History, past: Past) -> None:
    from streamreasoner.cli.operation.moments import iso

    for kind, events in (("published", found.published), ("presence", found.events)):
        for event in events:
            row = {"epoch": event.epoch, "ts": iso(event.time), "diff": event.diff, "of": kind}
            print(json.dumps(row))
    end = {
        "present": found.is_present,
        "last": past.last,
        "oldest": past.oldest if past.summed else None,
        "present_at_oldest": found.was_present,
        "changes_from": past.changes_from if past.changes_from >= 0 else None,
    }
    print(json.dumps(end))
