"""The file that spark-submit is given. Invariant: run by its path, it is the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import streamreasoner

PACKAGE = Path(streamreasoner.__file__).parent


def test_the_file_is_the_command_line(tmp_path) -> None:
    """Its own folder, whose modules have common names, is no place to import from."""
    code = f"""
import runpy, sys
sys.argv = ["run", "--version"]
sys.path.insert(0, {str(PACKAGE)!r})
try:
    runpy.run_path({str(PACKAGE / "__main__.py")!r}, run_name="__main__")
finally:
    print({str(PACKAGE)!r} in sys.path)
"""
    found = [
        subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={"PYTHONPATH": str(PACKAGE.parent)},
        ).stdout.split()
        for words in ([PACKAGE / "__main__.py", "--version"], ["-c", code])
    ]
    said = ["streamreasoner", streamreasoner.__version__]
    assert found == [said, [*said, "False"]]
