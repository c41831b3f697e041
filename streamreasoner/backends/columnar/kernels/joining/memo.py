"""Results of built-ins in Python, by their arguments. Invariant: a result is that of a call.

Built-ins are functions of their arguments, and neither a term's id nor a code ever changes its
meaning, so a result outlives its epoch, also one that fails. A row holds the last result whose
arguments have its hash; what it replaces is computed again.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import views
from streamreasoner.backends.columnar.kernels.records.slots import hash_cells
from streamreasoner.native.addresses import call, signed
from streamreasoner.native.compile import kernel


@kernel
def remembered(table: layout.Int64s, code: int, number: int) -> int:
    """The result of a built-in for the terms in ARGUMENTS; Python is called if it is not known.

    Args:
        table: The addresses.
        code: The built-in.
        number: Number of arguments; results of more than MEMO_ARGUMENTS are not kept.

    Returns:
        The id of its value, 0 or 1 for a test, NO_VALUE or FAILURE.
    """
    arguments = views.arguments(table)
    rows = views.memo(table)
    row = (hash_cells(code, arguments, 0, number) & (layout.MEMO_ROWS - 1)) * layout.MEMO_WIDTH
    kept = number <= layout.MEMO_ARGUMENTS
    # Codes of Python's built-ins are not 0, so an empty row has no result.
    if kept and rows[row + layout.MEMO_CODE] == code and rows[row + layout.MEMO_COUNT] == number:
        known = True
        for i in range(number):
            known = known and rows[row + layout.MEMO_CELLS + i] == arguments[i]
        if known:
            return signed(rows[row + layout.MEMO_RESULT])
    result = call(table[layout.CALL], code, number)
    if result >= layout.ONCE + layout.NO_VALUE:
        return result - layout.ONCE
    if kept and result != layout.FAILURE:
        rows[row + layout.MEMO_CODE] = code
        rows[row + layout.MEMO_COUNT] = number
        for i in range(number):
            rows[row + layout.MEMO_CELLS + i] = arguments[i]
        rows[row + layout.MEMO_RESULT] = result
    return result
