"""Prepares an image at build time. Invariant: a start needs no network.

`prepare.py jars DIRECTORY` copies the jars that Spark needs besides its own there.
"""

# ruff: noqa: INP001 - a script next to the Dockerfile, not part of a package
from __future__ import annotations

import shutil
import sys
from pathlib import Path

from streamreasoner.io.spark.session import PACKAGES
from streamreasoner.system import jvm


def jars(directory: Path) -> None:
    """Copy Spark's additional jars, with all dependencies, into a directory."""
    shutil.copytree(jvm.jars("connectors", PACKAGES.split(",")), directory)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["jars", directory]:
            jars(Path(directory))
        case _:
            sys.exit(__doc__)
