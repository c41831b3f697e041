"""Other engines to compare with ours. Invariant: a missing one is reported and not fatal.

A peer is a module with a function for each task. Functions import what they need, and raise
`AbsentError` if it is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class AbsentError(Exception):
    """A peer cannot run here; the message names what is missing."""


def require(module: str, package: str | None = None) -> Any:
    """Import what a peer needs.

    Raises:
        AbsentError: It is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise AbsentError(f"peer not run: no {package or module}") from error
