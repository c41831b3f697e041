"""Find the messages that make a batch fail. Invariant: what is accepted passes, taken together.

    accepted := nothing
    for each part of the batch, in order:
        accepted + part passes     ->  accepted := accepted + part
        it fails, and is a message ->  the message is left out
        it fails                   ->  the same for each part of the part

A message may fail by itself or together with others; of those, the last one is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PARTS = 8
"""A trial that fails may take as long as a hang is waited for, so there are few levels of parts."""
MOST_TRIALS = 1000
NOT_TRIED = (
    "The batch of this message fails, and so do many of its messages: the search for them ended "
    f"after {MOST_TRIALS} evaluations, and left out every message that it had not reached."
)


def isolate(
    count: int,
    fails: Callable[[Sequence[int], Sequence[int]], str | None],
    most_trials: int = MOST_TRIALS,
) -> dict[int, str]:
    """Messages to leave out of a batch that fails, and why each of them.

    Args:
        count: Number of messages.
        fails: Why accepted messages and a part of the batch fail together, None if they pass.
        most_trials: How often to ask at the most; what is left then is left out.
    """
    accepted: list[int] = []
    left_out: dict[int, str] = {}
    waiting = _parts(range(count))
    for _ in range(most_trials):
        if not waiting:
            return left_out
        part = waiting.pop()
        why = fails(accepted, part)
        if why is None:
            accepted += part
        elif len(part) == 1:
            left_out[part[0]] = why
        else:
            waiting += _parts(part)
    return left_out | {row: NOT_TRIED for part in waiting for row in part}


def _parts(rows: range) -> list[range]:
    """Up to `PARTS` parts that are not empty, the last one first."""
    size = max(1, -(-len(rows) // PARTS))
    return [rows[start : start + size] for start in range(0, len(rows), size)][::-1]
