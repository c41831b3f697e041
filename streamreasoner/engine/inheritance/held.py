"""The classes of hierarchies whose copies are stored: those that rules read, as the facts tell.

Invariant: at the end of an epoch these are the wanted ones. While they are not, rules have read too
few copies, so the epoch is evaluated again with more of them; only then are others dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.analysis.hierarchies.hierarchy import EXCESS, LACK
from streamreasoner.engine.inheritance.rows import among, sought
from streamreasoner.engine.inheritance.sets import distinct
from streamreasoner.engine.updates import Updates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.analysis.hierarchies.hierarchy import Hierarchy
    from streamreasoner.engine.inheritance.edges import View
    from streamreasoner.engine.ports import Backend


def to_hold(
    hierarchies: Sequence[Hierarchy], backend: Backend, intern: Callable[[str], int]
) -> list[Updates]:
    """What to change of the classes that are held, in an epoch that is settled; empty if nothing.

    Args:
        hierarchies: The encoded hierarchies.
        backend: Holds the trace.
        intern: Gives the id of a term.
    """
    if not hierarchies:
        return []
    kinds = {intern(term): sign for term, sign in ((LACK, 1), (EXCESS, -1))}
    ids = np.array([*kinds], np.int32)
    differing = [each for each in hierarchies if len(backend.trace(each.differ, {0: ids}).args)]
    for kind, sign in kinds.items():
        found = [
            changed(each, backend.facts(each.wanted), backend.facts(each.held), sign)
            for each in differing
            if (backend.select(each.differ, {0: kind}).since >= 0).any()
        ]
        if found:
            return found
    return []


def to_release(
    before: Sequence[Hierarchy], after: Sequence[Hierarchy], backend: Backend
) -> Iterator[Updates]:
    """What hierarchies hold that another program does not have, before its first epoch."""
    kept = {each.held for each in after}
    for each in before:
        if each.held not in kept:
            held = backend.facts(each.held)
            yield Updates(each.held, held, np.full(len(held), -1, np.int64))


def held_among(view: View, held: str, classes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Those of some classes that are held.

    Args:
        view: Reads what is stored.
        held: The predicate of the classes that are.
        classes: The classes, distinct.
    """
    if not len(classes):
        return classes
    rows = view(held, {0: sought(classes)})
    return distinct(rows.args[rows.multiplicity > 0, 0])


def changed(
    hierarchy: Hierarchy, wanted: NDArray[np.int32], held: NDArray[np.int32], sign: int
) -> Updates:
    """What is wanted and not held, to be held; with a negative sign, the opposite."""
    one, other = (wanted, held) if sign > 0 else (held, wanted)
    found = one[~among(one, other)]
    return Updates(hierarchy.held, found, np.full(len(found), sign, np.int64))
