"""What a release checks before it is made. Invariant: each planted mistake is one sentence."""

from __future__ import annotations

import shutil
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


def test_the_example_of_the_readme_is_found():
    """The wheel is tried with what the README shows, and runs where the extras are missing."""
    text = try_wheel.example((ROOT / "README.md").read_text("utf-8"))
    assert "Reasoner.from_rules" in text
    compile(text, "README.md", "exec")
