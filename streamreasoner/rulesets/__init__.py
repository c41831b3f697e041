"""Packaged rulesets. Invariant: a ruleset is a rule file in this folder.

Ruleset `rho-df` is the file `rho_df.dl`.
"""

from __future__ import annotations

from importlib.resources import files

_SUFFIX = ".dl"


def names() -> tuple[str, ...]:
    """Return the names of the packaged rulesets, sorted."""
    return tuple(
        sorted(
            item.name.removesuffix(_SUFFIX).replace("_", "-")
            for item in files(__package__).iterdir()
            if item.name.endswith(_SUFFIX)
        )
    )


def text(name: str) -> str:
    """Return the rules of a packaged ruleset.

    Raises:
        KeyError: There is no such ruleset.
    """
    if name not in names():
        raise KeyError(name)
    file = files(__package__).joinpath(name.replace("-", "_") + _SUFFIX)
    return file.read_text(encoding="utf-8")
