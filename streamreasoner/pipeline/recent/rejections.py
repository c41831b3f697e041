"""The last dead letters. Invariant: each has the reason that its topic has."""

from __future__ import annotations

import json
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.observer import PipelineObserver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.io.kafka.dead_letter import DeadLetter

KEPT: Final = 100
"""Dead letters that are remembered."""


class Rejections(PipelineObserver):
    """Remembers the last messages that went to the dead-letter topic since the start."""

    def __init__(self) -> None:
        self._last: deque[tuple[int, DeadLetter]] = deque(maxlen=KEPT)
        self._total = 0

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """Count the messages of an epoch."""
        del changes, latencies
        self._total += sum(rejected.values())

    def dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        """Remember the last ones of an epoch."""
        now = time.time_ns() // 1_000_000
        self._last.extend((now, letter) for letter in letters)

    def document(self, query: Mapping[str, str]) -> str:
        """The dead letters in JSON, newest first; may be called on any thread."""
        del query
        letters = [
            {
                "time": timestamps.iso(moment),
                "topic": letter.topic,
                "partition": letter.partition,
                "offset": letter.offset,
                "class": letter.reason.value,
                "reason": letter.detail,
                "message": letter.text,
            }
            for moment, letter in reversed(self._last.copy())
        ]
        return f"{json.dumps({'dead_letters': letters, 'total': self._total})}\n"
