"""The command line, as a script, as `python -m streamreasoner`, and as a file for spark-submit.

Invariant: a service that is asked to end before it has begun exits with 0.
"""

from __future__ import annotations

import sys
from pathlib import Path

# A file that is run by its path has its folder among the places to import from, and this one has
# modules in it that are called like others' packages.
if __spec__ is None:
    sys.path[:] = [place for place in sys.path if Path(place) != Path(__file__).parent]

from streamreasoner.system.stopping import end_at_once

_SERVICES = frozenset({"run", "serve", "broker"})


def main() -> None:
    """Run the command line; what it imports takes a part of a second."""
    if not _SERVICES.isdisjoint(sys.argv[1:2]):
        end_at_once()

    from streamreasoner.cli import main as run_command  # noqa: PLC0415 - after the signals

    run_command()


if __name__ == "__main__":
    main()
