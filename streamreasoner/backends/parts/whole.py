"""A state that is put together for an epoch, in place of its parts.

Invariant: it is one columnar store, so nothing is exchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamreasoner.backends.columnar.backend import ColumnarBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamreasoner.engine.updates import TraceRows


class Whole(ColumnarBackend):
    """The only part of a state."""

    count = 1

    def ask(self, question: Callable[[Any], Any]) -> list[Any]:
        """What it answers."""
        return [question(self)]

    def ask_each(self, questions: Sequence[Callable[[Any], Any] | None]) -> list[Any]:
        """What it answers to its own question."""
        return [None if question is None else question(self) for question in questions]

    def _is_divisible(self) -> bool:
        """False, also while it is put together."""
        return False

    def load(self, rows: Sequence[TraceRows | None]) -> None:
        """Load a block of a trace."""
        for batch in rows:
            if batch is not None:
                self.restore_rows(batch)
