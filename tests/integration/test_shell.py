"""The command `shell` as a process, with scripts and with a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"
DEADLINE = 300
PROMPTED = "\x1b[?2004h"
"""Turns on bracketed paste; sent when the prompt takes over the terminal."""


@pytest.fixture
def folder(tmp_path):
    """A folder with rules and facts."""
    (tmp_path / "rules.dl").write_text(RULES, encoding="utf-8")
    (tmp_path / "edge.csv").write_text("1,2\n", encoding="utf-8")
    return tmp_path


def environment(folder):
    """The variables of the process; the shell's history is in the folder."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(folder), "TERM": "xterm"}


def shell(folder, script, *arguments):
    """Exit code, transcript and errors of a script."""
    finished = subprocess.run(  # noqa: PLW1510 - the exit code is checked
        [sys.executable, "-m", "streamreasoner", "shell", *arguments],
        cwd=folder,
        env=environment(folder),
        input=script,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    return finished.returncode, finished.stdout, finished.stderr


def test_a_script_gives_a_transcript(folder):
    """The transcript has the files, then each command with its output; a rerun is equal."""
    script = "insert edge(2, 10), edge(2, 9).\ncommit\n"
    expected = (
        "edge: +1\n"
        "path: +1\n"
        "2 changes; 3 iterations\n"
        "> insert edge(2, 10), edge(2, 9).\n"
        "> commit\n"
        "+ edge(2, 9)  # asserted\n"
        "+ edge(2, 10)  # asserted\n"
        "+ path(1, 9)\n"
        "+ path(1, 10)\n"
        "+ path(2, 9)\n"
        "+ path(2, 10)\n"
        "6 changes, 4 derived; 4 iterations\n"
    )

    assert shell(folder, script, "rules.dl", "edge.csv") == (0, expected, "")
    assert shell(folder, script, "rules.dl", "edge.csv") == (0, expected, "")


def test_an_error_ends_a_script_with_exit_code_1(folder):
    """With --keep-going the script continues, and the exit code is still 1."""
    script = "lst path\ncount path\n"
    error = "> lst path\nerror: There is no command 'lst'. Did you mean 'list'?\n"

    assert shell(folder, script, "rules.dl") == (1, error, "")
    assert shell(folder, script, "rules.dl", "--keep-going") == (
        1,
        f"{error}> count path\n0 facts\n",
        "",
    )


def test_a_failed_start_is_one_message(folder):
    """Missing rules and files are reported before the first command."""
    code, out, error = shell(folder, "count path\n", "rules.dl", "missing.csv")
    assert (code, out) == (1, "")
    assert error.startswith("error: missing.csv: ")
    assert "Traceback" not in error

    code, out, error = shell(folder, "", "missing.dl")
    assert (code, out) == (1, "")
    assert "missing.dl" in error


def test_a_terminal_has_a_prompt(folder):
    """Typed commands are executed, with coloured output and time; Ctrl-D leaves."""
    ours, theirs = pty.openpty()
    terminal = Terminal(ours)
    process = subprocess.Popen(
        [sys.executable, "-m", "streamreasoner", "shell", "rules.dl", "edge.csv"],
        cwd=folder,
        env={**environment(folder), "PROMPT_TOOLKIT_NO_CPR": "1"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        terminal.read_until("Ctrl-D leaves.")
        os.write(ours, b"insert edge(2, 3).\rcommit\r")
        terminal.read_until(" ms")
        # Until the prompt is back, the terminal itself would handle Ctrl-D.
        terminal.read_until(PROMPTED)
        os.write(ours, b"\x04")
        assert process.wait(DEADLINE) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)

    assert "\x1b[0;32m+ path(1, 3)" in terminal.shown
    assert "insert edge(2, 3)." in (folder / "streamreasoner/shell_history").read_text("utf-8")


class Terminal:
    """The output of a terminal, some of which may be read before it is asked for."""

    def __init__(self, descriptor):
        self.shown = ""
        self._descriptor = descriptor
        self._position = 0

    def read_until(self, text):
        """Read up to and including a text that follows the last one."""
        limit = time.monotonic() + DEADLINE
        while (found := self.shown.find(text, self._position)) < 0:
            remaining = max(0.0, limit - time.monotonic())
            assert select.select([self._descriptor], [], [], remaining)[0], self.shown
            self.shown += os.read(self._descriptor, 1 << 16).decode(errors="replace")
        self._position = found + len(text)
