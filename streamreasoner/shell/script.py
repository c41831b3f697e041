"""Run a script. Invariant: the output is a transcript, and its lines after `> ` are the script.

Transcripts are deterministic: they do not depend on the machine or the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.errors import StreamReasonerError
from streamreasoner.shell.inputs import inputs
from streamreasoner.shell.output import error_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from streamreasoner.shell.execute import Session

PROMPT = "> "


def run_script(
    session: Session,
    script: Iterable[str],
    write: Callable[[str], object],
    *,
    keep_going: bool = False,
) -> bool:
    """Execute the commands of a script, each echoed before its output.

    Args:
        session: Executes the commands; errors are part of the output.
        script: The lines of the script.
        write: Called with each line of the transcript, with its line break.
        keep_going: Whether to continue after a command that failed.

    Returns:
        Whether all commands succeeded.
    """
    succeeded = True
    for text in inputs(script):
        # Blank lines separate commands in the transcript as in the script.
        for typed in text.split("\n"):
            write(f"{PROMPT}{typed}\n" if typed.strip() else "\n")
        try:
            output = session.execute(text)
        except StreamReasonerError as error:
            output = error_lines(error)
            succeeded = False
        for line in output:
            write(f"{line.text}\n")
        if session.finished or not (succeeded or keep_going):
            return succeeded
    for line in session.execute("quit"):
        write(f"{line.text}\n")
    return succeeded
