"""Formats of lines that `produce` reads."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """Format of standard input, or of a file regardless of its name: one fact per line."""

    NTRIPLES = "ntriples"
    NQUADS = "nquads"
    JSON = "json"
