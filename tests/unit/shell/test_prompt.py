"""The shell at a terminal: keys in, text out."""

from __future__ import annotations

import io
import stat

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.program import check_text
from streamreasoner.shell.execute import Session
from streamreasoner.shell.output import Line, Tone
from streamreasoner.shell.prompt import _ShellCompleter, history_file, run_prompt

RULES = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
GREEN, RED = "\x1b[0;32m", "\x1b[0;31m"
CTRL_C, CTRL_D, UP = "\x03", "\x04", "\x1b[A"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """A terminal with colours that is not queried for its cursor position."""
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)


def typed(keys, *, said=(), history=None):
    """The session and the terminal's content after some keys."""
    session = Session(Reasoner(check_text(RULES)))
    shown = io.StringIO()
    with create_pipe_input() as given:
        given.send_text(keys)
        output = Vt100_Output(
            shown,
            lambda: Size(rows=40, columns=100),
            default_color_depth=ColorDepth.DEPTH_4_BIT,
            enable_cpr=False,
        )
        run_prompt(session, said, history=history, terminal=(given, output))
    return session, shown.getvalue()


def test_commands_are_done_until_the_end():
    """Changes are coloured by sign, and Ctrl-D exits."""
    session, shown = typed(
        f"insert edge(1, 2).\rcommit\rremove edge(1, 2).\rcommit\r{CTRL_D}",
        said=[Line("welcome", Tone.NOTE)],
    )

    assert "welcome" in shown
    assert f"{GREEN}+ path(1, 2)" in shown
    assert f"{RED}- path(1, 2)" in shown
    assert session.finished


def test_colours_can_be_switched_off(monkeypatch):
    """With NO_COLOR only the text is printed."""
    monkeypatch.setenv("NO_COLOR", "1")
    _, shown = typed("insert edge(1, 2).\rcommit\rquit\r")

    assert "+ path(1, 2)" in shown
    assert GREEN not in shown


def test_what_is_open_goes_on_in_the_next_line():
    """Enter ends a command only if it is complete."""
    session, _ = typed(f"insert edge(1, 2),\redge(2, 3).\rcommit\r{CTRL_D}")

    assert set(session.reasoner.facts("edge")) == {(1, 2), (2, 3)}


def test_a_blank_line_ends_what_is_open():
    """An error is reported instead of waiting for more input."""
    _, shown = typed(f"rule path(?x, ?x) :- edge(?x\r\r{CTRL_D}")

    assert "SR102" in shown


def test_an_interrupt_forgets_the_line():
    """Ctrl-C clears the input and does not exit the shell."""
    session, _ = typed(f"insert edge(1, 2).{CTRL_C}insert edge(3, 4).\rcommit\rquit\r")

    assert session.reasoner.facts("edge") == [(3, 4)]


def test_an_interrupt_stops_a_command(monkeypatch):
    """An interrupted command changes nothing, and the shell continues."""

    def interrupted(_self, _text):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "execute", interrupted)
    _, shown = typed("insert edge(1, 2).\rquit\r")

    assert "Interrupted; nothing has changed." in shown


def test_a_mistake_is_shown_and_the_shell_goes_on():
    """The shell continues after an error."""
    session, shown = typed("lst path\rinsert edge(1, 2).\rcommit\rquit\r")

    assert "There is no command 'lst'. Did you mean 'list'?" in shown
    assert session.reasoner.facts("path") == [(1, 2)]


def test_the_prompt_counts_what_is_collected():
    """The prompt shows the number of pending updates."""
    _, shown = typed("insert edge(1, 2), edge(2, 3).\rquit\r")

    assert "2> " in shown
    assert "2 updates not committed." in shown


def test_tab_extends_what_is_typed():
    """A completion replaces the word before the cursor."""
    completer = _ShellCompleter(Session(Reasoner(check_text(RULES))))
    (found,) = completer.get_completions(Document("insert edge(1, 2), pa"), None)

    assert (found.text, found.start_position) == ("path(", -2)


def test_what_was_typed_is_there_the_next_time(tmp_path):
    """The history is a file that only its owner can read."""
    file = tmp_path / "state" / "history"
    typed("insert edge(1, 2).\rquit\r", history=file)
    session, _ = typed(f"{UP}{UP}\rcommit\rquit\r", history=file)

    assert session.reasoner.facts("edge") == [(1, 2)]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_history_that_cannot_be_written_is_no_obstacle(tmp_path):
    """The shell works without it."""
    (tmp_path / "file").touch()
    session, _ = typed("insert edge(1, 2).\rcommit\rquit\r", history=tmp_path / "file" / "history")

    assert session.reasoner.facts("edge") == [(1, 2)]


def test_the_history_is_in_the_state_directory(monkeypatch, tmp_path):
    """It is in XDG_STATE_HOME if that is absolute, otherwise below the home directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "streamreasoner" / "shell_history"

    monkeypatch.setenv("HOME", str(tmp_path))
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", ignored)
        assert history_file() == tmp_path / ".local/state/streamreasoner/shell_history"


def test_files_are_completed_where_a_file_is_named(tmp_path):
    """`load` completes paths."""
    (tmp_path / "edge.csv").touch()
    completer = _ShellCompleter(Session(Reasoner(check_text(RULES))))
    found = completer.get_completions(Document(f"load {tmp_path}/ed"), None)

    assert [completion.text for completion in found] == ["ge.csv"]
