"""Puts the compiled kernels into a wheel. Invariant: a wheel without them works, and compiles them.

They are used by the Python and the numba that they were compiled with, on every processor of the
kind that the wheel was built on.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_NEEDED = {"numba", "numpy"}
_PROGRAM = "from streamreasoner.native.image import ensure; print(ensure())"


def environment(root: str) -> dict[str, str]:
    """The environment of the compiling process: the sources, and what the build found here."""
    # pip names the packages of an isolated build in PYTHONPATH.
    paths = [root, os.environ.get("PYTHONPATH")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


class KernelsHook(BuildHookInterface):
    """Compiles the kernels, unless they are, before the files of a wheel are collected."""

    def dependencies(self) -> list[str]:
        """What compiling needs of what the package requires."""
        required = self.build_config.builder.metadata.core.dependencies
        return [each for each in required if re.split(r"[^\w.-]", each)[0] in _NEEDED]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file of the kernels, but not to a package that is only linked to its source."""
        if self.target_name != "wheel" or version == "editable":
            return
        if find_spec("numba") is None:
            self.app.display_warning("Without numba the wheel has no compiled kernels.")
            return
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            cwd=self.root,
            env=environment(self.root),
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        path = Path(done.stdout.strip())
        build_data["force_include"][str(path)] = f"streamreasoner/native/images/{path.name}"
