"""`streamreasoner explain-plan`: how a program is lowered, and its delta plans."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.cli.options import (
    BaseIri,
    GraphsOption,
    HeaderLine,
    ReadAs,
    Rules,
    reading,
)
from streamreasoner.plan.print.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.engine.epoch import Engine
    from streamreasoner.io.files.documents import Reading
    from streamreasoner.program.checked import CheckedProgram


def explain_plan(
    rules: Rules,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="A file of facts, as for materialize, to load for the numbers that decide what is"
            " evaluated anew and encoded; may be repeated. Plans do not depend on it."
        ),
    ] = None,
    *,
    header: HeaderLine = False,
    read_as: ReadAs = None,
    base: BaseIri = None,
    graphs: GraphsOption = None,
    stage: Annotated[Stage, typer.Option(help="What to print.")] = Stage.ALL,
) -> None:
    """Print the lowered rules, their delta plans and arrangements, and when all is derived anew."""
    from streamreasoner.engine.cost_model import explained, explained_encoding
    from streamreasoner.plan.print import plans
    from streamreasoner.program import load_program

    checked = load_program(rules, graphs)
    model, estimate = None, None
    if data:
        engine = _loaded(checked, data, reading(read_as, header=header, base=base))
        model, estimate = engine.cost_model(), engine.outlook.estimate
    anew, weighed = explained(model), explained_encoding(estimate)
    print(plans.explain_plan(checked, stage=stage, anew=anew, weighed=weighed), end="")


def _loaded(checked: CheckedProgram, data: Iterable[Path], how: Reading) -> Engine:
    """The engine after a load of files."""
    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.cli.files import load_files

    reasoner = Reasoner(checked)
    load_files(reasoner.session, data, how)
    return reasoner.session.engine
