"""Classes of facts against the queries that they answer, fact by fact."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import FEW

from streamreasoner.backends.columnar.compiler.classes import Classes, ClassQueries
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.slots import mix
from streamreasoner.plan.operands import Pattern
from streamreasoner.plan.program_plan import Lattice

ARITIES = {"e": 3, "f": 2, "none": 0}
IDS = {"dense": (0, 1, 7), "sparse": (3, 70_000, 10**6)}
STRATA = 4


def facts(predicate, ids):
    """Facts of few ids."""
    return st.tuples(*[st.sampled_from((*ids, 5))] * ARITIES[predicate]).map(
        lambda args: (predicate, args)
    )


def patterns(ids):
    """(predicate, constants) pairs."""
    cells = st.tuples(*[st.sampled_from((None, None, *ids))] * 3)
    return st.tuples(st.sampled_from(sorted(ARITIES)), cells).map(
        lambda pair: (
            pair[0],
            tuple(
                (position, cell)
                for position, cell in enumerate(pair[1][: ARITIES[pair[0]]])
                if cell is not None
            ),
        )
    )


@st.composite
def queries(draw, ids):
    """Queries of a program: strata and lattices are of whole predicates, as one fact has one."""
    some = st.lists(patterns(ids), max_size=4)
    return ClassQueries(
        arities=ARITIES,
        relations={predicate: number for number, predicate in enumerate(ARITIES)},
        heads=[(*each, 1 + len(each[0]) % 2) for each in draw(some)],
        old_heads=[(*each, 2) for each in draw(some)],
        arranged=[(*each, number) for number, each in enumerate(draw(some))],
        nested={},
        lattices=[("f", (), (4, Lattice(Pattern("f", (None, None)), 1, "max")))],
        driven=[
            (*each, (at % STRATA, at, draw(st.integers(0, 2))))
            for at, each in enumerate(draw(some))
        ],
        counted=[(*each, (at % STRATA, at, at - 1)) for at, each in enumerate(draw(some))],
        copied=[(*each, (at % 2, at - 1)) for at, each in enumerate(draw(some))],
        distinguished=[(*each, None) for each in draw(some)],
        reductions={"e": 3},
        hidden=frozenset({"f", "none"}),
        copies=frozenset({"none"}),
        strata=STRATA,
        groupings=5,
    )


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@FEW
@given(data=st.data())
def test_a_class_says_what_all_queries_say_of_its_facts(ids, data):
    """Stratum, arrangements, plans, lattice and reduction follow from the constants of a fact."""
    asked = data.draw(queries(ids))
    classes, slots = Classes(asked), None
    slots = classes.trie_slots()
    for fact in data.draw(
        st.lists(st.sampled_from(sorted(ARITIES)).flatmap(lambda p: facts(p, ids)), max_size=9)
    ):
        number = found(classes, slots, fact)
        row = classes.rows[number]
        members = [value for *query, value in asked.arranged if matches(fact, query)]

        assert row[layout.CLASS_RELATION] == asked.relations[fact[0]]
        assert row[layout.CLASS_ARITY] == ARITIES[fact[0]]
        assert row[layout.CLASS_STRATUM] == the_one(fact, asked.heads)
        assert row[layout.CLASS_OLD_STRATUM] == the_one(fact, asked.old_heads)
        assert classes.links(row) == [(member, -1) for member in members]
        assert (row[layout.CLASS_LATTICE] > 0) == (fact[0] == "f")
        assert row[layout.CLASS_REDUCTION] == asked.reductions.get(fact[0], 0)
        assert row[layout.CLASS_HIDDEN] == visibility(fact[0], asked)
        assert copied(classes, row) == list(
            dict.fromkeys(value for *query, value in asked.copied if matches(fact, query))
        )
        readers = [where for *query, (where, *_) in asked.driven if matches(fact, query)]
        assert row[layout.CLASS_LAST_READER] == max(readers, default=0)
        assert dispatched(classes, number) == {
            stratum: [
                plan
                for *query, (where, plan, _) in asked.driven
                if where == stratum and matches(fact, query)
            ]
            for stratum in range(STRATA)
        }
        assert counted(classes, number) == {
            stratum: [
                each
                for *query, (where, *each) in asked.counted
                if where == stratum and matches(fact, query)
            ]
            for stratum in range(STRATA)
        }
        for stratum in range(STRATA):
            keys = Counter(
                key
                for *query, (where, _, key) in asked.driven
                if key and where == stratum and matches(fact, query)
            )
            key = row_of(classes, number, stratum)[layout.DISPATCH_KEY]
            assert keys[key] == max(keys.values(), default=0)


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@FEW
@given(data=st.data())
def test_facts_share_a_class_unless_a_query_tells_them_apart(ids, data):
    """The classes that match a query are those of the facts that match it."""
    asked = data.draw(queries(ids))
    rows = (
        *(*asked.heads, *asked.old_heads, *asked.arranged),
        *(*asked.driven, *asked.counted, *asked.copied, *asked.distinguished),
    )
    everything = [(predicate, constants) for predicate, constants, _ in rows]
    classes = Classes(asked)
    slots, kinds = classes.trie_slots(), {}
    for fact in data.draw(st.lists(facts("e", ids), max_size=9)):
        number = found(classes, slots, fact)
        satisfied = frozenset(query for query in everything if matches(fact, query))

        assert kinds.setdefault(number, satisfied) == satisfied
        assert {query for query in everything if number in classes.matching(*query)} == satisfied
    assert len(set(kinds.values())) == len(kinds)


@FEW
@given(queries(IDS["dense"]))
def test_links_have_words_of_their_own(asked):
    """The pairs of links of a record follow its arguments, a lattice's first, within its units."""
    classes = Classes(asked)
    for row, offsets in zip(classes.rows, classes.link_offsets(), strict=True):
        used = [offset for offset in offsets if offset >= 0]
        words = [word for offset in used for word in (offset, offset + 1)]
        first = layout.CELLS + row[layout.CLASS_ARITY]

        assert len(offsets) == asked.groupings
        assert not row[layout.CLASS_LATTICE] or offsets[row[layout.CLASS_LATTICE] - 1] == first
        assert sorted(words) == list(range(first, first + 2 * len(used)))
        assert first + 2 * len(used) <= 2 * row[layout.CLASS_UNITS] <= first + 2 * len(used) + 1
        assert {at for at, offset in enumerate(offsets) if offset >= 0} == {
            *(arrangement for arrangement, _ in classes.links(row)),
            *([row[layout.CLASS_LATTICE] - 1] if row[layout.CLASS_LATTICE] else []),
        }


