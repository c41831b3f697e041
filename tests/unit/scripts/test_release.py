"""What a release checks before it is made. Invariant: each planted mistake is one sentence."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import release
import try_wheel

ROOT = Path(__file__).parents[3]
DESCRIBED = """# Changelog

## [Unreleased]

## [0.2.0] - 2026-12-01

### Added

- A thing.

## [0.1.0] - 2026-01-01

- The first.
"""


@pytest.fixture
def copied(tmp_path):
    """A folder with the files that name the version."""
    for path in release.PLACES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def test_the_version_is_the_same_everywhere():
    """Package, image, chart and reference are of one version."""
    assert [*release.disagreements(ROOT)] == []


@pytest.mark.parametrize("path", [*release.PLACES][1:])
def test_another_version_is_found(path, copied):
    """A file that is left behind is named."""
    file = copied / path
    version = release.version(copied)
    file.write_text(file.read_text("utf-8").replace(version, "9.9.9"), encoding="utf-8")
    found = {*release.disagreements(copied)}
    assert found == {f"{path} names 9.9.9, and streamreasoner/__init__.py {version}."}


def test_a_place_without_a_version_is_found(copied):
    """A file whose form has changed is not passed over."""
    (copied / "docker-compose.yml").write_text("services: {}\n", encoding="utf-8")
    [found] = release.disagreements(copied)
    assert found.startswith("docker-compose.yml names no version")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", ()),
        ("[Unreleased]\n", "[Unreleased]\n\n- A change.\n", ("has changes below [Unreleased]",)),
        (" - 2026-12-01", "", ("newest section",)),
        ("0.2.0", "0.3.0", ("newest section",)),
        ("### Added\n\n- A thing.\n", "", ("newest section",)),
        ("## [Unreleased]\n\n", "", ("does not begin with", "has changes", "newest section")),
    ],
)
def test_a_changelog_describes_the_version(old, new, said):
    """Its newest section is the version's, dated, with changes, and none waits above it."""
    found = [*release.undescribed(DESCRIBED.replace(old, new), "0.2.0")]
    assert len(found) == len(said)
    for sentence, part in zip(found, said, strict=True):
        assert part in sentence


def test_the_notes_are_the_section():
    """What is published is what the changelog says of the version, and nothing of others."""
    assert release.sections(DESCRIBED)["0.2.0"] == ("2026-12-01", "### Added\n\n- A thing.")


def test_a_file_that_the_wheel_lacks_is_found(tmp_path):
    """Data files of the package cannot be left out, nor others slip in."""
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("streamreasoner/stray.py", "")
        archive.writestr("streamreasoner-0.2.0.dist-info/METADATA", "")
    found = [*release.left_out(ROOT, wheel)]
    assert "streamreasoner/stray.py is in the wheel." in found
    for name in ("py.typed", "lang/datalog.lark", "server/web/page/index.html"):
        assert f"streamreasoner/{name} is in the repository, not in the wheel." in found


def test_a_wheel_as_it_is_built_lacks_nothing(tmp_path):
    """Templates that are examples and the compiled kernels belong to it, as the build adds them."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")

    # Other files may not be committed yet.
    found = [*release.left_out(ROOT, wheel)]
    assert not [each for each in found if re.search("images|kernels|templates/", each)]


def test_a_wheel_without_kernels_is_found(tmp_path):
    """Users would compile them, each for minutes."""
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("streamreasoner/py.typed", "")

    found = [*release.left_out(ROOT, wheel)]

    assert found[0] == "The wheel has 0 files of compiled kernels; it needs one."


def test_the_example_of_the_readme_is_found():
    """The wheel is tried with what the README shows, and runs where the extras are missing."""
    text = try_wheel.example((ROOT / "README.md").read_text("utf-8"))
    assert "Reasoner.from_rules" in text
    compile(text, "README.md", "exec")
