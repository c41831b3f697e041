"""Pairs against the two heads that they stand for."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import FEW, Memory
from unit.backends.columnar.test_derive import TERMS

from streamreasoner.backends.columnar.kernels.joining import pairs
from streamreasoner.backends.columnar.kernels.loading import log
from streamreasoner.backends.columnar.kernels.records import layout, pending
from streamreasoner.backends.columnar.kernels.settling import settle
from streamreasoner.native.compile import kernel

# Whether a pair of facts of d has the same matches in the plan of its rule.
SHARING = {
    "d(?y, min(?l)) :- d(?x, ?l), e(?x, ?y) .": True,
    "d(?y, min(?x)) :- d(?x, _), e(?x, ?y) .": True,
    "d(?y, min(?l)) :- d(_, ?l), e(?l, ?y) .": False,
    "d(?l, min(?x)) :- d(?x, ?l), e(?x, _) .": False,
    "p(?x, ?l) :- d(?x, ?l), e(?x, _) .": False,
}
CELL = st.integers(0, 7)


@kernel
def shares_matches(table, p, fact):
    """Whether a plan shares matches."""
    return pairs.shares_matches(table, p, fact)


@kernel
def is_pair(table, i, stop):
    """Whether a delta and the next one are a pair."""
    return pairs.is_pair(table, i, stop)


def opened(facts):
    """A memory with asserted facts of d, and one of e, whose stratum is entered and logged."""
    memory = Memory("\n".join(SHARING))
    for term in TERMS:
        memory.program.terms.id(term)
    for fact in facts:
        assert memory.add(("d", fact), 0, 1) == layout.OK
    memory.settle(0)
    settle.enter(memory.table, 1)
    assert log.begin(memory.table, memory.state.tables.logged[1])
    return memory


def driven(memory):
    """Text of each rule -> offset of the row of the plan that a fact of d drives."""
    column = memory.plans
    plan = memory.program.plan
    numbers = (d for stratum in plan.strata for rule in stratum.rules for d in rule.plans)
    sources = [rule.source for s in plan.strata for rule in s.rules for _ in rule.plans]
    texts = list(SHARING)
    found = {}
    for number, (delta, source) in enumerate(zip(numbers, sources, strict=True)):
        if delta.delta.pattern.predicate == "d":
            found[texts[source]] = number * column.shape[1]
    return found


def test_plans_that_do_not_read_the_value_share_matches():
    """Those that look up by it, or have it as the key of their head, do not."""
    memory = opened([(1, 2)])
    fact = memory.find(("d", (1, 2)))
    found = {
        text: bool(shares_matches(memory.table, p, fact)) for text, p in driven(memory).items()
    }
    assert found == SHARING


@FEW
@given(
    first=st.tuples(CELL, CELL), second=st.tuples(CELL, CELL), signs=st.tuples(*[st.booleans()] * 2)
)
def test_a_pair_differs_in_its_value_only(first, second, signs):
    """The first delta is the winner, the second the one that it replaces."""
    memory = opened([first, second])
    facts = [memory.find(("d", each)) for each in (first, second)]
    changes = [1 if sign else -1 for sign in signs]
    deltas = memory.reserved(layout.DELTAS)
    for i, (fact, change) in enumerate(zip(facts, changes, strict=True)):
        deltas[i] = fact
        header = memory.header(fact) & ~layout.DELTA_BITS
        header |= (change + layout.DELTA_ZERO) << layout.DELTA_SHIFT
        memory.words[2 * fact + layout.HEADER] = header
    if first != second:
        expected = first[0] == second[0] and changes == [1, -1]
        assert bool(is_pair(memory.table, 0, 2)) == expected
    assert not is_pair(memory.table, 0, 1)


@FEW
@given(
    key=CELL,
    values=st.tuples(CELL, CELL),
    target=CELL,
    multiplicity=st.sampled_from((1, 2, -1, -3, 200)),
    takes_value=st.booleans(),
)
def test_a_row_is_both_heads(key, values, target, multiplicity, takes_value):
    """What it adds to the head of the winner it subtracts from that of the other, if they differ.

    A multiplicity that the log does not take is added to both, too.
    """
    memory = opened([(key, value) for value in {*values}])
    text = list(SHARING)[0 if takes_value else 1]
    heads = [(target, value if takes_value else key) for value in values]
    scratch = memory.state.column(layout.SCRATCH)
    scratch[layout.CELLS_OUT : layout.CELLS_OUT + 2] = heads[0]
    lost = np.int64(memory.find(("d", (key, values[1]))))
    before = Counter(sums(memory))
    status = pairs.push_pair(memory.table, driven(memory)[text], lost, 1, multiplicity)
    assert status == layout.OK
    assert pending.flush(memory.table) == layout.OK
    assert log.make_room(memory.table) == layout.OK
    after = Counter(sums(memory))
    after.subtract(before)
    expected = Counter()
    expected[heads[0]] += multiplicity
    expected[heads[1]] -= multiplicity
    assert {k: v for k, v in after.items() if v} == {k: v for k, v in expected.items() if v}


def sums(memory):
    """Arguments of d -> sum of its multiplicities."""
    numbers = memory.numbers("multiplicity")
    return {args: sum(each.values()) for (name, args), each in numbers.items() if name == "d"}
