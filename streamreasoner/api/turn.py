"""Turns of threads at one reasoner. Invariant: state is read and changed in one turn at a time.

A turn is reentrant. Its holder may lend it to a thread that makes items for it, which would
otherwise wait for its own customer.
"""

from __future__ import annotations

import threading
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from streamreasoner.query.facts import Terms

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Turn:
    """The lock of one reasoner."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._borrower = threading.local()

    def __enter__(self) -> None:
        if not self._is_lent():
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        if not self._is_lent():
            self._lock.release()

    def lend(self, items: Iterable[_T]) -> Iterator[_T]:
        """The same items; whichever thread asks for one, it is made in the turn of the holder."""
        iterator = iter(items)
        while True:
            self._borrower.borrows = True
            try:
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self._borrower.borrows = False
            yield item

    def each(self, items: Iterable[_T]) -> Iterator[_T]:
        """The same items, each of which is made in a turn of its own."""
        iterator = iter(items)
        while True:
            with self:
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def _is_lent(self) -> bool:
        return getattr(self._borrower, "borrows", False)


class _TakesTurns(Protocol):
    _turn: Turn


_Self = TypeVar("_Self", bound=_TakesTurns)


def in_turn(
    method: Callable[Concatenate[_Self, _P], _T],
) -> Callable[Concatenate[_Self, _P], _T]:
    """A method whose calls take turns."""

    @wraps(method)
    def taking_turns(self: _Self, /, *args: _P.args, **named: _P.kwargs) -> _T:
        with self._turn:
            return method(self, *args, **named)

    return taking_turns


class TermsOfEpoch:
    """The terms that a dictionary had at one epoch.

    Terms that come later are not found, so that a query which computes one has one id for it.

    Args:
        terms: The dictionary.
        count: How many terms it has.
        turn: Taken to find one; decoding needs none, as assigned terms never change.
    """

    def __init__(self, terms: Terms, count: int, turn: Turn) -> None:
        self._terms = terms
        self._count = count
        self._turn = turn

    def find(self, term: str) -> int | None:
        """Id of a canonical term, or None if there is none."""
        with self._turn:
            found = self._terms.find(term)
        return None if found is None or found >= self._count else found

    def decode(self, ids: NDArray[np.integer]) -> pa.LargeStringArray:
        """The terms of ids (any shape, flattened), in the same order."""
        return self._terms.decode(ids)
