"""Blocks of deltas against lists of them by class and key."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import FEW, Memory

from streamreasoner.backends.columnar.kernels.joining import blocks, derive
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.layout import LOW
from streamreasoner.backends.columnar.kernels.settling import settle

# Blocks of `e`, which has two classes, agree on the second argument; `f` and `g` form none.
RULES = """
p(?x, ?z) :- e(?x, ?y), f(?y, ?w), g(?w, ?y, ?z) .
p(?x, ?x) :- e(1, ?x) .
"""
STRATUM = 1


def settled(facts):
    """A memory whose deltas are these facts, at iteration 0 of the stratum of `p`."""
    memory = Memory(RULES)
    for fact in facts:
        assert memory.add(fact, 0, 1) == layout.OK
    settle.enter(memory.table, 0)
    settle.settle(memory.table, memory.values, 0)
    settle.clear_deltas(memory.table)
    settle.enter(memory.table, STRATUM)
    return memory


def taken(memory, start, stop):
    """The blocks of a range of deltas, as the facts of each, in the order they are applied in."""
    deltas, following = memory.reserved(layout.DELTAS), memory.reserved(layout.BLOCK_NEXT)
    found, done = [], set()
    for number in range(start, stop):
        if number in done:
            continue
        key = key_of(memory.fact(int(deltas[number]) & LOW))
        if key is not None:
            blocks.take_block(memory.table, key)
        block, member = [], number + 1
        while member:
            block.append(member - 1)
            member = int(following[member - 1])
        done.update(block)
        found.append([memory.fact(int(deltas[each]) & LOW) for each in block])
    return found


def key_of(fact):
    """The argument on which the facts of a block agree, if those of its predicate form blocks."""
    predicate, args = fact
    return args[1] if predicate == "e" else None


def grouped(memory, start, stop):
    """The same blocks, by a dict."""
    deltas = memory.reserved(layout.DELTAS)[start:stop].tolist()
    groups, order = {}, []
    for delta in deltas:
        key = key_of(memory.fact(delta & LOW))
        name = (delta >> 32, key) if key is not None else delta
        if name not in groups or len(groups[name]) == blocks.LARGEST:
            groups[name] = []
            order.append(groups[name])
        groups[name].append(memory.fact(delta & LOW))
    return order


E = st.tuples(st.just("e"), st.tuples(st.integers(1, 4), st.integers(1, 4)))
F = st.tuples(st.just("f"), st.tuples(st.integers(1, 4), st.integers(1, 4)))


@FEW
@given(st.lists(E | E | F, unique=True, max_size=24), st.data())
def test_blocks_are_the_deltas_of_a_class_and_key(facts, data):
    """Each delta of a range is in one block, with those of its class and key, in their order."""
    memory = settled(facts)
    count = int(memory.scalars[layout.DELTA_COUNT])
    assert memory.scalars[layout.HAS_BLOCKS] == 1
    cut = data.draw(st.integers(0, count))
    for start, stop in ((0, cut), (cut, count)):
        blocks.link_blocks(memory.table, start, stop)

        assert taken(memory, start, stop) == grouped(memory, start, stop)
        assert not memory.reserved(layout.BLOCK_HEADS)[:8].any()


@FEW
@given(st.lists(E | F, unique=True, max_size=24))
def test_a_failure_leaves_the_index_empty(facts):
    """After `unlink_blocks` no key has a chain."""
    memory = settled(facts)
    count = int(memory.scalars[layout.DELTA_COUNT])
    blocks.link_blocks(memory.table, 0, count)
    blocks.unlink_blocks(memory.table, 0, count)

    assert not memory.reserved(layout.BLOCK_HEADS)[:8].any()


def test_a_large_block_is_cut():
    """More deltas of one key than fit a block make several; all derive."""
    many = 2 * blocks.LARGEST + 3
    facts = [("e", (number, 2)) for number in range(10, 10 + many)]
    facts += [("f", (2, 3)), ("g", (3, 2, 4)), ("g", (3, 2, 5))]
    memory = settled(facts)
    blocks.link_blocks(memory.table, 0, many + 3)
    sizes = [len(block) for block in taken(memory, 0, many + 3) if len(block) > 1]
    assert derive.derive(memory.table, memory.values, 0) == layout.OK
    heads = {args for predicate, args in memory.records() if predicate == "p"}

    assert sorted(sizes) == [3, blocks.LARGEST, blocks.LARGEST]
    assert heads == {(x, z) for x in range(10, 10 + many) for z in (4, 5)}


def test_rows_are_emitted_before_the_buffer_overflows():
    """A buffer has room for its length, at least for the widest row of any plan."""
    buffer = blocks.rows()

    assert buffer[0] == len(buffer)
    assert buffer.dtype == np.int32
    assert blocks.WORDS >= layout.MAX_ARITY + 2
