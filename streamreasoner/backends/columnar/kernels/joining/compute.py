"""Conditions on the bindings of a running plan. Invariant: a missing value is never a match.

Integer arithmetic is computed here, and terms are told apart by their ids; everything else is
delegated to Python.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.native.addresses import call, int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.hash_table import FULL
from streamreasoner.values.kernels.comparing import WHOLE, compare
from streamreasoner.values.kernels.integers import intern_integer, is_integer

MATCH = 1
NO_MATCH = 0

_COPY, _ADD, _SUBTRACT, _MULTIPLY, _REMAINDER, _NEGATE, _ABS, _LEAST, _GREATEST = range(9)
_BINARY = 2
_LEAST_INTEGER = -(2**63)


@inlined
def operand(table: layout.Int64s, code: int) -> int:
    """The term of an operand: a slot, or ~id for a constant."""
    if code < 0:
        return ~code
    return int32_column(table[layout.SCRATCH])[layout.SLOTS + code]


@kernel
def check_conditions(table: layout.Int64s, values: layout.Int64s, at: int, count: int) -> int:
    """Check *count* conditions from *at* on and fill slots; MATCH, NO_MATCH or FAILURE."""
    operands = int32_column(table[layout.OPERANDS])
    scratch = int32_column(table[layout.SCRATCH])
    for _ in range(count):
        kind = operands[at]
        arguments = at + layout.CONDITION_ARGUMENTS
        number = operands[at + 3]
        if kind == layout.COMPARE:
            order = compare(
                values,
                operand(table, operands[arguments]),
                operand(table, operands[arguments + 1]),
            )
            if (1 << (order + 1)) & operands[at + 1] == 0:
                return NO_MATCH
        elif kind == layout.HOLDS:
            holds = _holds(table, operands[at + 1], arguments, number)
            if holds == layout.FAILURE:
                return layout.FAILURE
            if holds != operands[at + 2]:
                return NO_MATCH
        else:
            value = _value(table, values, operands[at + 1], arguments, number)
            if value < 0:
                return layout.FAILURE if value == layout.FAILURE else NO_MATCH
            slot = layout.SLOTS + operands[at + 2]
            if kind == layout.COMPUTE:
                scratch[slot] = value
            elif scratch[slot] != value:
                return NO_MATCH
        at = arguments + number
    return MATCH


@kernel
def _holds(table: layout.Int64s, code: int, arguments: int, number: int) -> int:
    """Whether a test holds, 0 or 1, NO_VALUE or FAILURE."""
    if code != layout.SAME_TERM:
        return _call_python(table, code, arguments, number)
    operands = int32_column(table[layout.OPERANDS])
    left = operand(table, operands[arguments])
    return int(left == operand(table, operands[arguments + 1]))


@kernel
def _value(
    table: layout.Int64s, values: layout.Int64s, code: int, arguments: int, number: int
) -> int:
    """The result term of a built-in, NO_VALUE or FAILURE."""
    operands = int32_column(table[layout.OPERANDS])
    left = operand(table, operands[arguments])
    if code == _COPY:
        return left
    if code <= _ABS and is_integer(values, left):
        wholes = int64_column(values[WHOLE])
        right = left
        if number == _BINARY:
            right = operand(table, operands[arguments + 1])
        if is_integer(values, right):
            known, result = _integer(code, wholes[left], wholes[right])
            if known:
                term = intern_integer(values, result)
                if term != FULL:
                    return term
    elif code in (_LEAST, _GREATEST):
        return _extreme(table, values, code, arguments, number)
    return _call_python(table, code, arguments, number)


@inlined
def _integer(code: int, left: int, right: int) -> tuple[bool, int]:  # noqa: PLR0911 - by code
    """Whether the integer result was computed here, and the result; otherwise call Python."""
    if code == _ADD:
        result = left + right
        return ((left ^ result) & (right ^ result)) >= 0, result
    if code == _SUBTRACT:
        result = left - right
        return ((left ^ right) & (left ^ result)) >= 0, result
    if code == _MULTIPLY:
        small = -(1 << 31)
        fits = small <= left < -small and small <= right < -small
        return fits, left * right
    if code == _REMAINDER:
        # Non-negative operands only: otherwise the sign must follow the dividend.
        if left >= 0 and right > 0:
            return True, left % right
        return False, 0
    if left == _LEAST_INTEGER:
        return False, 0
    return True, (-left if code == _NEGATE or left < 0 else left)


@kernel
def _extreme(
    table: layout.Int64s, values: layout.Int64s, code: int, arguments: int, number: int
) -> int:
    """The least or greatest of comparable terms; of equal ones the first."""
    operands = int32_column(table[layout.OPERANDS])
    best = operand(table, operands[arguments])
    for i in range(1, number):
        other = operand(table, operands[arguments + i])
        order = compare(values, other, best)
        if order not in (-1, 0, 1):
            return layout.NO_VALUE
        if order == (-1 if code == _LEAST else 1):
            best = other
    return best


@kernel
def _call_python(table: layout.Int64s, code: int, arguments: int, number: int) -> int:
    """Evaluate a built-in or a test in Python."""
    operands = int32_column(table[layout.OPERANDS])
    buffer = int32_column(table[layout.ARGUMENTS])
    for i in range(number):
        buffer[i] = operand(table, operands[arguments + i])
    return call(table[layout.CALL], code, number)
