"""Facts above facts, and sums of their rows. Invariant: facts are numbered as in `climb`."""

# ruff: noqa: PLR0917  (arrays that a kernel cannot bundle)

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.compile import kernel

if TYPE_CHECKING:
    import numpy as np


_LOW = (1 << 32) - 1


@kernel
def step(
    facts: np.ndarray,
    below: np.ndarray,
    above: np.ndarray,
    since: np.ndarray,
    found: np.ndarray,
    when: np.ndarray,
) -> int:
    """Find the facts above some facts, one for each edge.

    Args:
        facts: Their numbers, int64.
        below: The lower class of each edge, int32 of shape (n,), ascending.
        above: The higher one.
        since: The iteration since which it is present, int64.
        found: Gets the numbers of the facts.
        when: Gets the iterations of the edges.

    Returns:
        Their number; those beyond the length of *found* are only counted.
    """
    count = 0
    for i in range(len(facts)):
        each = facts[i] & _LOW
        entity = facts[i] - each
        first, end = 0, len(below)
        while first < end:
            middle = (first + end) >> 1
            if below[middle] < each:
                first = middle + 1
            else:
                end = middle
        while first < len(below) and below[first] == each:
            if count < len(found):
                found[count] = entity + above[first]
                when[count] = since[first]
            count += 1
            first += 1
    return count


@kernel
def reach(
    first: np.ndarray,
    above: np.ndarray,
    starts: np.ndarray,
    walks: np.ndarray,
    visited: np.ndarray,
    stack: np.ndarray,
    reached: np.ndarray,
    by: np.ndarray,
) -> int:
    """Follow edges from some classes as far as they lead.

    Args:
        first: Where the edges from each class begin, int64 of shape (classes + 1,).
        above: The upper ends of the edges, int64.
        starts: Classes to start from, int64 of shape (n,).
        walks: The walk that each is part of, int64 of shape (n,), ascending.
        visited: -1 for each class, int64.
        stack: Room for one class more than there are, int64.
        reached: Gets the classes that have an edge from a start, or from what has one, int64.
        by: Gets the walk that each is reached by, ascending, int64.

    Returns:
        Their number; those beyond the length of *reached* are only counted.
    """
    count = 0
    for i in range(len(starts)):
        walk = walks[i]
        stack[0] = starts[i]
        depth = 1
        while depth > 0:
            depth -= 1
            each = stack[depth]
            for edge in range(first[each], first[each + 1]):
                upper = above[edge]
                if visited[upper] == walk:
                    continue
                visited[upper] = walk
                stack[depth] = upper
                depth += 1
                if count < len(reached):
                    reached[count] = upper
                    by[count] = walk
                count += 1
    return count


@kernel
def consolidate(
    order: np.ndarray,
    facts: np.ndarray,
    iterations: np.ndarray,
    multiplicities: np.ndarray,
    to_facts: np.ndarray,
    to_iterations: np.ndarray,
    to_multiplicities: np.ndarray,
) -> int:
    """Sum rows by fact and iteration, without zeros; int64 all of them.

    Args:
        order: The order of the rows by fact, which becomes that by iteration, too.
        facts: The facts of the rows.
        iterations: Their iterations.
        multiplicities: Their multiplicities.
        to_facts: Gets the facts of the sums.
        to_iterations: Gets their iterations.
        to_multiplicities: Gets the sums.

    Returns:
        The number of sums.
    """
    count = 0
    start = 0
    while start < len(order):
        fact = facts[order[start]]
        end = start + 1
        while end < len(order) and facts[order[end]] == fact:
            row = order[end]  # most facts have one row, and most others have them in order
            at = end
            while at > start and iterations[order[at - 1]] > iterations[row]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = row
            end += 1
        while start < end:
            iteration = iterations[order[start]]
            total = 0
            while start < end and iterations[order[start]] == iteration:
                total += multiplicities[order[start]]
                start += 1
            if total != 0:
                to_facts[count] = fact
                to_iterations[count] = iteration
                to_multiplicities[count] = total
                count += 1
    return count


@kernel
def presence(
    facts: np.ndarray,
    iterations: np.ndarray,
    multiplicities: np.ndarray,
    found: np.ndarray,
    since: np.ndarray,
    asserted: np.ndarray,
    total: np.ndarray,
) -> int:
    """Tell what rows that `consolidate` has made say of their facts; int64 all of them.

    Args:
        facts: The facts of the rows.
        iterations: Their iterations.
        multiplicities: Their multiplicities.
        found: Gets the distinct facts.
        since: Gets the iteration since which each is present, or -1.
        asserted: Gets its multiplicity at iteration 0.
        total: Gets the sum of all its multiplicities.

    Returns:
        The number of distinct facts.
    """
    count = 0
    for row in range(len(facts)):
        if row == 0 or facts[row] != facts[row - 1]:
            found[count] = facts[row]
            since[count] = -1
            asserted[count] = multiplicities[row] if iterations[row] == 0 else 0
            total[count] = 0
            count += 1
        total[count - 1] += multiplicities[row]
        if since[count - 1] < 0 and total[count - 1] > 0:
            since[count - 1] = iterations[row]
    return count
