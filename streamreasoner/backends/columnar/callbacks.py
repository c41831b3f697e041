"""Codes of built-ins, and evaluation of those that kernels delegate to Python.

Invariant: an exception never propagates through a kernel; it is stored until the kernel returns.
"""

from __future__ import annotations

import ctypes
from itertools import count
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakMethod

import numpy as np

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.values import builtins
from streamreasoner.values.builtins import FUNCTIONS, MAX_ARGUMENTS, OPERATORS, TESTS
from streamreasoner.values.formula import compute
from streamreasoner.values.kernels import functions

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.values.formula import Function
    from streamreasoner.values.value_columns import Values

T = TypeVar("T")

# Built-ins that kernels compute come first.
NAMES = (*functions.NAMES, *sorted({*OPERATORS, *FUNCTIONS, *TESTS} - {*functions.NAMES}))
CODES = {name: code for code, name in enumerate(NAMES)}
_free_codes = count(len(NAMES))
_codes: dict[Function, int] = {}
_formulas: dict[int, Function] = {}


def code_of(function: Function) -> int:
    """The code of a built-in, or of a formula, which has one from now on."""
    if isinstance(function, str):
        return CODES[function]
    code = _codes.setdefault(function, next(_free_codes))
    _formulas[code] = function
    return code


def weakly(method: Callable[..., T]) -> Callable[..., T]:
    """Wrap a method without keeping its object alive, so that a state is freed promptly."""
    reference = WeakMethod(method)

    def call(*arguments: object) -> T:
        target = reference()
        assert target is not None  # noqa: S101 - kernels only run while the object lives
        return target(*arguments)

    return call


class Builtins:
    """Evaluates built-ins for kernels.

    Attributes:
        address: Function that kernels call with a code and a number of arguments; it returns a term
            id, 0 or 1 for a test, NO_VALUE or FAILURE; ONCE more if `overflows` has counted it.
        arguments: Term ids, int32 of shape (MAX_ARGUMENTS,), written by kernels.
        values: The values of terms, which it extends by those of its results.
        memo: What it has returned, int32 of shape (MEMO_ROWS * MEMO_WIDTH,), written by kernels.
        calls: How often kernels have called it.
        overflows: Results without a value because they do not fit 64 bits.
    """

    def __init__(
        self, dictionary: Dictionary, values: Values, result: Callable[[int], str | None]
    ) -> None:
        self.arguments: NDArray[np.int32] = np.zeros(MAX_ARGUMENTS, np.int32)
        self.memo: NDArray[np.int32] = np.zeros(layout.MEMO_ROWS * layout.MEMO_WIDTH, np.int32)
        self.calls = 0
        self.overflows = 0
        self._dictionary = dictionary
        self.values = values
        self._result = result
        self._failure: BaseException | None = None
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self._function = prototype(weakly(self._evaluate))
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def failure(self) -> BaseException:
        """The exception behind a FAILED status; clears it."""
        failure, self._failure = self._failure, None
        assert failure is not None  # noqa: S101 - FAILED has no other source
        return failure

    def _evaluate(self, code: int, argument: int) -> int:
        self.calls += 1
        counted = self.overflows
        try:
            result = (
                self._reduced(argument) if code == layout.REDUCE else self._value(code, argument)
            )
        except BaseException as failure:  # noqa: BLE001 - re-raised after the kernel
            self._failure = failure
            return layout.FAILURE
        return (
            result if code == layout.REDUCE or self.overflows == counted else result + layout.ONCE
        )

    def _reduced(self, group: int) -> int:
        """The result of a group."""
        term = self._result(group)
        if term is None:
            self._overflowed()
        return self._intern(term)

    def _value(self, code: int, number: int) -> int:
        """The result of a built-in or a formula for a number of arguments."""
        terms = [*map(self._dictionary.term, self.arguments[:number].tolist())]
        if (formula := _formulas.get(code)) is not None:
            return self._intern(compute(formula, terms, self._overflowed))
        if (name := NAMES[code]) in TESTS:
            holds = builtins.test(name, terms)
            return layout.NO_VALUE if holds is None else int(holds)
        return self._intern(builtins.apply(name, terms, self._overflowed))

    def _overflowed(self) -> None:
        self.overflows += 1

    def _intern(self, term: str | None) -> int:
        return layout.NO_VALUE if term is None else self.values.intern(term)
