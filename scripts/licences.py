"""Licences of what the package needs at run time. Invariant: each is allowed here, with a reason.

The licences are those that the installed distributions declare. Run it from the root of the
repository: it prints a sentence for every violation and exits 1 if there is one.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.metadata import PackageMetadata

ALLOWED: Final = (
    "0BSD",
    "3-Clause BSD",
    "Apache",
    "BSD",
    "CC0",
    "ISC",
    "MIT",
    "PSF",
    "Python Software Foundation",
    "Unlicense",
    "Zlib",
)
"""Beginnings of the names of licences that ask for a notice at most."""
EXCEPTIONS: Final = {
    "certifi": ("MPL", "A file of certificates, which is used as it is."),
    "crc32c": (
        "LGPL",
        "A library of its own, unmodified and replaceable: kafka-python works without it, slowly.",
    ),
}
"""Licences of single distributions that ask for more, and why they may be used."""
_NAMES = re.compile(r"\s+(?:AND|OR|WITH)\s+|\s*/\s*|[()]")
_WITH = re.compile(r"\s+WITH\s+\S+")


def needed(requirements: Iterable[str]) -> Iterator[str]:
    """The distributions that requirements ask for on this machine, and those that these need."""
    waiting = [Requirement(each) for each in requirements]
    seen = set()
    while waiting:
        requirement = waiting.pop()
        name = requirement.name.lower().replace("_", "-")
        extras = frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            texts = requires(name) or ()
        except PackageNotFoundError:
            texts = ()  # reported with its licence
        for text in texts:
            found = Requirement(text)
            environments = [{"extra": extra} for extra in ("", *extras)]
            if found.marker is None or any(map(found.marker.evaluate, environments)):
                waiting.append(found)
    yield from sorted({name for name, _ in seen})


def declared(about: PackageMetadata) -> list[str]:
    """The licences that a distribution declares: an expression, classifiers, or a text."""
    if "License-Expression" in about:
        expression = _WITH.sub("", about["License-Expression"])
        return [each for each in _NAMES.split(expression) if each]
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in about.get_all("Classifier") or []
        if each.startswith("License ::") and not each.endswith("OSI Approved")
    ]
    if classifiers:
        return classifiers
    text = about["License"] if "License" in about else ""  # noqa: SIM401 - it has no `get`
    first = text.strip().splitlines()[:1]
    return [each for text in first for each in _NAMES.split(text) if each]


def violation(name: str, licences: list[str]) -> str | None:
    """Why a distribution must not be used; None if it may be."""
    if not licences:
        return f"{name} declares no licence. Find it out, and add it to EXCEPTIONS."
    more = [each for each in licences if not each.startswith(ALLOWED)]
    allowed, _ = EXCEPTIONS.get(name, ("", ""))
    if not more or (allowed and all(allowed in each for each in more)):
        return None
    return (
        f"{name} has the licence {', '.join(more)}, which scripts/licences.py does not allow. Use "
        "another library, or add it to EXCEPTIONS with the reason, and to the end of README.md."
    )


def main() -> int:
    """Check what the package and its extras need."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        requirements += [each for each in extra if not each.startswith(project["name"])]
    count, problems = 0, []
    for name in needed(requirements):
        count += 1
        try:
            problem = violation(name, declared(metadata(name)))
        except PackageNotFoundError:
            problem = f"{name} is not installed, so its licence is not known. Run make again."
        if problem is not None:
            problems.append(problem)
    for problem in problems:
        print(problem)
    print(f"Licences of {count} distributions: {len(problems)} violations.")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
