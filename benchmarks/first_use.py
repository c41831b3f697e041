"""The cost of a first use: in a copy of the package without compiled kernels, and then with them.

    python benchmarks/first_use.py [--json FILE]

Seconds of processor time include all child processes. A wheel has the kernels compiled, so its
first use costs what the last row says.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from benchmarks.startup import COMMAND, EPOCH, command

USES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("`warm`, which compiles the kernels", (*COMMAND, "warm")),
    ("`warm` again", (*COMMAND, "warm")),
    ("first epoch of a Reasoner", ("-c", EPOCH)),
)


def main() -> None:
    """Measure, and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory, "tree")
        # Neither the image of a wheel nor one of an earlier start.
        ignored = shutil.ignore_patterns("__pycache__", "images")
        shutil.copytree(harness.ROOT / "streamreasoner", tree / "streamreasoner", ignore=ignored)
        os.environ["NUMBA_CACHE_DIR"] = str(Path(directory, "cache"))
        costs = [(name, command(tree, words)) for name, words in USES]
    rows = [(name, cost.cpu, cost.memory, cost.seconds) for name, cost in costs]
    table = harness.print_table("First use", ["use", "CPU s", "MiB", "s"], rows)
    harness.save(options.json, {**harness.machine(), "tables": [table]})


if __name__ == "__main__":
    main()
