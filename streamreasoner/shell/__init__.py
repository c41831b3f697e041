"""The interactive shell: updates, epochs and queries, typed or from a script."""

from __future__ import annotations

from streamreasoner.shell.execute import Session
from streamreasoner.shell.script import run_script

__all__ = ["Session", "run_script"]
