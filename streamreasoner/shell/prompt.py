"""The shell at a terminal. Invariant: only `quit` and Ctrl-D end it; errors return to the prompt.

Enter runs a complete command and otherwise starts a new line; Ctrl-C clears the input, or
interrupts the running command; Ctrl-D leaves the shell.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession, print_formatted_text
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, InMemoryHistory

from streamreasoner.errors import StreamReasonerError
from streamreasoner.shell.completion import Completions
from streamreasoner.shell.inputs import first_word, is_complete
from streamreasoner.shell.output import Line, Tone, error_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from streamreasoner.shell.execute import Session

_STYLES = {
    Tone.PLAIN: "",
    Tone.PRESENT: "ansigreen",
    Tone.ABSENT: "ansired",
    Tone.NOTE: "ansibrightblack",
    Tone.ERROR: "ansired bold",
}
_INTERRUPTED = Line("Interrupted; nothing has changed.", Tone.ERROR)


def run_prompt(
    session: Session,
    greeting: Iterable[Line] = (),
    *,
    history: Path | None = None,
    terminal: tuple[Input, Output] | None = None,
) -> None:
    """Read and execute commands until `quit` or Ctrl-D.

    Args:
        session: Executes the commands.
        greeting: Lines to print first.
        history: File for the command history; None keeps it in memory.
        terminal: Input and output of the prompt; default: this process's terminal.
    """
    keys, output = terminal or (None, None)
    prompt: PromptSession[str] = PromptSession(
        message=lambda: _message(session),
        multiline=Condition(lambda: not is_complete(get_app().current_buffer.text)),
        prompt_continuation=lambda width, _line, _soft: "… ".rjust(width),
        history=_history(history),
        completer=_ShellCompleter(session),
        complete_while_typing=False,
        input=keys,
        output=output,
    )
    _print(greeting, prompt.output)
    while not session.finished:
        try:
            text = prompt.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            text = "quit"
        _print(_execute(session, text), prompt.output)


def history_file() -> Path | None:
    """Path of the command history, in the user's state directory (XDG Base Directory, 0.8).

    None for a user without a home directory.
    """
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    # The specification says to ignore a relative path.
    if not state.is_absolute():
        try:
            state = Path.home() / ".local" / "state"
        except RuntimeError:
            return None
    return state / "streamreasoner" / "shell_history"


class _ShellCompleter(Completer):
    """Completes with `Completions`, and with paths after `load`."""

    def __init__(self, session: Session) -> None:
        self._completions = Completions(session)
        self._paths = PathCompleter(expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Candidates for the text before the cursor."""
        before = document.text_before_cursor
        word, end = first_word(before)
        if word == "load" and end < len(before):
            path = before[end:].lstrip()
            yield from self._paths.get_completions(Document(path), complete_event)
            return
        candidates = self._completions.at(before)
        for text in candidates.texts:
            yield Completion(text, start_position=-len(candidates.typed))


def _execute(session: Session, text: str) -> list[Line]:
    try:
        return session.execute(text)
    except StreamReasonerError as error:
        return error_lines(error)
    except KeyboardInterrupt:
        return [_INTERRUPTED]


def _message(session: Session) -> str:
    """The prompt, with the number of pending updates."""
    return f"{len(session.pending)}> " if session.pending else "> "


def _history(path: Path | None) -> History:
    if path is None:
        return InMemoryHistory()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:
        # The shell works without a writable home directory.
        return InMemoryHistory()
    return FileHistory(path)


def _print(lines: Iterable[Line], output: Output) -> None:
    for line in lines:
        style = "" if "NO_COLOR" in os.environ else _STYLES[line.tone]
        print_formatted_text(FormattedText([(style, line.text)]), output=output)
