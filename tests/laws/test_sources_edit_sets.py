"""Sources with the semantics `set`: the last update of each fact counts, however often it came."""

from __future__ import annotations

import itertools
from collections import Counter

from driver import Driver
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.program_plan import InputSources
from streamreasoner.program import check_text

CHECKED = check_text(
    "path(?x, ?y) :- edge(?x, ?y) .\n"
    "path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"
    "sink(?y) :- edge(_, ?y), not edge(?y, _) .\n"
    "degree(?x, count(?y)) :- edge(?x, ?y) .\n"
)
NODES = [f"<http://example.org/{name}>" for name in "abc"]
SOURCES = ("", "one", "two")
UPDATES = st.lists(
    st.tuples(
        st.just("edge"),
        st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)),
        st.sampled_from([1, 3, -1, -2]),
        st.none(),
        st.sampled_from(SOURCES),
    ),
    max_size=12,
)


def new_driver():
    """A driver that knows the sources."""
    return Driver(CHECKED, sources=InputSources(SOURCES[1:]))


def asserted(updates):
    """The oracle: multiplicities by fact."""
    totals, last = Counter(), {}
    for predicate, args, multiplicity, _, source in updates:
        if source:
            last[predicate, args, source] = multiplicity > 0
        else:
            totals[predicate, args] += multiplicity
    for (predicate, args, _), is_asserted in last.items():
        totals[predicate, args] += is_asserted
    return [(*fact, number) for fact, number in totals.items() if number]


def is_own(fact):
    """Whether a fact is one of the program."""
    return "@" not in fact[0]


@given(UPDATES, st.lists(st.integers(0, 12), max_size=3), st.integers(0, 12))
def test_delivery_at_least_once_is_irrelevant(updates, cuts, again):
    """Cut into epochs anywhere, and sent again from any point on, updates lead to one state."""
    scratch = Driver(CHECKED)
    scratch.apply(asserted(updates))
    repeated = [update for update in updates[again:] if update[4]]
    bounds = sorted({min(cut, len(updates)) for cut in cuts} | {0, len(updates)})
    parts = [updates[start:end] for start, end in itertools.pairwise(bounds)]
    for epochs in ([updates], [*parts, repeated], [[each] for each in [*updates, *repeated]]):
        driver, totals = new_driver(), {}
        for epoch in epochs:
            driver.add_changes(driver.apply(epoch).closure, totals)

        assert driver.trace() == scratch.trace()
        assert totals == dict.fromkeys(scratch.closure(), 1)


@given(UPDATES, UPDATES)
def test_a_restored_reasoner_knows_its_sources(first, second):
    """What each source has asserted is part of the state; nothing of it is left when it is gone."""
    original, heir = new_driver(), new_driver()
    predicates = [*original.predicates, *(f"set@{name}@edge" for name in SOURCES[1:])]
    original.apply(first)
    original.predicates = heir.predicates = predicates
    heir.inherit(original)
    for driver in (original, heir):
        driver.apply(second)

    assert heir.trace(predicates) == original.trace(predicates)
    gone = [(*update[:2], -1, *update[3:]) for update in [*first, *second] if update[4]]
    heir.apply(gone)
    assert not [fact for fact in heir.trace(predicates) if not is_own(fact)]


def test_a_predicate_comes_with_its_facts_and_goes_without_them():
    """Facts of a source in the epoch that brings their predicate, and after it has been lost."""
    less = check_text("path(?x, ?y) :- edge(?x, ?y) .\n")
    closed = ("closed", NODES[:1], 1, None, "one")
    driver = Driver(less, sources=InputSources(SOURCES[1:]))
    more = check_text("path(?x, ?y) :- edge(?x, ?y), not closed(?x) .\n")
    driver.change(more, [closed])
    driver.change(less)
    heir = Driver(less, sources=InputSources(SOURCES[1:]), known=lower(more).arities)
    driver.predicates = (*driver.predicates, "set@one@closed")
    heir.inherit(driver)
    heir.change(more, [("edge", NODES[:2], 1, None, "two"), closed])
    assert heir.closure() == {("closed", (NODES[0],)), ("edge", tuple(NODES[:2]))}
    heir.apply([(*closed[:2], -1, *closed[3:])])
    assert heir.closure() == {("edge", tuple(NODES[:2])), ("path", tuple(NODES[:2]))}


@given(UPDATES, UPDATES)
def test_a_rehearsal_edits_no_set(updates, more):
    """A rehearsed epoch leaves what a source has asserted as it was."""
    driver, other = new_driver(), new_driver()
    for each in (driver, other):
        each.apply(updates)
    driver.session.rehearse(list(driver.encode(more)))
    for each in (driver, other):
        each.apply(more)

    assert driver.trace() == other.trace()
