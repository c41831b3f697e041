"""Facts with their iterations, from the rows of a trace, for explanations.

Invariant: a fact has the iterations that the engine stores; they are computed from its
multiplicities, and from those of its competitors if it belongs to a lattice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from streamreasoner.engine.ports import LAST_ITERATION, Selection
from streamreasoner.facts import having, ids_of
from streamreasoner.history.presence import places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from streamreasoner.facts import Terms
    from streamreasoner.plan.program_plan import Lattice, ProgramPlan


class Trace(NamedTuple):
    """Rows of a predicate's trace, in ascending order of arguments and iteration.

    Attributes:
        args: int32 of shape (rows, arity).
        iteration: int32 of shape (rows,).
        multiplicity: int64 of shape (rows,), never 0; a fact has one row for an iteration.
    """

    args: NDArray[np.int32]
    iteration: NDArray[np.int32]
    multiplicity: NDArray[np.int64]


class _Transitions(NamedTuple):
    """When facts become present (+1) and absent (-1), by number of the fact."""

    fact: NDArray[np.int64]
    iteration: NDArray[np.int64]
    sign: NDArray[np.int64]


def selection(
    predicate: str, trace: Trace, plan: ProgramPlan, terms: Terms, iteration: int = LAST_ITERATION
) -> Selection:
    """The facts of a predicate that a trace holds, as of an iteration of their strata.

    Args:
        predicate: The predicate.
        trace: Rows of facts, with all rows of all facts that compete with them.
        plan: The program in effect.
        terms: The terms of the ids.
        iteration: The iteration.
    """
    first = np.ones(len(trace.iteration), np.bool_)
    first[1:] = (trace.args[1:] != trace.args[:-1]).any(axis=1)
    starts = np.flatnonzero(first)
    args, fact = trace.args[starts], np.cumsum(first) - 1
    running = np.cumsum(trace.multiplicity)
    before = running[starts] - trace.multiplicity[starts]
    enough = running - before[fact] > 0
    lattice = np.full(len(args), -1)
    lattices = [each for each in plan.lattices if each.pattern.predicate == predicate]
    for number, each in enumerate(lattices):
        lattice[having(args, ids_of(each.pattern.constants, terms.find))] = number
    plain = _plain(trace, enough, first, fact, lattice)
    won = [
        _competition(trace, enough, fact, args, np.flatnonzero(lattice == number), each, terms)
        for number, each in enumerate(lattices)
    ]
    moments = _Transitions(*map(np.concatenate, zip(plain, *won, strict=True)))
    since, until = _times(moments, len(args), iteration)
    stratum = np.zeros(len(args), np.int32)
    for number, each_stratum in enumerate(plan.strata, start=1):
        for head in each_stratum.heads:
            if head.predicate == predicate:
                stratum[having(args, ids_of(head.constants, terms.find))] = number
    totals = np.zeros(len(args), np.int64)
    np.add.at(totals, fact, trace.multiplicity)
    asserted = np.zeros(len(args), np.int64)
    at_zero = trace.iteration == 0
    asserted[fact[at_zero]] = trace.multiplicity[at_zero]
    return Selection(args, stratum, since, until, asserted, totals)


def _plain(
    trace: Trace,
    enough: NDArray[np.bool_],
    first: NDArray[np.bool_],
    fact: NDArray[np.int64],
    lattice: NDArray[np.int64],
) -> _Transitions:
    """The transitions of facts that belong to no lattice."""
    earlier = np.zeros_like(enough)
    earlier[1:] = enough[:-1]
    earlier[first] = False
    sign = enough.astype(np.int64) - earlier
    rows = np.flatnonzero((sign != 0) & (lattice[fact] < 0))
    return _Transitions(fact[rows], trace.iteration[rows].astype(np.int64), sign[rows])


def _competition(  # noqa: PLR0917 - columns of one table
    trace: Trace,
    enough: NDArray[np.bool_],
    fact: NDArray[np.int64],
    args: NDArray[np.int32],
    members: NDArray[np.int64],
    lattice: Lattice,
    terms: Terms,
) -> _Transitions:
    """The transitions of the facts of a lattice: the best candidate of a group is present."""
    place = np.full(len(args), -1)
    place[members] = places(args[members], lattice, terms)
    _, group = np.unique(args[members][:, lattice.key], axis=0, return_inverse=True)
    groups = np.full(len(args), -1)
    groups[members] = group.ravel()
    rows = np.flatnonzero(groups[fact] >= 0)
    rows = rows[np.lexsort((trace.iteration[rows], groups[fact[rows]]))]
    columns = (groups[fact[rows]], trace.iteration[rows], fact[rows], enough[rows])
    found = list(_winners(zip(*(column.tolist() for column in columns), strict=True), place))
    return _Transitions(*np.array(found, np.int64).reshape(-1, 3).T)


def _winners(
    rows: Iterable[tuple[int, int, int, bool]], place: NDArray[np.int64]
) -> Iterator[tuple[int, int, int]]:
    """When the winner of a group changes, from rows of group, iteration, fact, and candidacy."""
    candidates: set[int] = set()
    winner: int | None = None
    moment: tuple[int, int] | None = None

    def settled(at: int) -> Iterator[tuple[int, int, int]]:
        best = min(candidates, key=place.__getitem__, default=None)
        if best != winner:
            yield from () if winner is None else ((winner, at, -1),)
            yield from () if best is None else ((best, at, 1),)

    for group, iteration, fact, is_candidate in rows:
        if moment is not None and moment != (group, iteration):
            yield from settled(moment[1])
            winner = min(candidates, key=place.__getitem__, default=None)
            if moment[0] != group:
                candidates.clear()
                winner = None
        moment = group, iteration
        (candidates.add if is_candidate else candidates.discard)(fact)
    if moment is not None:
        yield from settled(moment[1])


def _times(
    moments: _Transitions, facts: int, iteration: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Since when each fact is present at an iteration, and until when; -1 for neither."""
    upto = moments.iteration <= iteration
    present = np.zeros(facts, np.int64)
    np.add.at(present, moments.fact[upto], moments.sign[upto])
    since = np.full(facts, -1, np.int64)
    came = upto & (moments.sign > 0)
    np.maximum.at(since, moments.fact[came], moments.iteration[came])
    until = np.full(facts, LAST_ITERATION, np.int64)
    goes = ~upto & (moments.sign < 0)
    np.minimum.at(until, moments.fact[goes], moments.iteration[goes])
    until[until == LAST_ITERATION] = -1
    since[present == 0] = until[present == 0] = -1
    return since.astype(np.int32), until.astype(np.int32)
