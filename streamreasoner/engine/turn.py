"""Turns of threads at one session. Invariant: state is read and changed in one turn at a time.

A turn is reentrant. Its holder may lend it to a thread that makes items for it, which would
otherwise wait for its own customer.
"""

from __future__ import annotations

import threading
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


_P = ParamSpec("_P")
_T = TypeVar("_T")


class Turn:
    """The lock of one session."""

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
    turn: Turn


_Self = TypeVar("_Self", bound=_TakesTurns)


def in_turn(
    method: Callable[Concatenate[_Self, _P], _T],
) -> Callable[Concatenate[_Self, _P], _T]:
    """A method whose calls take turns."""

    @wraps(method)
    def taking_turns(self: _Self, /, *args: _P.args, **named: _P.kwargs) -> _T:
        with self.turn:
            return method(self, *args, **named)

    return taking_turns
