"""The file of the kernels: named after what it depends on, whole or refused, and compiled once."""

from __future__ import annotations

import logging
import shutil
import sys
from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.native import image
from streamreasoner.native.image import Image, load, save

SOURCES = {
    "native/__init__.py": "",
    "kernels/constant.py": "ADDED = 1\n",
    "pipeline/warming/kernels.py": "KERNELS = ()\n",
}
COMPILER = """
import sys
from pathlib import Path
from streamreasoner.native.image import Image, file_name, save

for done in range(4):
    print(done, 4, flush=True)
save(Image(b"code", ()), Path(sys.argv[1], file_name()))
"""


@pytest.fixture
def name(tmp_path, monkeypatch):
    """The name of the file of a planted package, as a process finds it that starts now."""
    root = tmp_path / "planted"
    for path, text in SOURCES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    shutil.copy(Path(image.__file__), root / "native/image.py")
    monkeypatch.syspath_prepend(tmp_path)

    def found():
        for each in [each for each in sys.modules if each.partition(".")[0] == "planted"]:
            del sys.modules[each]
        invalidate_caches()
        return import_module("planted.native.image").file_name()

    yield found
    sys.modules.pop("planted.native.image", None)


@pytest.mark.parametrize("changed", ["kernels/constant.py", "pipeline/warming/kernels.py"])
def test_a_change_of_any_source_needs_another_image(name, tmp_path, changed):
    """Machine code has constants of all files; what is changed back has the first image again."""
    path = tmp_path / "planted" / changed
    before, text = name(), path.read_text(encoding="utf-8")
    path.write_text(f"{text}OTHER = 2\n", encoding="utf-8")
    assert name() != before
    path.write_text(text, encoding="utf-8")
    assert name() == before
    (path.parent / "more.py").write_text("", encoding="utf-8")
    assert (name() == before) == (changed != "kernels/constant.py")


@pytest.mark.parametrize(
    ("variable", "value"),
    [("CPU_NAME", "generic"), ("CPU_FEATURES", "+avx"), ("BOUNDSCHECK", 1), ("OPT", 1)],
)
def test_settings_that_change_code_need_another_image(name, monkeypatch, variable, value):
    """With checks of bounds, or for a chosen processor, the code of others is not run."""
    if variable == "CPU_FEATURES":
        monkeypatch.setattr(image.config, "CPU_NAME", "generic")
    before = name()
    monkeypatch.setattr(image.config, variable, value)
    assert name() != before


def test_a_file_is_read_as_it_was_written_or_refused(tmp_path):
    """A file with a byte less, or another byte, is not loaded; the message says what to do."""
    path = tmp_path / "kernels-a.image"
    written = Image(b"code", ())
    save(written, path)
    assert load(path) == written
    assert [*tmp_path.iterdir()] == [path]
    content = path.read_bytes()
    for damaged in (content[:-1], content[:40] + b"?" + content[41:], b""):
        path.write_bytes(damaged)
        with pytest.raises(EnvironmentSetupError, match=r"kernels-a.image is damaged. Delete it"):
            load(path)


def test_old_images_are_removed(tmp_path):
    """A folder keeps those of some versions, the newest ones."""
    for number in range(12):
        save(Image(b"code", ()), tmp_path / f"kernels-{number}.image")
    kept = {path.name for path in tmp_path.iterdir()}
    assert "kernels-11.image" in kept
    assert len(kept) < 12


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """A program in the place of the one that compiles, and an empty cache."""
    monkeypatch.setattr(image, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(image, "_folders", lambda: iter([tmp_path / "cache"]))
    monkeypatch.setattr(image, "_PROGRAM", "planted_compiler")
    monkeypatch.setattr(image, "_REPORT_SECONDS", -1)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "planted_compiler.py"


def test_progress_is_told(compiler, caplog):
    """What is done and what is left, for a view and in the log; what is compiled is found later."""
    compiler.write_text(COMPILER, encoding="utf-8")
    told = []
    with caplog.at_level(logging.INFO):
        path = image.ensure(lambda done, steps: told.append((done, steps)))
    assert told == [(done, 4) for done in range(4)]
    assert "once per machine and version" in caplog.text
    assert "Compiling the kernels: 75 % done." in caplog.text
    assert path == image.find() == image.ensure(lambda *_: pytest.fail("compiled again"))
    shipped = image.SHIPPED / path.name
    shipped.parent.mkdir()
    path.rename(shipped)
    assert image.find() == shipped


def test_a_failure_is_reported(compiler):
    """What the process said that was to compile; nothing is left that a later start would load."""
    compiler.write_text("import sys; sys.exit('LLVM is out of memory')", encoding="utf-8")
    with pytest.raises(EnvironmentSetupError, match=r"ended with code 1. .* LLVM is out of memory"):
        image.ensure()
    assert image.find() is None
