"""Make a release in dist/: wheel, sdist, bill of materials, notes; then what is left to do by hand.

Invariant: nothing is made unless all files name the same version and the changelog describes it.

Run it from the root of the repository, with `make release`. It prints a sentence for every problem
and exits 1 if there is one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

DIST: Final = "dist"
PLACES: Final = {
    "streamreasoner/__init__.py": r'^__version__ = "(.+)"$',
    "pyproject.toml": r'^version = "(.+)"$',
    "docker-compose.yml": r"image: streamreasoner:(\S+)",
    "streamreasoner/templates/docker-compose.yml": r"streamreasoner:(\d\S*)",
    "deploy/helm/streamreasoner/Chart.yaml": r'^(?:appVersion|version): "?([^"\s]+)',
    "docs/how-to/cluster.md": r"--tag streamreasoner:(\S+)",
    "docs/reference/asyncapi.json": r'^    "version": "(.+?)"',
    "docs/reference/openapi.json": r'^    "version": "(.+?)"',
}
"""Where the version stands; the first place is the one that counts."""
_IMAGE = re.compile(r"streamreasoner/native/images/kernels-[0-9a-f]+\.image")
_SECTION = re.compile(r"^## \[(.+?)\](?: - (\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)


def version(root: Path) -> str:
    """The version of the package."""
    [path, pattern], *_ = PLACES.items()
    found = re.search(pattern, (root / path).read_text("utf-8"), re.MULTILINE)
    assert found is not None  # noqa: S101 - a test reads it
    return found[1]


def disagreements(root: Path) -> Iterator[str]:
    """A sentence for every place that does not name the version of the package."""
    released = version(root)
    for path, pattern in PLACES.items():
        found = re.findall(pattern, (root / path).read_text("utf-8"), re.MULTILINE)
        if not found:
            yield f"{path} names no version where {pattern!r} looks for it."
        for each in found:
            if each != released:
                yield f"{path} names {each}, and streamreasoner/__init__.py {released}."


def sections(changelog: str) -> dict[str, tuple[str | None, str]]:
    """The sections of a changelog: name, date and text of each, newest first."""
    _, *parts = _SECTION.split(changelog)
    names, dates, texts = parts[::3], parts[1::3], parts[2::3]
    return {
        name: (date, text.strip()) for name, date, text in zip(names, dates, texts, strict=True)
    }


def undescribed(changelog: str, released: str) -> Iterator[str]:
    """A sentence for everything that keeps a changelog from describing a version."""
    (unreleased, (_, waiting)), *described = sections(changelog).items()
    if unreleased != "Unreleased":
        yield "CHANGELOG.md does not begin with the section [Unreleased]."
    if waiting:
        yield (
            f"CHANGELOG.md has changes below [Unreleased]. Move them to a section "
            f"`## [{released}] - YYYY-MM-DD` below it."
        )
    match described:
        case [(name, (date, text)), *_] if name == released and date and text:
            pass
        case _:
            yield (
                f"The newest section of CHANGELOG.md is not `## [{released}] - YYYY-MM-DD` with "
                "its changes."
            )


def uncommitted() -> Iterator[str]:
    """A sentence if files differ from the commit, so that the release could not be made again."""
    if _output("git", "status", "--porcelain"):
        yield "Files have changes that are not committed. Commit them, then release."


def left_out(root: Path, wheel: Path) -> Iterator[str]:
    """A sentence for every file of the package that a wheel does not have, or has too many."""
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    images = {name for name in held if _IMAGE.fullmatch(name)}
    if len(images) != 1:
        yield f"The wheel has {len(images)} files of compiled kernels; it needs one."
    tracked = {*_output("git", "-C", str(root), "ls-files", "streamreasoner").splitlines()}
    expected = tracked | _forced(root)
    for name in sorted(expected ^ (held - images)):
        yield f"{name} is in the {'repository, not in the wheel' if name in expected else 'wheel'}."


def _forced(root: Path) -> set[str]:
    """The files that a wheel has from elsewhere in the repository."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    return {*project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"].values()}


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def build(root: Path, dist: Path, released: str) -> Path:
    """Make everything in a folder; returns the wheel."""
    shutil.rmtree(dist, ignore_errors=True)
    hatch = [sys.executable, "-m", "hatchling", "build", "-d", str(dist)]
    subprocess.run(hatch, cwd=root, check=True)
    materials = dist / f"streamreasoner-{released}.cdx.json"
    subprocess.run(
        [
            # A lock does not say what needs what, which the library warns of.
            *(sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements"),
            *("--pyproject", "pyproject.toml"),
            *("--mc-type", "library", "--output-reproducible", "-o", str(materials)),
            "requirements/run.txt",
        ],
        cwd=root,
        check=True,
    )
    _, text = sections((root / "CHANGELOG.md").read_text("utf-8"))[released]
    (dist / f"streamreasoner-{released}.md").write_text(f"{text}\n", encoding="utf-8")
    return dist / f"streamreasoner-{released}-py3-none-any.whl"


def main() -> int:
    """Check, build, and say what is left to do."""
    root = Path.cwd()
    released = version(root)
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    problems = [*disagreements(root), *undescribed(changelog, released), *uncommitted()]
    if not problems:
        wheel = build(root, root / DIST, released)
        problems += left_out(root, wheel)
    if problems:
        print(*problems, f"Release: {len(problems)} problems.", sep="\n")
        return 1
    print(
        f"streamreasoner {released} is in {DIST}/. Try the wheel in new environments, then tag,"
        " make the image and publish:",
        f"  python3 scripts/try_wheel.py {wheel.relative_to(root)}",
        f"  git tag --annotate v{released} --file {DIST}/streamreasoner-{released}.md",
        f"  docker build --file deploy/Dockerfile --tag streamreasoner:{released} .",
        f"  docker run --rm streamreasoner:{released} --version",
        f"  helm package deploy/helm/streamreasoner --destination {DIST}",
        f"  python3 -m twine upload {DIST}/*.whl {DIST}/*.tar.gz",
        sep="\n",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
