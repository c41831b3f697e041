"""Text offsets to lines and columns. Invariant: both count from 1; a newline ends a line."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from streamreasoner.lang.ast import Span

if TYPE_CHECKING:
    from collections.abc import Callable

_Node = TypeVar("_Node")


class Places:
    """The lines of one text."""

    def __init__(self, source: str, text: str) -> None:
        self._source = source
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def span(self, start: int, end: int) -> Span:
        """Return the span from one offset to another."""
        line, column = self._place(start)
        if line < len(self._starts) and end > self._starts[line]:
            return Span(self._source, line, column, *self._place(end), start, end)
        return Span(self._source, line, column, line, column + end - start, start, end)

    def _place(self, offset: int) -> tuple[int, int]:
        line = max(bisect_left(self._starts, offset + 1), 1)
        return line, offset - self._starts[line - 1] + 1


def placed(node: _Node, place: Callable[[Span], Span]) -> _Node:
    """A node of an AST, and all below it, with other spans."""

    def put(value: Any) -> Any:
        if isinstance(value, Span):
            return place(value)
        if isinstance(value, tuple):
            return tuple(map(put, value))
        names = _parts(type(value))  # type: ignore[arg-type]  # a class is hashable
        if not names:
            return value
        return type(value)(**{name: put(getattr(value, name)) for name in names})

    return cast("_Node", put(node))


@cache
def _parts(kind: type) -> tuple[str, ...]:
    """The names of the parts of a kind of node; none of what is not a node."""
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()
