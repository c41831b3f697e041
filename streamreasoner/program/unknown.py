"""Names that a program does not have. Invariant: what is suggested instead is not hidden."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import QUAD

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 100
_GRAPHS = (
    "say how graphs count for rules about triples: with `@graphs union .` in the rules, `--graphs "
    "union`, `graphs=` in Python, or `rules.graphs` of a pipeline; `union` merges them, `each` "
    "keeps them apart, `default` leaves them out"
)
MOST_LISTED = 20
"""Most predicates that a message lists."""


def unknown_predicate(name: str, visible: Mapping[str, int]) -> tuple[str, str]:
    """What is wrong with a predicate that a program does not have, and what may be meant.

    Args:
        name: The predicate.
        visible: Arities of the predicates that people see.
    """
    if name == QUAD:
        return f"the program has no predicate {name!r}", _GRAPHS
    close = get_close_matches(name, visible, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"the predicates are {listed(visible)}"
    return f"the program has no predicate {name[:_LONGEST]!r}", hint


def unknown_text(name: str, visible: Mapping[str, int]) -> str:
    """The same as sentences."""
    message, hint = (f"{part[0].upper()}{part[1:]}" for part in unknown_predicate(name, visible))
    return f"{message}. {hint}" if hint.endswith("?") else f"{message}. {hint}."


def listed(visible: Mapping[str, int]) -> str:
    """`edge/2, path/2`, in alphabetical order."""
    names = sorted(f"{name}/{arity}" for name, arity in visible.items())
    more = len(names) - MOST_LISTED
    return ", ".join(names if more <= 0 else [*names[:MOST_LISTED], f"and {more:,} more"])
