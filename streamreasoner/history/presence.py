"""Presence from the rows of a trace. Invariant: it is the presence that the engine computes.

A fact is a candidate if its multiplicities sum to more than 0. It is present, unless it belongs to
a lattice and another candidate of its group is better, by the total order of terms
(docs/semantics.md, "The best of a group"). No rule is evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.facts import having, ids_of, ranks
from streamreasoner.state.consolidate import consolidate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from streamreasoner.facts import Terms
    from streamreasoner.plan.program_plan import Lattice


def present(
    args: NDArray[np.int32],
    multiplicity: NDArray[np.int64],
    lattices: Iterable[Lattice],
    terms: Terms,
) -> NDArray[np.int32]:
    """The present facts of a predicate, int32 of shape (n, arity), in no particular order.

    Args:
        args: Arguments of rows of its trace, int32 of shape (rows, arity).
        multiplicity: Their multiplicities, int64 of shape (rows,).
        lattices: The lattices of the predicate in the program in effect.
        terms: The terms of the ids.
    """
    return winners(candidates(args, multiplicity), lattices, terms)


def candidates(args: NDArray[np.int32], multiplicity: NDArray[np.int64]) -> NDArray[np.int32]:
    """The facts whose multiplicities sum to more than 0, int32 of shape (n, arity)."""
    if not len(args):
        return args
    # A fact without arguments has no key, so all get the same one.
    keys, sums = consolidate([*args.T, np.zeros(len(args), np.int32)], multiplicity)
    found = np.stack(keys, axis=1)[sums > 0, :-1]
    return found.astype(np.int32)


def winners(
    args: NDArray[np.int32], lattices: Iterable[Lattice], terms: Terms
) -> NDArray[np.int32]:
    """The candidates of a predicate without those that another one of their group beats."""
    for lattice in lattices:
        member = having(args, ids_of(lattice.pattern.constants, terms.find))
        args = np.concatenate([args[~member], _best(args[member], lattice, terms)])
    return args


def places(args: NDArray[np.int32], lattice: Lattice, terms: Terms) -> NDArray[np.int64]:
    """The places of candidates of a lattice; the least of a group is its best."""
    value = ranks(args[:, lattice.position], terms)
    return value if lattice.function == "min" else -value


def _best(args: NDArray[np.int32], lattice: Lattice, terms: Terms) -> NDArray[np.int32]:
    """The best candidate of each group of a lattice."""
    if not len(args):
        return args
    order = np.lexsort((places(args, lattice, terms), *args[:, lattice.key].T))
    ordered = args[order]
    key = ordered[:, lattice.key]
    first = np.ones(len(ordered), np.bool_)
    first[1:] = (key[1:] != key[:-1]).any(axis=1)
    return ordered[first]
