"""Run a shell script as the command line does, in the folder of the rules.

Invariant: a transcript names no folder, so it is the same on every machine.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.program.load import load_program
from streamreasoner.shell.execute import Session
from streamreasoner.shell.script import run_script


def run(rules, script, *files, keep_going=False):
    """The transcript of a script.

    Args:
        rules: Path of a rule file, name of a ruleset, or rules as text.
        script: Text of the script; it loads files from the folder of the rules.
        files: Names of files with facts, next to the rules, that are loaded first.
        keep_going: Whether to continue after an error.
    """
    written = []
    folder = rules.parent if isinstance(rules, Path) else Path()
    with contextlib.chdir(folder):
        session = Session(
            Reasoner(load_program(Path(rules.name) if isinstance(rules, Path) else rules))
        )
        written += (f"{line.text}\n" for line in session.start(files))
        run_script(session, script.splitlines(), written.append, keep_going=keep_going)
    return "".join(written)
