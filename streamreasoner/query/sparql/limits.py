"""Limits of a query. Invariant: a query that exceeds one ends with an error, not with a part."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from streamreasoner.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_TOO_LONG = "Max expression depth limit"
"""Of DuckDB, which binds a conjunction by recursion."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """What a query may use; None: no limit.

    Attributes:
        seconds: Time.
        rows: Solutions or triples of the answer.
        steps: Rows of an intermediate result.
    """

    seconds: float | None = None
    rows: int | None = None
    steps: int = 100_000_000


class Running:
    """A query that runs within its limits.

    Args:
        connect: Gives the connection that runs its SQL, if there is any.
        limits: Its limits.
    """

    def __init__(
        self, connect: Callable[[], duckdb.DuckDBPyConnection], limits: QueryLimits
    ) -> None:
        self._connect = connect
        self.limits = limits
        self._end = None if limits.seconds is None else time.monotonic() + limits.seconds

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """What runs its SQL."""
        return self._connect()

    def check_time(self) -> None:
        """Check that time is left.

        Raises:
            LimitError: None is.
        """
        if self._end is not None and time.monotonic() > self._end:
            raise LimitError(
                f"The query took longer than {self.limits.seconds:g} s and was stopped. Ask for "
                "less, or raise the time limit."
            )

    def fetch(self, sql: str) -> dict[str, NDArray[np.int32]]:
        """The columns of a query of ids.

        Raises:
            LimitError: It took too long, or too much memory.
            InterruptedError: The connection was interrupted.
        """
        with self._stopped_in_time():
            try:
                found = self.connection.execute(sql).fetchnumpy()
            except duckdb.InterruptException:
                self.check_time()
                raise InterruptedError from None
            except duckdb.OutOfMemoryException:
                raise LimitError(
                    "The query took more memory than it may. Ask for less: name more terms, or "
                    "join fewer patterns that share no variable."
                ) from None
            except duckdb.BinderException as error:
                if _TOO_LONG not in str(error):
                    raise
                raise LimitError(
                    "The query has more patterns than can be joined, about 1,000. Ask for less at"
                    " once, such as a part of a long collection."
                ) from None
        return {name: np.ascontiguousarray(column, np.int32) for name, column in found.items()}

    @contextmanager
    def _stopped_in_time(self) -> Iterator[None]:
        if self._end is None:
            yield
            return
        seconds = max(0.0, self._end - time.monotonic())
        timer = threading.Timer(seconds, self.connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
