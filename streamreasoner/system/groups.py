"""Control groups of this process. Invariant: a limit of a group holds for all groups in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOUNTED = Path("/sys/fs/cgroup")
"""Where control groups are mounted, version 1 or 2."""
OWN = Path("/proc/self/cgroup")
"""The groups of this process: `number:controllers:path`, without controllers in version 2."""


def limits(
    controller: str, files: tuple[str, ...], mounted: Path = MOUNTED, own: Path = OWN
) -> Iterator[list[str]]:
    """Contents of the files that limit this process: those of its group and of all around it.

    Args:
        controller: The controller, which version 1 has a folder for.
        files: Their names, all in one group; groups that lack one are left out.
        mounted: Where control groups are mounted.
        own: The groups of the process.
    """
    for folder in _folders(controller, mounted, own):
        try:
            yield [(folder / name).read_text() for name in files]
        except OSError:
            continue


def _folders(controller: str, mounted: Path, own: Path) -> Iterator[Path]:
    """Folders of groups; a container sees its own group as the outermost one."""
    roots = {"": mounted, controller: mounted / controller}
    yield from roots.values()
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in {"", controller}.intersection(controllers.split(",")):
            inner = Path(path.lstrip("/"))
            yield from (roots[name] / each for each in (inner, *inner.parents) if each.name)
