"""Find the messages that make a batch fail. Invariant: the accepted ones pass together.

    accepted := {}
    for each part of the batch, in order:
        accepted + part passes      ->  accepted := accepted + part
        it fails, part is a message ->  leave the message out
        it fails                    ->  recurse into the part

A message may fail alone or together with others; of those, the last is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PARTS = 8
"""A failing trial may take as long as the batch timeout, so the search has few levels."""
MAX_TRIALS = 1000
NOT_TRIED = (
    "The batch of this message fails with many of its messages. The search for them stopped "
    f"after {MAX_TRIALS} evaluations and left out every message not yet tried."
)


def isolate(
    count: int,
    fails: Callable[[Sequence[int], Sequence[int]], str | None],
    max_trials: int = MAX_TRIALS,
) -> dict[int, str]:
    """Messages to leave out of a failing batch, with the reason for each.

    Args:
        count: Number of messages.
        fails: Returns why accepted messages and a part fail together, None if they pass.
        max_trials: Most trials; the messages that remain then are left out.
    """
    accepted: list[int] = []
    left_out: dict[int, str] = {}
    pending = _parts(range(count))
    for _ in range(max_trials):
        if not pending:
            return left_out
        part = pending.pop()
        why = fails(accepted, part)
        if why is None:
            accepted += part
        elif len(part) == 1:
            left_out[part[0]] = why
        else:
            pending += _parts(part)
    return left_out | {row: NOT_TRIED for part in pending for row in part}


def _parts(rows: range) -> list[range]:
    """Up to `PARTS` non-empty parts, the last first."""
    size = max(1, -(-len(rows) // PARTS))
    return [rows[start : start + size] for start in range(0, len(rows), size)][::-1]
