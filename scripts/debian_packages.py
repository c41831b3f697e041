"""Programs from the distribution's packages. Invariant: nothing is installed.

Packages are downloaded with private state of apt and unpacked into the cache directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from streamreasoner.system import jvm

if TYPE_CHECKING:
    from pathlib import Path


class UnavailableError(Exception):
    """A package cannot be had on this machine; the text is a sentence that says why."""


def unpacked(name: str, *command: str) -> Path:
    """The folder with the files of packages, as if it were `/`.

    Args:
        name: Names the folder in the cache.
        command: The command of apt-get that downloads the packages.

    Raises:
        UnavailableError: There is no apt-get, or it fails.
    """
    target = jvm.cache_directory() / f"{name}-package"
    if not target.is_dir():
        _download(target, command)
    return target


def _download(target: Path, command: tuple[str, ...]) -> None:
    missing = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        raise UnavailableError(f"{', '.join(missing)} are missing to fetch Debian's package of it.")
    scratch = target.with_name(f".{target.name}-{os.getpid()}")
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (scratch / folder).mkdir(parents=True, exist_ok=True)
    try:
        _apt(scratch, "update")
        _apt(scratch, *command)
        for package in scratch.rglob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, scratch / "root"], check=True)  # noqa: S607
        (scratch / "root").rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _apt(scratch: Path, *command: str) -> None:
    options = {
        "Dir::State": str(scratch / "state"),
        "Dir::State::status": "/var/lib/dpkg/status",
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
