"""The table of reductions. Invariant: the new program's come first, then those it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.compiler.tables import work_row
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.plan.algebra import Arrangement
from streamreasoner.plan.operands import RESULT, Column
from streamreasoner.values.sums import CHOOSING, LISTING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from streamreasoner.backends.columnar.compiler.instructions import Operands
    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.plan.program_plan import Reduction

SPARE = 1024
"""Values that a group lists beyond twice as many as it shows."""
_FUNCTIONS = {
    "count": layout.FUNCTION_COUNT,
    "count distinct": layout.FUNCTION_DISTINCT,
    "sum": layout.FUNCTION_SUM,
    "avg": layout.FUNCTION_AVERAGE,
    "lowest": layout.FUNCTION_LOWEST,
    "highest": layout.FUNCTION_HIGHEST,
    **dict.fromkeys(LISTING, layout.FUNCTION_CONCATENATION),
}
_MOST_CHOSEN = 1 << 29


def fields(
    reduction: Reduction,
    rule: int,
    numbering: Numbering,
    operands: Operands,
    intern: Callable[[str], int],
) -> tuple[int, ...]:
    """The row of a reduction.

    Args:
        reduction: The reduction.
        rule: Index of its rule among those of both programs, in normal form.
        numbering: Has its relations and groupings.
        operands: Extended by what the row points to.
        intern: Returns the id of a constant.
    """
    return (
        numbering.grouping(reduction),
        len(reduction.key),
        _function(reduction),
        numbering.relations[reduction.head.predicate],
        operands.add(_result_codes(reduction, intern)),
        len(reduction.head.arguments),
        work_row(rule),
        _limit(reduction),
        2 * _limit(reduction) + SPARE,
        max(map(numbering.grouping, members(reduction)), default=-1),
    )


def listing(reductions: Sequence[Reduction]) -> Iterator[tuple[int, str]]:
    """The rows of those that are computed from all terms of a group, with their functions."""
    for row, each in enumerate(reductions):
        if each.name in LISTING:
            yield row, each.function


def members(reduction: Reduction) -> tuple[Arrangement, ...]:
    """The arrangement that the values of a group are read from, where sums do not tell."""
    needs_them = reduction.name in CHOOSING | LISTING
    return (Arrangement(reduction.candidates, (), reduction.key),) if needs_them else ()


def _function(reduction: Reduction) -> int:
    """The kernels' number of what a reduction computes."""
    whole = _FUNCTIONS.get(reduction.function)
    return _FUNCTIONS[reduction.name] if whole is None else whole


def _limit(reduction: Reduction) -> int:
    """How many values a reduction chooses; 0 if it computes one."""
    return min(int(reduction.parameter), _MOST_CHOSEN) if reduction.name in CHOOSING else 0


def _result_codes(reduction: Reduction, intern: Callable[[str], int]) -> tuple[int, ...]:
    """The head of a reduction: key positions, then the length of the key for the result, or ~id."""
    columns = [a.name for a in reduction.head.arguments if isinstance(a, Column)]
    group = [name for name in columns if name != RESULT]
    places = {name: place for place, name in enumerate((*group, RESULT))}
    return tuple(
        places[a.name] if isinstance(a, Column) else ~intern(a.term)
        for a in reduction.head.arguments
        if a is not None
    )
