"""Conditions on the bindings of a running plan. Invariant: a missing value is never a match.

What `values.kernels` does not compute is left to Python, once for each of the last arguments.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.joining.memo import remembered
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.values.kernels.comparing import compare
from streamreasoner.values.kernels.exact import DELEGATED
from streamreasoner.values.kernels.functions import apply

MATCH = 1
NO_MATCH = 0


@inlined
def operand(table: layout.Int64s, code: int) -> int:
    """The term of an operand: a slot, or ~id for a constant."""
    if code < 0:
        return ~code
    return views.scratch(table)[layout.SLOTS + code]


@inlined
def bind(table: layout.Int64s, fact: int, rows: layout.Int32s, row: int) -> None:
    """Bind a fact's arguments to slots, as the row of a plan or of a step says."""
    scratch = views.scratch(table)
    start = rows[row + layout.STAGE_BINDS]
    end = start + layout.BIND_WIDTH * rows[row + layout.STAGE_BIND_COUNT]
    for i in range(start, end, layout.BIND_WIDTH):
        argument = views.operands(table)[i + layout.BIND_ARGUMENT]
        scratch[layout.SLOTS + views.operands(table)[i + layout.BIND_SLOT]] = facts.argument(
            table, fact, argument
        )


@kernel
def check_conditions(table: layout.Int64s, values: layout.Int64s, at: int, count: int) -> int:
    """Check *count* conditions from *at* on and fill slots; MATCH, NO_MATCH or FAILURE."""
    operands = views.operands(table)
    for _ in range(count):
        kind = operands[at + layout.CONDITION_KIND]
        arguments = at + layout.CONDITION_ARGUMENTS
        number = operands[at + layout.CONDITION_COUNT]
        if kind == layout.COMPARE:
            order = compare(
                values,
                operand(table, operands[arguments]),
                operand(table, operands[arguments + 1]),
            )
            if (1 << (order + 1)) & operands[at + layout.CONDITION_CODE] == 0:
                return NO_MATCH
        else:
            value = _evaluate(
                table, values, operands[at + layout.CONDITION_CODE], arguments, number
            )
            if value == layout.FAILURE:
                return layout.FAILURE
            slot = layout.SLOTS + operands[at + layout.CONDITION_TARGET]
            if kind == layout.HOLDS:
                if value != operands[at + layout.CONDITION_TARGET]:
                    return NO_MATCH
            elif value == layout.NO_VALUE:
                return NO_MATCH
            elif kind == layout.COMPUTE:
                views.scratch(table)[slot] = value
            elif views.scratch(table)[slot] != value:
                return NO_MATCH
        at = arguments + number
    return MATCH


@kernel
def _evaluate(
    table: layout.Int64s, values: layout.Int64s, code: int, arguments: int, number: int
) -> int:
    """The result term of a built-in, 0 or 1 for a test, NO_VALUE or FAILURE."""
    buffer = views.arguments(table)
    for i in range(number):
        buffer[i] = operand(table, views.operands(table)[arguments + i])
    result = apply(values, code, buffer, number)
    return result if result != DELEGATED else remembered(table, code, number)
