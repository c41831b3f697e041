"""Threads that take a step in all parts. Invariant: no part goes on before all are done.

Kernels release the GIL, so that the threads run on a core each. Between steps the parts wait for
each other: that is what makes the state of one readable for the others.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Crew:
    """Takes steps in threads, of which the caller's is one.

    Args:
        size: The number of threads.
    """

    def __init__(self, size: int) -> None:
        self._pool = ThreadPoolExecutor(size - 1, thread_name_prefix="part") if size > 1 else None

    def take(self, step: Callable[[int], object], parts: int) -> None:
        """Take a step in each part; when one has failed, the others are done, too.

        Args:
            step: Takes it in the part of a number.
            parts: How many there are.
        """
        if self._pool is None:
            for part in range(parts):
                step(part)
            return
        others = [self._pool.submit(step, part) for part in range(1, parts)]
        try:
            step(0)
        finally:
            wait(others)
        for other in others:
            other.result()
