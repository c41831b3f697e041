"""Compile all kernels: `python -m streamreasoner.pipeline.warming.build FOLDER`.

Invariant: prints the number of steps that are done, and of all, before each.
"""

from __future__ import annotations

import sys
from pathlib import Path

from streamreasoner.native.image import file_name, save
from streamreasoner.native.linking import compile_image
from streamreasoner.pipeline.warming.kernels import KERNELS


def main() -> None:
    """Compile into a file of the folder that the command line names."""
    save(compile_image(KERNELS, _tell), Path(sys.argv[1], file_name()))


def _tell(done: int, steps: int) -> None:
    sys.stdout.write(f"{done} {steps}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
