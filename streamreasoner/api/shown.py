"""Results in consoles and notebooks. Invariant: in HTML, a term is text, never markup."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from streamreasoner.engine.updates import Changes

ROWS = 20
"""Most rows that are shown."""


def signed_counts(parts: Iterable[Changes]) -> dict[str, str]:
    """`{'edge': '+2', 'path': '+3 -1'}`: how many facts of each predicate came and went."""
    counts: dict[str, list[int]] = {}
    for part in parts:
        came = int((part.multiplicity > 0).sum())
        count = counts.setdefault(part.predicate, [0, 0])
        count[0] += came
        count[1] += len(part.multiplicity) - came
    return {
        name: " ".join(
            f"{sign}{number:,}" for sign, number in zip("+-", count, strict=True) if number
        )
        for name, count in sorted(counts.items())
        if any(count)
    }


def text(rows: Iterable[object], count: int) -> str:
    """The first rows as a list, and how many there are.

    Args:
        rows: The rows, at least the first ones.
        count: How many there are.
    """
    more = [f"… {count:,} in all"] if count > ROWS else []
    return f"[{', '.join([*map(repr, islice(rows, ROWS)), *more])}]"


def html_table(table: pa.Table, count: int) -> str:
    """The first rows as a table, and how many there are.

    Args:
        table: The rows, at least the first ones.
        count: How many there are.
    """
    # A fact without arguments has no columns.
    lines = [_row("th", table.column_names)] if table.column_names else []
    # Not by `Table.slice`, which makes up rows of a table without columns.
    lines += [_row("td", row.values() or ["()"]) for row in table.to_pylist()[:ROWS]]
    more = f"{count:,} rows, of which the first {ROWS} are shown."
    return f"<table>{''.join(lines)}</table>" + (html_paragraph(more) if count > ROWS else "")


def html_paragraph(said: str) -> str:
    """A text."""
    return f"<p>{escape(said)}</p>"


def _row(cell: str, values: Iterable[object]) -> str:
    texts = ("" if each is None else _cell(each) for each in values)
    return f"<tr>{''.join(f'<{cell}>{escape(each)}</{cell}>' for each in texts)}</tr>"


def _cell(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
