"""The command line as a process: the file that spark-submit is given, and a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import streamreasoner

PACKAGE = Path(streamreasoner.__file__).parent


def test_the_file_is_the_command_line(tmp_path) -> None:
    """Its own folder, whose modules have common names, is not a place to import from."""
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device of a full disk")
def test_a_full_disk_is_one_message() -> None:
    """Output that cannot be written ends the command with a message, whatever it writes."""
    with Path("/dev/full").open("wb", buffering=0) as full:
        process = subprocess.run(
            [sys.executable, "-m", "streamreasoner", "check", "rho-df"],
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert process.returncode == 1
    assert process.stderr.startswith("error: ")
    assert "No space left on device. Fix the disk" in process.stderr
    assert "Traceback" not in process.stderr
