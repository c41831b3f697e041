"""Rows of terms, compared but for labels of blank nodes. Invariant: equal rows are counted.

Graphs are rows of three terms, datasets rows of four, solutions rows of a term for each variable.
Blank nodes are those texts that begin with `_:`, also inside of triple terms.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Row: TypeAlias = tuple[str, ...]
_SHOWN = 3
_PART = re.compile(
    r'<<\(|\)>>|<[^<>]*>|_:[^\s<>()]+|"(?:[^"\\]|\\.)*"(?:@[\w-]+|\^\^<[^<>]*>)?', re.DOTALL
)


def difference(expected: Iterable[Row], actual: Iterable[Row]) -> str | None:
    """What two bags of rows do not share, in a line; None if they are isomorphic."""
    left, right = Counter(map(flat, expected)), Counter(map(flat, actual))
    if left == right:
        return None
    colors, others = _colors(left), _colors(right)
    if _painted(left, colors) == _painted(right, others) and _match(left, right, colors, others):
        return None
    missing = [_shown(row) for row in sorted(left - right)]
    extra = [_shown(row) for row in sorted(right - left)]
    parts = [f"lacks {' '.join(missing[:_SHOWN])}"] if missing else []
    parts += [f"adds {' '.join(extra[:_SHOWN])}"] if extra else []
    return f"{sum(left.values())} rows expected, {sum(right.values())} found: {'; '.join(parts)}"


def flat(row: Row) -> Row:
    """A row with the parts of triple terms in place of them: brackets are parts, too."""
    if not any(term.startswith("<<(") for term in row):
        return row
    parts = ([term] if not term.startswith("<<(") else _PART.findall(term) for term in row)
    return tuple(part for each in parts for part in each)


def _match(
    left: Counter[Row], right: Counter[Row], colors: Mapping[str, int], others: Mapping[str, int]
) -> bool:
    """Whether some bijection between blank nodes of the same color makes the bags equal."""
    nodes = sorted(colors, key=lambda node: [*colors.values()].count(colors[node]))
    return _search(nodes, {}, set(), left, right, colors, others)


def _search(  # noqa: PLR0917 - a recursion over all that it knows
    nodes: list[str],
    chosen: dict[str, str],
    taken: set[str],
    left: Counter[Row],
    right: Counter[Row],
    colors: Mapping[str, int],
    others: Mapping[str, int],
) -> bool:
    if len(chosen) == len(nodes):
        return Counter({_renamed(row, chosen): count for row, count in left.items()}) == right
    node = nodes[len(chosen)]
    for other, color in others.items():
        if color != colors[node] or other in taken:
            continue
        chosen[node] = other
        taken.add(other)
        if _fits(node, chosen, left, right) and _search(
            nodes, chosen, taken, left, right, colors, others
        ):
            return True
        del chosen[node]
        taken.discard(other)
    return False


def _fits(node: str, chosen: Mapping[str, str], left: Counter[Row], right: Counter[Row]) -> bool:
    """Whether each row of a node whose blank nodes are all chosen is there as often."""
    return all(
        right[_renamed(row, chosen)] >= count
        for row, count in left.items()
        if node in row and all(term in chosen for term in row if _is_blank(term))
    )


def _renamed(row: Row, names: Mapping[str, str]) -> Row:
    return tuple(names.get(term, term) for term in row)


def _colors(rows: Counter[Row]) -> dict[str, int]:
    """A color for each blank node, which isomorphic bags give alike."""
    colors = dict.fromkeys((term for row in rows for term in row if _is_blank(term)), 0)
    for _ in range(len(colors)):
        seen: dict[str, list[int]] = {node: [] for node in colors}
        for row, count in rows.items():
            for position, term in enumerate(row):
                if _is_blank(term):
                    around = tuple(colors[each] if _is_blank(each) else each for each in row)
                    seen[term].append(hash((position, count, around)))
        painted = {node: hash((colors[node], *sorted(found))) for node, found in seen.items()}
        if len({*painted.values()}) == len({*colors.values()}):
            return painted
        colors = painted
    return colors


def _painted(rows: Counter[Row], colors: Mapping[str, int]) -> Counter[tuple[object, ...]]:
    painted: Counter[tuple[object, ...]] = Counter()
    for row, count in rows.items():
        painted[tuple(colors[term] if _is_blank(term) else term for term in row)] += count
    return painted


def _is_blank(term: str) -> bool:
    return term.startswith("_:")


def _shown(row: Row) -> str:
    return f"({', '.join(row)})"
