"""`streamreasoner check-shapes`: shapes in SHACL, and the data that they are about."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.cli.options import BaseIri, HeaderLine, ReadAs, reading
from streamreasoner.counts import counted
from streamreasoner.format_names import FormatName

if TYPE_CHECKING:
    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.program.checked import CheckedProgram


class ReportFormat(StrEnum):
    """How violations are printed."""

    TEXT = "text"
    TURTLE = FormatName.TURTLE
    JSON = "json"


def check_shapes(
    shapes: Annotated[list[Path], typer.Argument(help="Files of shapes in SHACL (.ttl).")],
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A file of facts to check, as for materialize; may be repeated."),
    ] = None,
    format_: Annotated[
        ReportFormat,
        typer.Option(
            "--format",
            help="Of the violations: text on standard error, or the validation report on standard"
            " output, as a graph in Turtle or as JSON.",
        ),
    ] = ReportFormat.TEXT,
    *,
    header: HeaderLine = False,
    read_as: ReadAs = None,
    base: BaseIri = None,
    print_rules: Annotated[
        bool, typer.Option("--print", help="Print the rules that the shapes stand for.")
    ] = False,
) -> None:
    """Check that shapes are supported, and that data conforms to them; exit code 3 if it does not.

    Shapes of one file may be described in another. Without --data, only the shapes are checked.
    """
    from streamreasoner.errors import ProgramError
    from streamreasoner.lang.diagnostic import render
    from streamreasoner.program.load import load_shapes
    from streamreasoner.program.sources import SHAPES
    from streamreasoner.program.text import canonical_text

    for path in shapes:
        if path.suffix != SHAPES:
            raise ProgramError(f"The name of a file of shapes ends in {SHAPES}; {path} does not.")
    if format_ is not ReportFormat.TEXT and not data:
        raise typer.BadParameter("A report is of data; name it with --data.", param_hint="--format")
    checked = load_shapes(shapes)
    if checked.warnings:
        print(render(checked.warnings, checked.texts), file=sys.stderr)
    if print_rules:
        print(canonical_text(checked.programs), end="")
    count = len(checked.constraints)
    print(
        f"{', '.join(map(str, shapes))}: {counted(count, 'constraint')}",
        file=sys.stderr if print_rules or format_ is not ReportFormat.TEXT else sys.stdout,
    )
    if not data:
        _tell_without_shapes(checked, shapes)
        return
    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.cli.files import load_files
    from streamreasoner.cli.offline.violations import VIOLATED

    reasoner = Reasoner(checked)
    load_files(reasoner.session, data, reading(read_as, header=header, base=base))
    if _print_report(reasoner, format_):
        raise typer.Exit(VIOLATED)


def _tell_without_shapes(checked: CheckedProgram, files: list[Path]) -> None:
    """Tell which files have no constraint of their own: they may be meant as data."""
    sources = {each.span.source for each in checked.constraints.values()}
    for path in files:
        if str(path) not in sources:
            print(
                f"{path} has no constraints. If it is data, check it with --data {path}.",
                file=sys.stderr,
            )


def _print_report(reasoner: Reasoner, format_: ReportFormat) -> bool:
    """Print the violations; returns whether there are any."""
    from streamreasoner.cli.offline.violations import print_violations

    if format_ is ReportFormat.TEXT:
        return print_violations(reasoner.session) > 0
    report = reasoner.validate()
    if format_ is ReportFormat.TURTLE:
        print(report.graph.serialize(format="turtle"), end="")
    else:
        print(report.to_json())
    return not report.conforms
