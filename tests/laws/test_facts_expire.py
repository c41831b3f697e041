"""What expires: the set of updates and the frontier decide, not how they were delivered."""

from __future__ import annotations

from itertools import pairwise

from driver import Driver
from hypothesis import example, given
from hypothesis import strategies as st

from streamreasoner.program import check_text

HEADER = "@prefix ex: <http://example.org/> .\n"
WINDOWS = (
    '@expires seen/2 after "PT10S" .\n',
    '@expires seen/2 after "PT10S" every "PT4S" .\n',
    '@expires seen(ex:a, _) after "PT5S" .\n@expires seen(ex:b, _) after "PT9S" every "PT2S" .\n',
)
RULES = """@input seen/2, room/1, plain/2 .
occupied(?r) :- seen(?p, ?r), room(?r) .
empty(?r) :- room(?r), not seen(_, ?r) .
crowd(?r, count(?p)) :- seen(?p, ?r) .
met(?p, ?q) :- seen(?p, ?r), seen(?q, ?r) .
met(?p, ?q) :- met(?p, ?x), met(?x, ?q) .
"""
PEOPLE, ROOMS = ([f"<http://example.org/{name}>" for name in names] for names in ("abc", "xy"))
ROOM = [("room", (room,), 1, 0) for room in ROOMS]

TIMES = st.integers(-3, 30).map(lambda second: second * 1000)
UPDATES = st.lists(
    st.tuples(
        st.sampled_from(["seen", "seen", "seen", "plain"]),
        st.tuples(st.sampled_from(PEOPLE), st.sampled_from(ROOMS)),
        st.sampled_from([1, 1, 2, -1]),
        TIMES,
    ),
    max_size=12,
)
LATENESS = st.sampled_from([0, 7000])


def window(text, args):
    """Duration and step for a fact of `seen`, None if it does not expire."""
    if "seen/2" in text:
        return 10_000, 4000 if "every" in text else 1
    return {PEOPLE[0]: (5000, 1), PEOPLE[1]: (9000, 2000)}.get(args[0])


def asserted(text, updates, frontier):
    """The oracle: multiplicities of the facts that are asserted once everything is in."""
    totals = {}
    for predicate, args, multiplicity, _ in updates:
        if predicate == "seen" and (span := window(text, args)) is not None:
            mine = [update for update in updates if update[:2] == (predicate, args)]
            last, gone = (
                max((time for *_, diff, time in mine if (diff > 0) == is_assertion), default=-9999)
                for is_assertion in (True, False)
            )
            duration, step = span
            if last > gone and -(-(last + duration) // step) * step > frontier:
                totals["seen", args] = 1
        else:
            totals[predicate, args] = totals.get((predicate, args), 0) + multiplicity
    return [(*fact, number) for fact, number in totals.items() if number]


def deliver(driver, epochs, lateness):
    """Apply epochs, with the frontier after each; returns the sum of their changes."""
    totals = {}
    for epoch in epochs:
        times = [time for *_, time in epoch]
        options = {"frontier": max(times) - lateness} if times else {}
        driver.add_changes(driver.apply(epoch, **options).closure, totals)
    return totals


@given(
    st.sampled_from(WINDOWS),
    UPDATES,
    LATENESS,
    st.lists(st.integers(0, 12), max_size=3),
    st.randoms(use_true_random=False),
)
@example(WINDOWS[0], [("seen", (PEOPLE[0], ROOMS[0]), 1, 0)], 0, [], None)
def test_delivery_is_irrelevant(text, updates, lateness, cuts, random):
    """Shuffled, repeated and cut into epochs, updates lead to what the oracle says."""
    checked = check_text(HEADER + text + RULES)
    frontier = max(time for *_, time in [*ROOM, *updates]) - lateness
    from_scratch = Driver(check_text(HEADER + RULES))
    from_scratch.apply(asserted(text, [*ROOM, *updates], frontier))

    expiring = [each for each in updates if each[0] == "seen" and window(text, each[1])]
    repeated = [*updates, *expiring]
    orders = [updates, updates[::-1]]
    if random is not None:
        orders.append(random.sample(repeated, len(repeated)))
    for order in orders:
        bounds = sorted({min(cut, len(order)) for cut in cuts} | {0, len(order)})
        parts = [order[start:end] for start, end in pairwise(bounds)]
        driver = Driver(checked)
        totals = deliver(driver, [ROOM, *parts], lateness)

        assert driver.trace() == from_scratch.trace()
        assert totals == dict.fromkeys(from_scratch.closure(), 1)


@given(st.sampled_from(WINDOWS), UPDATES, st.integers(0, 12), LATENESS)
def test_a_restored_reasoner_expires_the_same(text, updates, cut, lateness):
    """The times of registers are part of the state: what is due is due after a restart."""
    checked = check_text(HEADER + text + RULES)
    original, heir = Driver(checked), Driver(checked)
    deliver(original, [ROOM, updates[:cut]], lateness)
    heir.inherit(original)
    for epoch in (updates[cut:], [("plain", (PEOPLE[0], ROOMS[0]), 1, 60_000)]):
        changes = [deliver(driver, [epoch], lateness) for driver in (original, heir)]

        assert changes[0] == changes[1]
        assert heir.trace(heir.predicates) == original.trace(original.predicates)


@given(st.sampled_from(WINDOWS), UPDATES)
def test_nothing_is_left_of_what_expired(text, updates):
    """Long after the last update, neither a fact nor a time of a register is in the state."""
    driver = Driver(check_text(HEADER + text + RULES))
    deliver(driver, [[update for update in updates if update[0] == "seen"]], 0)
    driver.apply([], frontier=10_000_000)
    expiring = {args for _, args, *_ in updates if window(text, args) is not None}

    left = driver.trace(driver.predicates)
    assert not [fact for fact in left if "@" in fact[0]]
    assert not [args for predicate, args in left if predicate == "seen" and args in expiring]
    if "seen/2" in text:
        assert left == {}


@given(st.sampled_from(WINDOWS), UPDATES, TIMES)
def test_a_rehearsal_of_expiry_changes_nothing(text, updates, frontier):
    """A rehearsed epoch leaves what is due as it was."""
    checked = check_text(HEADER + text + RULES)
    driver, other = Driver(checked), Driver(checked)
    for each in (driver, other):
        deliver(each, [ROOM, updates[:6]], 7000)
    driver.session.rehearse(list(driver.encode(updates[6:])), frontier=frontier + 50_000)
    for each in (driver, other):
        deliver(each, [updates[6:]], 0)

    assert driver.trace(driver.predicates) == other.trace(other.predicates)
