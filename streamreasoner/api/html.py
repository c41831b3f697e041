"""Results in notebooks. Invariant: a term is text, never markup."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHOWN = 20
"""Most rows of a table."""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], count: int) -> str:
    """The first rows of a table, and how many there are.

    Args:
        headings: Names of the columns.
        rows: The rows, at least the first ones.
        count: How many there are.
    """
    lines = [_row("th", headings), *(_row("td", row) for row in islice(rows, SHOWN))]
    more = f"<p>{count:,} rows, of which the first {SHOWN} are shown.</p>" if count > SHOWN else ""
    return f"<table>{''.join(lines)}</table>{more}"


def paragraph(text: str) -> str:
    """A text."""
    return f"<p>{escape(text)}</p>"


def _row(cell: str, texts: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(text)}</{cell}>' for text in texts)}</tr>"
