"""The command line, for `python -m streamreasoner`, and as a file for spark-submit."""

from __future__ import annotations

import sys
from pathlib import Path

# A file that is run by its path has its folder among the places to import from, and this one has
# modules in it that are called like others' packages.
if __spec__ is None:
    sys.path[:] = [place for place in sys.path if Path(place) != Path(__file__).parent]

from streamreasoner.cli import main

main()
