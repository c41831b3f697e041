"""The shell at a terminal. Invariant: whatever is typed, the next prompt comes, or the end.

Enter does a command that is complete and else begins a new line; Ctrl-C forgets what is typed, or
interrupts the command that runs; Ctrl-D leaves.
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
from streamreasoner.shell.line import Line, Tone, error_lines
from streamreasoner.shell.reading import first_word, is_complete

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from streamreasoner.shell.session import Session

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
    said: Iterable[Line] = (),
    *,
    history: Path | None = None,
    terminal: tuple[Input, Output] | None = None,
) -> None:
    """Do commands as they are typed, until the end is asked for.

    Args:
        session: Does the commands.
        said: Lines to print first.
        history: File that keeps what is typed; None keeps it while the shell runs.
        terminal: Where keys come from and text goes to; default: this process's terminal.
    """
    given, output = terminal or (None, None)
    prompt: PromptSession[str] = PromptSession(
        message=lambda: _message(session),
        multiline=Condition(lambda: not is_complete(get_app().current_buffer.text)),
        prompt_continuation=lambda width, _line, _soft: "… ".rjust(width),
        history=_history(history),
        completer=_ShellCompleter(session),
        complete_while_typing=False,
        input=given,
        output=output,
    )
    _print(said, prompt.output)
    while not session.finished:
        try:
            text = prompt.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            text = "quit"
        _print(_done(session, text), prompt.output)


def history_file() -> Path:
    """Where what was typed is kept: the user's state directory (XDG Base Directory, 0.8)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # A relative path is invalid there, and to be ignored.
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "streamreasoner" / "shell_history"


class _ShellCompleter(Completer):
    """Offers what `Completions` finds, and files where a file is named."""

    def __init__(self, session: Session) -> None:
        self._completions = Completions(session)
        self._paths = PathCompleter(expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Candidates for what stands before the cursor."""
        before = document.text_before_cursor
        word, end = first_word(before)
        if word == "load" and end < len(before):
            path = before[end:].lstrip()
            yield from self._paths.get_completions(Document(path), complete_event)
            return
        candidates = self._completions.at(before)
        for text in candidates.texts:
            yield Completion(text, start_position=-len(candidates.typed))


def _done(session: Session, text: str) -> list[Line]:
    try:
        return session.execute(text)
    except StreamReasonerError as error:
        return error_lines(error)
    except KeyboardInterrupt:
        return [_INTERRUPTED]


def _message(session: Session) -> str:
    """How many updates wait for `commit` is part of the prompt."""
    return f"{len(session.pending)}> " if session.pending else "> "


def _history(path: Path | None) -> History:
    if path is None:
        return InMemoryHistory()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:
        # A home that cannot be written to is no reason not to work.
        return InMemoryHistory()
    return FileHistory(path)


def _print(lines: Iterable[Line], output: Output) -> None:
    for line in lines:
        style = "" if "NO_COLOR" in os.environ else _STYLES[line.tone]
        print_formatted_text(FormattedText([(style, line.text)]), output=output)
