"""Sources whose facts are sets. Invariant: of a fact, a source has asserted one or none.

An assertion of what the source has asserted, and a retraction of what it has not, change nothing,
so a producer may deliver its updates more than once. What a source has asserted is state like any
other: a hidden predicate for each source and predicate, whose facts have multiplicity 1. Sources
do not know each other: what two of them assert is asserted twice.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.updates import Updates
from streamreasoner.facts import distinct
from streamreasoner.plan.program_plan import asserted_by

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from streamreasoner.engine.ports import Backend


def edit_sets(
    updates: Iterable[Updates], known: Container[str], backend: Backend
) -> Iterator[Updates]:
    """What updates of sources change, and all other updates as they are.

    Args:
        updates: Input of one epoch; of a source, the last update of a fact decides.
        known: The predicates that the state may have facts of.
        backend: Its state is that before the epoch.
    """
    of_sources: dict[tuple[str, str], list[Updates]] = defaultdict(list)
    for each in updates:
        if each.source:
            of_sources[each.source, each.predicate].append(each)
        else:
            yield each
    for (source, predicate), parts in of_sources.items():
        yield from _edited(source, predicate, parts, known, backend)


def _edited(
    source: str,
    predicate: str,
    parts: Sequence[Updates],
    known: Container[str],
    backend: Backend,
) -> Iterator[Updates]:
    facts, places = distinct(np.concatenate([part.args for part in parts]))
    order = np.concatenate([part.order for part in parts if part.order is not None])
    is_asserted = np.concatenate([part.multiplicity > 0 for part in parts])
    # Of updates at the same place the later ones stand behind.
    ascending = np.argsort(order, kind="stable")
    wanted = np.zeros(len(facts), np.int64)
    wanted[places[ascending]] = is_asserted[ascending]
    hidden = asserted_by(source, predicate)
    difference = wanted - backend.asserted(hidden, facts) if hidden in known else wanted
    rows = np.flatnonzero(difference)
    for name in (predicate, hidden):
        yield Updates(name, facts[rows], difference[rows])
