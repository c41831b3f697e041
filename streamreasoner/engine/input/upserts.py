"""Sources with keys. Invariant: of each key, a source asserts the facts of its latest value.

A message of such a source replaces all that its key had asserted before, in every predicate; one
without facts leaves nothing of it. What each key asserts is state like any other: a hidden
predicate for each source and predicate, whose facts are the key before the fact and have
multiplicity 1. Two keys that assert a fact assert it twice.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.updates import Updates
from streamreasoner.facts import distinct
from streamreasoner.plan.program_plan import asserted_predicate, has_key, keys_of, latest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from streamreasoner.engine.ports import Backend


def replace_by_key(
    updates: Iterable[Updates], known: Mapping[str, int], backend: Backend
) -> Iterator[Updates]:
    """What messages of sources with keys change, and all other updates as they are.

    Args:
        updates: Input of one epoch. For each message of such a source it has a row of the source's
            `keys_of`, its key, and for each fact of it a row of `latest_of`.
        known: The predicates that the state may have facts of.
        backend: Its state is that before the epoch.
    """
    of_sources: dict[str, dict[str, list[Updates]]] = defaultdict(lambda: defaultdict(list))
    for each in updates:
        if has_key(each.predicate):
            of_sources[each.source][each.predicate].append(each)
        else:
            yield each
    for source, parts in of_sources.items():
        keys, latest = _latest(parts.pop(keys_of(source)))
        prefix = latest_of(source, "")
        held = {name for name in known if name.startswith(prefix)}
        for name in sorted(held.union(parts)):
            before = backend.members(name, keys) if name in held else None
            yield from _replaced(name, before, parts.get(name, ()), keys, latest)


def _latest(messages: Iterable[Updates]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The keys of messages, ascending, and the place of the last message of each."""
    args, orders = zip(*((each.args[:, 0], each.order) for each in messages), strict=True)
    keys, places = np.unique(np.concatenate(args), return_inverse=True)
    latest = np.full(len(keys), np.iinfo(np.int64).min)
    np.maximum.at(latest, places, np.concatenate(orders))
    return keys, latest


def _replaced(
    name: str,
    before: NDArray[np.int32] | None,
    parts: Iterable[Updates],
    keys: NDArray[np.int32],
    latest: NDArray[np.int64],
) -> Iterator[Updates]:
    """The changes of one hidden predicate, and of the predicate of its facts."""
    wanted = []
    for part in parts:
        assert part.order is not None  # noqa: S101 - updates of a source have one
        # Parts of a message stand behind its own place, and before that of the next one.
        wanted.append(part.args[part.order >= latest[np.searchsorted(keys, part.args[:, 0])]])
    after = [distinct(np.concatenate(wanted))[0]] if wanted else []
    held = [] if before is None else [before]
    if not held and not after:
        return
    facts, places = distinct(np.concatenate([*held, *after]))
    difference = np.zeros(len(facts), np.int64)
    split = sum(map(len, held))
    difference[places[:split]] -= 1
    difference[places[split:]] += 1
    rows = np.flatnonzero(difference)
    if len(rows):
        yield Updates(name, facts[rows], difference[rows])
        yield Updates(asserted_predicate(name), facts[rows][:, 1:], difference[rows])
