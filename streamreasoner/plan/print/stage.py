"""The parts of a plan that can be printed."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """The part of a plan to print."""

    ALL = "all"
    LOWER = "lower"
    DELTA = "delta"
    ARRANGEMENTS = "arrangements"
    ANEW = "anew"
    PARTS = "parts"
    HIERARCHIES = "hierarchies"
