"""Commands from a text. Invariant: the output is a transcript; its lines with `> ` are the script.

The transcript of a script is always the same, whatever the machine and the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.errors import StreamReasonerError
from streamreasoner.shell.line import error_lines
from streamreasoner.shell.reading import inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from streamreasoner.shell.session import Session

PROMPT = "> "


def run_script(
    session: Session,
    script: Iterable[str],
    write: Callable[[str], object],
    *,
    keep_going: bool = False,
) -> bool:
    """Do the commands of a script, each echoed before its output.

    Args:
        session: Does the commands; errors are part of the output.
        script: The lines of the script.
        write: Takes each line of the transcript, with its line break.
        keep_going: Whether commands are done after one that failed.

    Returns:
        Whether all commands were done.
    """
    done = True
    for text in inputs(script):
        # A blank line sets commands apart, and so it does in the transcript.
        for line in text.split("\n"):
            write(f"{PROMPT}{line}\n" if line.strip() else "\n")
        try:
            said = session.execute(text)
        except StreamReasonerError as error:
            said = error_lines(error)
            done = False
        for each in said:
            write(f"{each.text}\n")
        if session.finished or not (done or keep_going):
            return done
    for each in session.execute("quit"):
        write(f"{each.text}\n")
    return done
