"""`python -m benchmarks`: every benchmark, one after the other, tables on standard output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPTS = ("encoding", "kernel", "pipeline")


def main() -> int:
    """Run each script in a process of its own; the exit code is the worst of theirs."""
    directory = Path(__file__).parent
    return max(
        subprocess.run([sys.executable, directory / f"{name}.py"], check=False).returncode
        for name in SCRIPTS
    )


if __name__ == "__main__":
    raise SystemExit(main())
