"""Copies along a hierarchy, judged by rules that are followed iteration by iteration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.engine.inheritance import climb as climbing
from streamreasoner.engine.inheritance.climb import (
    Ladder,
    Rows,
    climb,
    closure,
    consolidated,
    facts_of,
    presence,
)

_PLACE = st.tuples(st.integers(0, 2), st.integers(0, 4))
_ROWS = st.dictionaries(st.tuples(_PLACE, st.integers(0, 3)), st.integers(1, 3), max_size=8)
_ASSERTED = st.dictionaries(_PLACE, st.integers(-2, 2).filter(bool), max_size=5)
_EDGES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), max_size=8)


def model(rows, edges):
    """The multiplicities of copies by (entity, class) and iteration, found one by one."""
    sums, made, present = {}, {}, set()
    for iteration in range(20):
        for table in (rows, made):
            for (place, when), count in table.items():
                if when == iteration:
                    sums[place] = sums.get(place, 0) + count
        for entity, each in sorted(place for place in sums if sums[place] > 0):
            if (entity, each) in present:
                continue
            present.add((entity, each))
            for below, above, since in edges:
                if below == each:
                    key = (entity, above), max(iteration, since) + 1
                    made[key] = made.get(key, 0) + 1
    return made, present


def as_rows(table):
    """A table of multiplicities as rows."""
    fact = [facts_of(np.array(entity), np.array(each)) for (entity, each), _ in table]
    iteration = [when for _, when in table]
    return Rows(*(np.array(each, np.int64) for each in (fact, iteration, [*table.values()])))


def as_table(rows):
    """Rows as a table of multiplicities."""
    places = zip(rows.entity.tolist(), rows.classes.tolist(), strict=True)
    keys = zip(places, rows.iteration.tolist(), strict=True)
    return dict(zip(keys, rows.multiplicity.tolist(), strict=True))


def as_ladder(edges):
    """Edges of a model as a ladder."""
    columns = np.array(edges, np.int64).reshape(-1, 3).T
    return Ladder.of(columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2])


@pytest.mark.parametrize("many", [climbing.MANY, 0], ids=["each", "alike"])
@given(_ROWS, _ASSERTED, _EDGES)
def test_copies_are_made_as_rules_make_them(many, derived, asserted, edges):
    """With their counts and iterations, through cycles and below zero, each entity or all alike."""
    rows = {place_and_when: count for place_and_when, count in derived.items() if place_and_when[1]}
    rows |= {(place, 0): count for place, count in asserted.items()}
    made, present = model(rows, edges)
    stored, ladder = as_rows(rows), as_ladder(edges)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(climbing, "MANY", many)
        assert as_table(climb(stored, ladder)) == made
        found, copied = closure(stored, ladder, ladder.closed(stored.class_set))
    assert found.tolist() == sorted(int(facts_of(*map(np.array, each))) for each in present)
    assert copied.tolist() == sorted({int(facts_of(*map(np.array, place))) for place, _ in made})


@given(st.lists(st.tuples(_PLACE, st.integers(0, 3), st.integers(-2, 2)), max_size=12))
def test_rows_say_since_when_facts_are_present(parts):
    """The first iteration at which the sum is positive."""
    each = [as_rows({(place, when): count}) for place, when, count in parts]
    sums = {}
    for place, when, count in parts:
        sums.setdefault(place, {})[when] = sums.get(place, {}).get(when, 0) + count
    facts, since, asserted, total = presence(consolidated(each))
    found = zip(facts.tolist(), since.tolist(), asserted.tolist(), total.tolist(), strict=True)
    expected = []
    for place, counts in sums.items():
        if any(counts.values()):
            running = [(when, sum(counts[k] for k in counts if k <= when)) for when in counts]
            first = min((when for when, count in running if count > 0 and counts[when]), default=-1)
            fact = int(facts_of(*map(np.array, place)))
            expected.append((fact, first, counts.get(0, 0), sum(counts.values())))

    assert sorted(found) == sorted(expected)
