"""`streamreasoner doctor`: what a pipeline needs, each with its remedy."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner.cli.options import CONFIG_FILE


def doctor(
    config: Annotated[
        Path | None,
        typer.Option(
            help=f"The configuration file (TOML); default: {CONFIG_FILE} if it exists, else only"
            " this machine is checked."
        ),
    ] = None,
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print an object of JSON for each finding.")
    ] = False,
) -> None:
    """Check Java, versions, disk, configuration, state, brokers, topics and rights.

    Nothing is changed, and a running pipeline is not disturbed. Each line says what is wrong and
    what to do. Exits with 1 if a start would fail.
    """
    from streamreasoner.system.extras import require

    require("pipeline", "`streamreasoner doctor`")

    from itertools import chain

    from streamreasoner.upkeep.doctor import examine_machine, examine_pipeline
    from streamreasoner.upkeep.finding import Level

    if config is None and CONFIG_FILE.exists():
        config = CONFIG_FILE
    levels = set()
    for finding in chain(examine_machine(), () if config is None else examine_pipeline(config)):
        levels.add(finding.level)
        if as_json:
            print(json.dumps(asdict(finding)), flush=True)
        else:
            message = finding.message.replace("\n", "\n" + " " * 9)
            print(f"{finding.level:<8} {finding.check}: {message}", flush=True)
    if config is None:
        print(
            f"Only this machine was checked, as there is no {CONFIG_FILE} here. To check a "
            "pipeline, name its configuration with --config.",
            file=sys.stderr,
        )
    raise typer.Exit(1 if Level.ERROR in levels else 0)
