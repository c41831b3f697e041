"""Rules whose atoms close a cycle derive what nested loops do, however their deltas are applied."""

from __future__ import annotations

import pytest
from driver import Driver
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import numbers, programs_of
from thorough import THOROUGH

from streamreasoner.backends.columnar import backend, parallel
from streamreasoner.backends.columnar.compiler import intersections
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.program.checked import check_text

RULES = (
    "t(?x, ?z) :- e(?x, ?y), e(?y, ?z), e(?x, ?z) .",
    "t(?x, ?y) :- e(?x, ?y), e(?y, ?z), e(?z, ?x) .",
    "t(?x, ?y) :- e(?x, ?y), f(?y, ?z), g(?x, ?z, ?y) .",
    "e(?z, ?x) :- e(?x, ?y), f(?y, ?z), e(?x, ?z), ?x != ?z .",
    "t(?x, ?z) :- e(?x, ?y), e(?y, ?z), e(?z, ?w), e(?w, ?x) .",
    "t(?w, ?x) :- e(?x, ?y), e(?x, ?z), e(?x, ?w), e(?y, ?z), e(?y, ?w), e(?z, ?w) .",
    "t(?x, ?x) :- e(?x, ?x), e(?x, ?y), f(?y, ?x), e(1, ?y), f(?y, ?y) .",
    "u(?x) :- f(?x, ?y), g(?y, ?z, _), f(?x, ?z), not t(?x, ?z) .",
    "u(?x) :- t(?x, ?y), t(?y, ?z), t(?x, ?z), not e(?z, ?x), ?y <= ?z .",
)
TERMS = numbers(4)


def facts(predicate, arity):
    """Facts of a predicate over a few terms."""
    return st.tuples(st.just(predicate), st.tuples(*[st.sampled_from(TERMS)] * arity))


FACTS = st.one_of(facts("e", 2), facts("e", 2), facts("f", 2), facts("g", 3))
UPDATES = st.tuples(FACTS, st.sampled_from((1, 1, 1, -1))).map(lambda each: (*each[0], each[1]))
PROGRAMS = programs_of("@input e/2, f/2, g/3, t/2 .", RULES, min_size=1, max_size=4)


def together(patch, share):
    """Apply all deltas of cyclic rules together, sorting at once if their share is not 0."""
    patch.setattr(intersections, "SHARE", share)
    patch.setattr(intersections, "PATIENCE", 10)


def rows(result):
    """The trace differences of an epoch, in order."""
    return [
        (part.predicate, part.args.tolist(), part.iteration.tolist(), part.multiplicity.tolist())
        for part in result.trace
    ]


@settings(max_examples=1000 if THOROUGH else 24)
@given(
    PROGRAMS,
    st.lists(st.lists(UPDATES, max_size=24), min_size=1, max_size=3),
    st.sampled_from((0, 10**6)),
    st.integers(1, 4),
)
def test_trace_equals_from_scratch_when_deltas_are_applied_together(checked, epochs, share, chunk):
    """With one thread and with two, to the byte, and when they are applied one by one."""
    one_by_one = Driver(checked)
    one_by_one.run(epochs)
    with pytest.MonkeyPatch.context() as patch:
        together(patch, share)
        one = Driver(checked)
        results = one.run(epochs)
        patch.setattr(backend.ColumnarBackend, "large", 1)
        patch.setattr(parallel, "CHUNK", chunk)
        patch.setattr(parallel, "LIMIT", chunk + 2)
        two = Driver(checked)
        repeated = two.run(epochs)

    expected = evaluate(checked, total(epochs))
    assert one.trace() == two.trace() == one_by_one.trace() == expected
    assert [sorted(map(str, rows(each))) for each in results] == [
        sorted(map(str, rows(each))) for each in repeated
    ]


def test_large_epochs_intersect():
    """A graph of 12 nodes with all edges is a large epoch; one edge more is a small one."""
    checked = check_text(RULES[0], "generated.dl")
    driver = Driver(checked)
    nodes = [f"<urn:{number}>" for number in range(12)]
    driver.apply([("e", (a, b), 1) for a in nodes for b in nodes])
    scalars = driver.session.engine._backend._state.scalars  # noqa: SLF001 - the counter is there
    found = scalars[layout.INTERSECTED]
    assert found >= 12**3
    driver.apply([("e", (nodes[0], "<urn:other>"), 1)])
    assert scalars[layout.INTERSECTED] == found


@pytest.mark.parametrize(
    ("rule", "size", "matches"),
    # The third node of a triangle; the last of a cycle for each that leads to it.
    [(RULES[0], 70, 3 * 70), (RULES[4], 12, 4 * 12**2)],
)
def test_small_epochs_walk_groups_in_turns(rule, size, matches):
    """An edge of a complete graph, with more matches than a reader has room for, and fewer."""
    driver = Driver(check_text(rule, "generated.dl"))
    nodes = [f"<urn:{number}>" for number in range(size)]
    driver.apply([("e", (a, b), 1) for a in nodes for b in nodes])
    scalars = driver.session.engine._backend._state.scalars  # noqa: SLF001 - the counter is there
    before = scalars[[layout.GATHERED, layout.INTERSECTED]]
    driver.apply([("e", (nodes[0], nodes[1]), -1)])
    after = scalars[[layout.GATHERED, layout.INTERSECTED]]
    assert (after - before).tolist() == [matches, 0]
