"""Sources with keys: the facts of a key are those of its latest message, whatever came before."""

from __future__ import annotations

import itertools
from collections import Counter

from driver import Driver
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.program_plan import InputSources, keys_of, latest_of
from streamreasoner.program import check_text

CHECKED = check_text(
    "path(?x, ?y) :- edge(?x, ?y) .\n"
    "path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"
    "sink(?y) :- edge(_, ?y), not edge(?y, _), not closed(?y) .\n"
    "degree(?x, count(?y)) :- edge(?x, ?y) .\n"
)
NODES = [f"<http://example.org/{name}>" for name in "abc"]
KEYS = ['"1"', '"2"', NODES[0]]
KEYED, SET = ("one", "two"), "three"
NODE = st.sampled_from(NODES)
FACTS = st.one_of(
    st.tuples(st.just("edge"), st.tuples(NODE, NODE)), st.tuples(st.just("closed"), st.tuples(NODE))
)
MESSAGES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(KEYED), st.sampled_from(KEYS), st.lists(FACTS, max_size=3)),
        st.tuples(st.sampled_from(["", SET]), st.none(), st.lists(FACTS, min_size=1, max_size=2)),
    ),
    max_size=10,
)


def new_driver(checked=CHECKED, **options):
    """A driver that knows the sources."""
    return Driver(checked, sources=InputSources((SET,), KEYED), **options)


def updates(messages):
    """What the codec makes of messages: for each its key, then the facts with the key."""
    for source, key, facts in messages:
        if source in KEYED:
            yield keys_of(source), (key,), 1, None, source
            for predicate, args in facts:
                yield latest_of(source, predicate), (key, *args), 1, None, source
        else:
            for predicate, args in facts:
                yield predicate, args, 1, None, source


def asserted(messages):
    """The oracle: multiplicities by fact."""
    totals, latest, sets = Counter(), {}, set()
    for source, key, facts in messages:
        if source in KEYED:
            latest[source, key] = set(facts)
        elif source == SET:
            sets.update(facts)
        else:
            totals.update(facts)
    for facts in (*latest.values(), sets):
        totals.update(facts)
    return [(*fact, number) for fact, number in totals.items()]


def is_own(fact):
    """Whether a fact is one of the program."""
    return "@" not in fact[0]


@given(MESSAGES, st.lists(st.integers(0, 10), max_size=3), st.integers(0, 10))
def test_the_latest_value_of_each_key_counts(messages, cuts, again):
    """Cut into epochs anywhere, and sent again from any point on, messages lead to one state."""
    scratch = Driver(CHECKED)
    scratch.apply(asserted(messages))
    repeated = [message for message in messages[again:] if message[0]]
    bounds = sorted({min(cut, len(messages)) for cut in cuts} | {0, len(messages)})
    parts = [messages[start:end] for start, end in itertools.pairwise(bounds)]
    for epochs in ([messages], [*parts, repeated], [[each] for each in [*messages, *repeated]]):
        driver, totals = new_driver(), {}
        for epoch in epochs:
            driver.add_changes(driver.apply(updates(epoch)).closure, totals)

        assert driver.trace() == scratch.trace()
        assert totals == dict.fromkeys(scratch.closure(), 1)


@given(MESSAGES, MESSAGES)
def test_a_restored_reasoner_knows_the_values(first, second):
    """What each key asserts is part of the state; tombstones leave nothing of it."""
    original, heir = new_driver(), new_driver()
    hidden = [latest_of(source, name) for source in KEYED for name in ("edge", "closed")]
    hidden += [f"set@{SET}@edge", f"set@{SET}@closed"]
    predicates = [*original.predicates, *hidden]
    original.apply(updates(first))
    original.predicates = heir.predicates = predicates
    heir.inherit(original)
    for driver in (original, heir):
        driver.apply(updates(second))

    assert heir.trace(predicates) == original.trace(predicates)
    tombstones = [(source, key, []) for source in KEYED for key in KEYS]
    heir.apply(updates(tombstones))
    scratch = Driver(CHECKED)
    scratch.apply(asserted([*first, *second, *tombstones]))
    assert heir.trace() == scratch.trace()
    assert not [fact for fact in heir.trace(predicates) if fact[0].startswith("upsert@")]


@given(MESSAGES, MESSAGES, MESSAGES)
def test_a_replacement_covers_predicates_of_earlier_programs(first, second, third):
    """Values stay in the state when rules leave out a predicate, also over a restart."""
    less = check_text("path(?x, ?y) :- edge(?x, ?y) .\n")
    driver, scratch = new_driver(less), Driver(CHECKED)
    known = [message for message in first if all(name == "edge" for name, _ in message[2])]
    driver.apply(updates(known))
    driver.change(CHECKED, updates(second))
    driver.change(less)
    heir = new_driver(less, known=lower(CHECKED).arities)
    hidden = [latest_of(source, name) for source in KEYED for name in ("edge", "closed")]
    driver.predicates = (
        *driver.predicates, *hidden, f"set@{SET}@edge", f"set@{SET}@closed"
    )  # fmt: skip
    heir.inherit(driver)
    later = [message for message in third if all(name == "edge" for name, _ in message[2])]
    heir.apply(updates(later))
    heir.change(CHECKED)
    scratch.apply(asserted([*known, *second, *later]))

    assert heir.trace() == scratch.trace()


@given(MESSAGES, MESSAGES)
def test_a_rehearsal_replaces_nothing(first, second):
    """A rehearsed epoch leaves the values of the keys as they were."""
    driver, other = new_driver(), new_driver()
    for each in (driver, other):
        each.apply(updates(first))
    driver.session.rehearse(list(driver.encode(updates(second))))
    for each in (driver, other):
        each.apply(updates(second))

    assert driver.trace() == other.trace()
