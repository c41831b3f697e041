"""Laws of the build: what it finds, the process that compiles the kernels finds, too."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_compiling_process_imports_what_the_build_imports(tmp_path, monkeypatch):
    """In pip's isolated builds packages lie in folders of PYTHONPATH, which stay on the path."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    (tmp_path / "only_in_the_build.py").touch()
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")

    program = "import only_in_the_build, streamreasoner; print(streamreasoner.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=build.environment(str(ROOT)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )

    assert Path(done.stdout.strip()).is_relative_to(ROOT / "streamreasoner")
