"""Programs from the distribution's packages. Invariant: nothing is installed, and no half is kept.

Packages are downloaded with private state of apt and unpacked into the cache directory. What is
installed of their sources counts as absent, so that all of their files are there; libraries that
are installed are not downloaded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from streamreasoner.system import jvm

if TYPE_CHECKING:
    from collections.abc import Sequence

_INSTALLED = Path("/var/lib/dpkg/status")
_OWNER = re.compile(r"^(?:Package|Source): (\S+)", re.MULTILINE)


class UnavailableError(Exception):
    """A package cannot be had on this machine; the text is a sentence that says why."""


def unpacked(packages: Sequence[str], programs: Sequence[str]) -> Path:
    """The folder with the files of packages, as if it were `/`.

    Args:
        packages: Packages, the first of which names the folder in the cache.
        programs: Paths in the folder of the programs that the packages are fetched for.

    Raises:
        UnavailableError: There is no apt-get, or it fails, or the packages lack a program.
    """
    target = jvm.cache_directory() / f"{packages[0]}-package"
    if _lacks(target, programs):
        shutil.rmtree(target, ignore_errors=True)
        _download(target, packages, programs)
    return target


def _lacks(root: Path, programs: Sequence[str]) -> list[str]:
    return [each for each in programs if not os.access(root / each, os.X_OK)]


def _download(target: Path, packages: Sequence[str], programs: Sequence[str]) -> None:
    missing = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        raise UnavailableError(f"{' and '.join(missing)} are missing to fetch Debian's package.")
    scratch = target.with_name(f".{target.name}-{os.getpid()}")
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (scratch / folder).mkdir(parents=True, exist_ok=True)
    try:
        (scratch / "status").write_text(without(_INSTALLED.read_text(), packages))
        _apt(scratch, "update")
        _apt(scratch, "install", "--download-only", "--no-install-recommends", *packages)
        for package in scratch.rglob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, scratch / "root"], check=True)  # noqa: S607
        if lacking := _lacks(scratch / "root", programs):
            raise UnavailableError(
                f"Debian's packages {', '.join(packages)} have no {', '.join(lacking)}."
            )
        # Another worker may have been faster.
        if not target.is_dir():
            (scratch / "root").rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def without(status: str, packages: Sequence[str]) -> str:
    """Dpkg's list of what is installed, without some packages and others of the same sources."""
    kept = (
        each for each in status.split("\n\n") if not {*packages}.intersection(_OWNER.findall(each))
    )
    return "\n\n".join(kept)


def _apt(scratch: Path, *command: str) -> None:
    options = {
        "Dir::State": str(scratch / "state"),
        "Dir::State::status": str(scratch / "status"),
        "Dir::Cache": str(scratch / "cache"),
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "1",
    }
    arguments = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
    run = subprocess.run(
        ["apt-get", "-q", "-y", *arguments, *command],  # noqa: S607
        cwd=scratch,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        raise UnavailableError(
            "Debian's package of it cannot be fetched; apt-get reports: "
            f"{run.stderr.strip()[-500:]}"
        )
