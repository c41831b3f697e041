"""Groups of facts against lists by key, after each fact that enters or leaves one."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import DENSE, FEW, REGIMES, SPARSE, Memory

from streamreasoner.backends.columnar.kernels.records import arrangement, layout
from streamreasoner.plan.algebra import Arrangement

# Joined by one argument, through an array by id; or by several, through the table of groups.
JOINED = {
    DENSE: "p(?x, ?z) :- e(?x, ?y), e(?y, ?z) .",
    SPARSE: "p(?a, ?f) :- e(?a, ?b, ?c, _), e(_, ?b, ?c, ?f), f(?a, ?b, ?f) .",
}
LATTICES = {
    DENSE: "e(?x, min(?v)) :- f(?x, ?v) .",
    SPARSE: "e(?a, ?b, ?c, max(?v)) :- f(?a, ?b, ?c, ?v) .",
}
# By the second argument, and where that is a constant, by another one, nested in those groups.
NESTED = """
    p(?x) :- f(?y), e(?x, ?y, _) .
    p(?x) :- f(?y), e(?x, 1, ?y) .
    p(?x) :- f(?y), e(?y, 2, ?x) .
    p(?x) :- f(?y), e(?x, 2, ?y) .
    p(?x) :- e(?x, 1, 3) .
"""
CHOICES = st.lists(st.integers(0, 13), max_size=40)


class Groups:
    """Lists of facts by grouping and key, the latest first."""

    def __init__(self, memory):
        self.memory = memory
        self.lists = defaultdict(list)

    def keys(self, each):
        """The (grouping, key) pairs of a fact."""
        predicate, args = each
        return [
            (number, tuple(args[position] for position in grouping.key))
            for number, grouping in self.memory.groupings(predicate).items()
        ]

    def turn(self, each, *, enters):
        """A fact enters all its groups, or leaves them."""
        for place in self.keys(each):
            if enters:
                self.lists[place].insert(0, each)
            else:
                self.lists[place].remove(each)

    def check(self):
        """Memory holds these lists, and no record of an empty group; joins read their indexes."""
        filled = self.memory.state.column(layout.FILLED)
        joined = {
            n for a, n in self.memory.numbering.groupings.items() if isinstance(a, Arrangement)
        }
        joined &= set(self.memory.state.tables.indexed)
        for (number, key), expected in self.lists.items():
            assert filled[number] or not expected or number not in joined
            assert self.memory.members(number, key) == expected
            assert (self.memory.first(number, key)[1] == 0) or expected
        indexed = self.memory.state.tables.indexed
        hashed = [1 for (number, _), each in self.lists.items() if each and number not in indexed]
        assert len(self.memory.groups()) == len(hashed)
        self.memory.assert_no_unit_is_lost()


def turned(groups, pool, inside, choices, kernels):
    """Chosen facts, each after it entered its groups, or left them if it was `inside`."""
    enter, leave = kernels
    table, records = groups.memory.table, groups.memory.records()
    for choice in choices:
        each = pool[choice % len(pool)]
        address = records[each].address
        if each in inside:
            leave(table, address)
        else:
            assert enter(table, address) == layout.OK
        inside ^= {each}
        groups.turn(each, enters=each in inside)
        groups.check()
        yield each, address


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data(), choices=CHOICES)
def test_facts_enter_and_leave_all_their_groups(regime, data, choices):
    """`arrange` prepends a fact to each of its groups, and `withdraw` removes it again."""
    memory = Memory(JOINED[regime])
    groups = Groups(memory)
    assert memory.groupings("e")
    pool = data.draw(regime.facts())
    arranged = set()
    for each in pool:
        memory.add(each, 0, 1)
    kernels = arrangement.arrange, arrangement.withdraw
    for _ in turned(groups, pool, arranged, choices, kernels):
        for other, record in memory.records().items():
            assert bool(record.flags & layout.ARRANGED) == (other in arranged)


@FEW
@given(st.lists(st.tuples(*[st.integers(1, 4)] * 3), min_size=1, unique=True), CHOICES)
def test_nested_groups_are_stretches_of_the_one_around_them(pool, choices):
    """Each has the facts that match, the latest first, one after the other in the group around."""
    memory = Memory(NESTED)
    intern = memory.backend._dictionary.intern  # noqa: SLF001 - constants have ids
    nested = set(memory.nested())
    (outer,) = (n for n, each in memory.groupings("e").items() if not each.constants)
    assert len(nested) == 2 < len(memory.groupings("e")) - 1
    arranged = []
    for args in pool:
        memory.add(("e", args), 0, 1)
    for choice in choices:
        args = pool[choice % len(pool)]
        address = memory.find(("e", args))
        if args in arranged:
            arrangement.withdraw(memory.table, address)
            arranged.remove(args)
        else:
            assert arrangement.arrange(memory.table, address) == layout.OK
            arranged.insert(0, args)
        for number, grouping in memory.groupings("e").items():
            for key in range(1, 5):
                wanted = {(*grouping.key, key), *((p, intern(t)) for p, t in grouping.constants)}
                found = [args for _, args in memory.members(number, (key,))]
                expected = [args for args in arranged if wanted <= set(enumerate(args))]
                if number == outer:
                    assert sorted(found) == sorted(expected)
                else:
                    assert found == expected
                if number in nested and expected:
                    around = [args for _, args in memory.members(outer, (expected[0][1],))]
                    first = around.index(expected[0])
                    assert around[first : first + len(expected)] == expected
    memory.assert_no_unit_is_lost()


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data(), choices=CHOICES)
def test_candidates_enter_and_leave_the_group_of_their_lattice(regime, data, choices):
    """A new fact is a candidate; `delist` removes it, and with the last one the group's record."""
    memory = Memory(LATTICES[regime])
    groups = Groups(memory)
    ((number, _),) = memory.groupings("e").items()
    pool = data.draw(regime.facts())
    listed = set(pool)
    for each in pool:
        memory.add(each, 0, 1)
        groups.turn(each, enters=True)
        groups.check()
    kernels = arrangement.enlist, arrangement.delist
    for each, address in turned(groups, pool, listed, choices, kernels):
        (place,) = groups.keys(each)
        assert arrangement.group_of(memory.table, number, address) == memory.first(*place)[1]
        for other, record in memory.records().items():
            assert bool(record.flags & layout.UNLISTED) == (other not in listed)


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data())
def test_a_full_arena_leaves_a_fact_in_no_group(regime, data):
    """`arrange` of a fact whose groups do not all fit changes no list."""
    memory = Memory(JOINED[regime])
    groups = Groups(memory)
    pool = data.draw(regime.facts())
    for each in pool:
        memory.add(each, 0, 1)
    for each in pool:
        memory.scalars[layout.CAPACITY] = memory.scalars[layout.TOP] + data.draw(st.integers(0, 6))
        address = memory.records()[each].address
        status = arrangement.arrange(memory.table, address)
        if status == layout.OK:
            groups.turn(each, enters=True)
        else:
            assert status == layout.FULL
            assert not memory.records()[each].flags & layout.ARRANGED
        for (number, key), expected in groups.lists.items():
            assert memory.members(number, key) == expected


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data())
def test_find_is_a_lookup(regime, data):
    """`find` returns the record of a fact, and 0 for one that is not in the state."""
    memory = Memory(JOINED[regime])
    pool, others = data.draw(regime.facts()), data.draw(regime.facts())
    for each in pool:
        memory.add(each, 0, 1)
    records = memory.records()

    assert records.keys() == set(pool)
    for each in (*pool, *others):
        expected = records[each].address if each in records else 0
        assert memory.find(each) == expected
