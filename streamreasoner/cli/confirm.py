"""A question before something is deleted. Invariant: without an answer, nothing is."""

from __future__ import annotations

from typing import Annotated

import typer

from streamreasoner.errors import DataError

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def confirm(question: str, *, yes: bool) -> None:
    """Go on if the user agrees.

    Raises:
        DataError: The user does not, or cannot be asked.
    """
    if yes:
        return
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        raise DataError(
            "Nothing is deleted, because no answer could be read. Repeat the command with --yes."
        ) from None
    if answer.strip().lower() not in {"y", "yes"}:
        raise DataError("Nothing is deleted.")
