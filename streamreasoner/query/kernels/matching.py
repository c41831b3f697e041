"""Solutions of triple patterns, by nested loops over an index. Invariant: each is found once.

The next pattern is always the one that has the fewest triples under what is bound so far: the order
is chosen for each partial solution, from counts that the index knows, and needs no estimates.
"""

# ruff: noqa: PLR0917  (arrays that a kernel cannot bundle)

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.compile import inlined, kernel

if TYPE_CHECKING:
    import numpy as np

MANY = -1
"""In place of a number of solutions: there is more to look at than was allowed."""
WIDTH = 3
# Where a pattern's triples are: in the order of all, or listed by subject or by object.
IN_ORDER, BY_SUBJECT, BY_OBJECT = range(3)
# What is kept of each pattern that is being matched.
NEXT, END, LIST, PATTERN, BOUND = range(5)
LEVEL_WIDTH = 5


@inlined
def _value(patterns: np.ndarray, pattern: int, at: int, values: np.ndarray) -> int:
    """The id that a pattern has at a place, or -1; a variable is ~ its number."""
    term = patterns[pattern, at]
    return term if term >= 0 else values[~term]


@inlined
def _first(
    low: int, high: int, wanted: int, listed: int, column: int, spo: np.ndarray, lists: np.ndarray
) -> int:
    """Where ids of at least *wanted* begin in a part that is in their order."""
    while low < high:
        middle = (low + high) >> 1
        row = lists[0, middle] if listed == BY_SUBJECT else middle
        if spo[column, row] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_triples(
    spo: np.ndarray,
    starts: np.ndarray,
    lists: np.ndarray,
    s: int,
    p: int,
    o: int,
    levels: np.ndarray,
    level: int,
) -> int:
    """Find where the triples with some ids are.

    Args:
        spo: Subjects, predicates and objects, int32 of shape (3, n), in ascending order of
            predicate, object and subject.
        starts: Where the groups of each id begin by subject, predicate and object, int32 of shape
            (3, m).
        lists: The triples by subject and by object, int32 of shape (2, n).
        s: An id, or -1 for any.
        p: The same.
        o: The same.
        levels: Gets NEXT, END and LIST, int64 of shape (levels, LEVEL_WIDTH).
        level: In this row.

    Returns:
        How many triples there are; those with the ids are among them.
    """
    first, last, listed = 0, spo.shape[1], IN_ORDER
    if max(s, p, o) >= starts.shape[1] - 1:
        last = 0
    elif s >= 0:
        first, last, listed = starts[0, s], starts[0, s + 1], BY_SUBJECT
        if p < 0 and o >= 0 and starts[2, o + 1] - starts[2, o] < last - first:
            first, last, listed = starts[2, o], starts[2, o + 1], BY_OBJECT
    elif p >= 0:
        first, last = starts[1, p], starts[1, p + 1]
    elif o >= 0:
        first, last, listed = starts[2, o], starts[2, o + 1], BY_OBJECT
    if p >= 0 and listed == BY_SUBJECT:
        first = _first(first, last, p, listed, 1, spo, lists)
        last = _first(first, last, p + 1, listed, 1, spo, lists)
    if p >= 0 and o >= 0:
        first = _first(first, last, o, listed, 2, spo, lists)
        last = _first(first, last, o + 1, listed, 2, spo, lists)
    levels[level, NEXT] = first
    levels[level, END] = last
    levels[level, LIST] = listed
    return last - first


@inlined
def _choose(
    spo: np.ndarray,
    starts: np.ndarray,
    lists: np.ndarray,
    patterns: np.ndarray,
    values: np.ndarray,
    levels: np.ndarray,
    depth: int,
) -> int:
    """Let a level match the pattern with the fewest triples of those not yet matched; how many."""
    spare = len(patterns)
    fewest = -1
    for each in range(len(patterns)):
        is_matched = False
        for level in range(depth):
            is_matched = is_matched or levels[level, PATTERN] == each
        if is_matched:
            continue
        count = find_triples(
            spo,
            starts,
            lists,
            _value(patterns, each, 0, values),
            _value(patterns, each, 1, values),
            _value(patterns, each, 2, values),
            levels,
            spare,
        )
        if fewest < 0 or count < fewest:
            fewest = count
            for field in range(PATTERN):
                levels[depth, field] = levels[spare, field]
            levels[depth, PATTERN] = each
            levels[depth, BOUND] = 0
    return fewest


@inlined
def _unbind(patterns: np.ndarray, values: np.ndarray, levels: np.ndarray, depth: int) -> None:
    """Free the variables that the last triple of a level has bound."""
    pattern = levels[depth, PATTERN]
    for at in range(WIDTH):
        if levels[depth, BOUND] & (1 << at):
            values[~patterns[pattern, at]] = -1
    levels[depth, BOUND] = 0


@inlined
def _bind(
    spo: np.ndarray,
    row: int,
    patterns: np.ndarray,
    values: np.ndarray,
    levels: np.ndarray,
    depth: int,
) -> bool:
    """Bind the variables of a level's pattern to a triple; whether it matches."""
    pattern = levels[depth, PATTERN]
    is_match = True
    for at in range(WIDTH):
        value = _value(patterns, pattern, at, values)
        if value < 0:
            values[~patterns[pattern, at]] = spo[at, row]
            levels[depth, BOUND] |= 1 << at
        elif value != spo[at, row]:
            is_match = False
    return is_match


@kernel
def match(
    spo: np.ndarray,
    starts: np.ndarray,
    lists: np.ndarray,
    patterns: np.ndarray,
    values: np.ndarray,
    levels: np.ndarray,
    solutions: np.ndarray,
) -> int:
    """Find the solutions of patterns.

    Args:
        spo: As in `find_triples`.
        starts: The same.
        lists: The same.
        patterns: Subject, predicate and object of each: an id, or ~ the number of a variable;
            int32 of shape (k, 3).
        values: -1 for each variable, int32.
        levels: Room for one more than the patterns, int64 of shape (k + 1, LEVEL_WIDTH).
        solutions: Gets the ids of the variables, int32 of shape (most, variables). As many triples
            are looked at.

    Returns:
        The number of solutions, or MANY.
    """
    most = len(solutions)
    count = 0
    visited = 0
    depth = 0
    if _choose(spo, starts, lists, patterns, values, levels, depth) > most:
        return MANY
    while depth >= 0:
        _unbind(patterns, values, levels, depth)
        row = levels[depth, NEXT]
        if row == levels[depth, END]:
            depth -= 1
            continue
        levels[depth, NEXT] += 1
        if levels[depth, LIST] != IN_ORDER:
            row = lists[levels[depth, LIST] - BY_SUBJECT, row]
        visited += 1
        if visited > most:
            return MANY
        if not _bind(spo, row, patterns, values, levels, depth):
            continue
        if depth + 1 < len(patterns):
            depth += 1
            if _choose(spo, starts, lists, patterns, values, levels, depth) > most:
                return MANY
            continue
        for variable in range(len(values)):
            solutions[count, variable] = values[variable]
        count += 1
    return count