def found(classes, slots, fact):
    """The class that the tries lead to, as kernels follow them."""
    predicate, args = fact
    node = classes.roots[predicate]
    while classes.nodes[node][0] >= 0:
        position, default = classes.nodes[node]
        key = (node << 32) | args[position]
        mask = len(slots) // 2 - 1
        at = mix(0, key) & mask
        while slots[2 * at + 1] >= 0 and slots[2 * at] != key:
            at = (at + 1) & mask
        node = int(slots[2 * at + 1]) if slots[2 * at + 1] >= 0 else default
    return classes.nodes[node][1]


def matches(fact, query):
    """Whether a fact has the predicate and the constants of a query."""
    predicate, constants = query
    return fact[0] == predicate and all(fact[1][at] == value for at, value in constants)


def the_one(fact, rows):
    """The value that the matching queries agree on; 0 if none matches."""
    values = {value for *query, value in rows if matches(fact, query)} or {0}
    (value,) = values
    return value


def dispatched(classes, number):
    """By stratum, the plans that facts of a class drive."""
    rows = [row_of(classes, number, at) for at in range(STRATA)]
    return {
        at: classes.dispatched[first : first + count] for at, (first, count, *_) in enumerate(rows)
    }


def counted(classes, number):
    """By stratum, the counters of facts of a class, each with the position of its key."""
    rows = np.reshape(classes.counted, (-1, layout.COUNTED_WIDTH)).tolist()
    row = classes.rows[number]
    first, count = row[layout.CLASS_COUNTED], row[layout.CLASS_COUNTED_COUNT]
    of_class = {
        at: [each[:2] for each in rows[first : first + count] if each[2] == at]
        for at in range(STRATA)
    }
    for at, expected in of_class.items():
        *_, start, size = row_of(classes, number, at)
        assert [each[:2] for each in rows[start : start + size]] == expected
    return of_class


def visibility(predicate, asked):
    """Whether facts of a predicate are hidden, and whether they are copies."""
    if predicate in asked.copies:
        return layout.COPY
    return layout.HIDDEN if predicate in asked.hidden else 0


def copied(classes, row):
    """The copies of the facts of a class, as (relation, position)."""
    rows = np.reshape(classes.copied, (-1, layout.COPY_WIDTH)).tolist()
    first = row[layout.CLASS_COPIES]
    return [tuple(each) for each in rows[first : first + row[layout.CLASS_COPY_COUNT]]]


def row_of(classes, number, stratum):
    """What `layout.DISPATCH` has of a class in a stratum."""
    driven, starts = classes.driven()
    rows = driven.reshape(-1, layout.DRIVEN_WIDTH)[starts[stratum] : starts[stratum + 1]]
    found = {kind: row for kind, *row in rows.tolist()}
    assert len(starts) == STRATA + 1
    assert list(found) == sorted(found)
    return found.get(number, [0] * layout.DISPATCH_WIDTH)
