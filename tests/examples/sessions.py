"""Transcripts of the shell sessions of the examples. Invariant: a session needs no other file.

Run as a script, it rewrites every `session.out`.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from transcripts import run

FOLDER = Path(__file__).parents[2] / "examples"
"""Where the examples are, one folder each."""


def transcript(folder):
    """What the shell prints for the script of an example."""
    return run(folder / "rules.dl", (folder / "session.txt").read_text("utf-8"))


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*/session.txt")):
        path.with_suffix(".out").write_text(transcript(path.parent), encoding="utf-8")
