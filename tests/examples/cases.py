"""The examples as golden programs. Invariant: expectations come from the oracle, not the engine.

Run as a script, it rewrites every `expected.txt` of the examples.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from programs.cases import Case, read_epochs

from streamreasoner.program.load import load_program

FOLDER = Path(__file__).parents[2] / "examples"
"""Where the examples are, one folder each."""


@cache
def read_all():
    """Every example with epochs as a Case, by name; its rules are called `rules.dl`."""
    return {path.parent.name: _read(path.parent) for path in sorted(FOLDER.glob("*/epochs.txt"))}


def _read(folder):
    checked = load_program(folder / "rules.dl")
    titles, epochs, prefixes = read_epochs(folder / "epochs.txt", checked)
    return Case(folder, checked, titles, epochs, {**checked.program.prefixes, **prefixes})


if __name__ == "__main__":
    for case in read_all().values():
        case.expected.write_text(case.render(case.changes, case.traces[-1]), encoding="utf-8")
