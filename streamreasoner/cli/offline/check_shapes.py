"""`streamreasoner check-shapes`: shapes in SHACL, and the data that they are about."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer


def check_shapes(
    shapes: Annotated[Path, typer.Argument(help="A file of shapes in SHACL (.ttl).")],
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A file of facts to check, as for materialize; may be repeated."),
    ] = None,
    *,
    print_rules: Annotated[
        bool, typer.Option("--print", help="Print the rules that the shapes stand for.")
    ] = False,
) -> None:
    """Check that shapes are supported, and that data conforms to them; exit code 3 if it does not.

    Without --data, only the shapes are checked.
    """
    from streamreasoner.errors import ProgramError
    from streamreasoner.program.load import load_program
    from streamreasoner.program.sources import SHAPES
    from streamreasoner.program.text import canonical_text

    if shapes.suffix != SHAPES:
        raise ProgramError(f"The name of a file of shapes ends in {SHAPES}; {shapes} does not.")
    checked = load_program(shapes)
    if print_rules:
        print(canonical_text(checked.programs), end="")
    count = len(checked.constraints)
    print(
        f"{shapes}: {count} constraint{'s' * (count != 1)}",
        file=sys.stderr if print_rules else sys.stdout,
    )
    if data:
        from streamreasoner.api.reasoner import Reasoner
        from streamreasoner.cli.offline.violations import VIOLATED, print_violations

        reasoner = Reasoner(checked)
        reasoner.load(*data)
        if print_violations(reasoner):
            raise typer.Exit(VIOLATED)
