"""The command line as a file, as spark-submit runs it."""

from __future__ import annotations

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.fixture
def file(monkeypatch):
    """The file of `streamreasoner.__main__`, in the environment of a script run by its path."""
    path = Path(find_spec("streamreasoner.__main__").origin)
    monkeypatch.setattr(sys, "path", [str(path.parent), *sys.path])
    monkeypatch.setattr(sys, "argv", [str(path), "check", "rho-df"])
    return path


def test_a_script_does_not_import_from_its_own_folder(file, capsys):
    """The folder has modules that are called like others' packages; the command works."""
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(file), run_name="__main__")

    assert ended.value.code == 0
    assert "rules" in capsys.readouterr().out
    assert str(file.parent) not in sys.path


def test_a_module_leaves_the_path_alone(file, capsys):
    """`python -m streamreasoner` imports from where the user says."""
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("streamreasoner", run_name="__main__", alter_sys=False)

    assert ended.value.code == 0
    assert "rules" in capsys.readouterr().out
    assert str(file.parent) in sys.path
