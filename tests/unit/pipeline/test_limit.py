"""The size of batches: bounded, monotone in what was measured, and steady at the target."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.pipeline.pressure.limit import GROWTH, BatchLimit, default_max_bytes

COUNTS = st.integers(1, 1_000_000)
SIZES = st.integers(0, 1 << 40)
SECONDS = st.floats(1e-6, 1e5)
LIMITS = st.builds(
    BatchLimit.start,
    most=COUNTS,
    max_bytes=st.integers(1, 1 << 32),
    target=st.floats(0.1, 3600),
    message_bytes=st.integers(1, 10_000_000),
)
BATCHES = st.lists(st.tuples(COUNTS, SIZES, SECONDS), max_size=10)


def follow(limit, batches):
    """The limit after batches."""
    for batch in batches:
        limit = limit.after(*batch)
    return limit


@given(LIMITS)
def test_the_longest_messages_fit_the_first_batch(limit):
    """It has one message, or fewer than any that could exceed the bytes."""
    assert 1 <= limit.messages <= limit.most
    assert limit.messages == limit.first


@given(LIMITS, BATCHES, st.tuples(COUNTS, SIZES, SECONDS))
def test_bounds_hold_after_every_batch(limit, batches, last):
    """From 1 to the most, at most fourfold what a batch has had, and of bytes that fit."""
    before = follow(limit, batches)
    after = before.after(*last)
    messages, size, _ = last
    assert 1 <= after.messages <= after.most
    assert after.messages <= max(before.messages, messages * GROWTH)
    assert after.messages == 1 or after.messages * size <= messages * limit.max_bytes


@given(LIMITS, BATCHES, COUNTS, SIZES, SECONDS)
def test_what_the_next_batch_may_have_is_known_before_its_time(
    limit, batches, messages, size, seconds
):
    """No time of a batch lets the next one have more, and almost none lets it have that."""
    limit = follow(limit, batches)
    most = limit.most_next(messages, size)
    assert limit.after(messages, size, seconds).messages <= most
    assert limit.after(messages, size, 1e-9).messages == most


@given(LIMITS, BATCHES)
def test_no_messages_tell_nothing(limit, batches):
    """An empty batch changes nothing, however long it took."""
    limit = follow(limit, batches)
    assert limit.after(0, 0, 1e9) == limit
    assert limit.most_next(0, 0) == limit.messages


@given(LIMITS, BATCHES, COUNTS, st.tuples(SIZES, SIZES), st.tuples(SECONDS, SECONDS))
def test_a_batch_that_cost_more_allows_no_more(limit, batches, count, sizes, times):
    """The limit does not rise with the bytes or the time of a batch."""
    limit = follow(limit, batches)
    size, more = sorted(sizes)
    seconds, longer = sorted(times)
    allowed = limit.after(count, size, seconds).messages
    assert limit.after(count, more, seconds).messages <= allowed
    assert limit.after(count, size, longer).messages <= allowed


@given(
    fixed=st.floats(0, 0.9),
    a_message=st.floats(1e-6, 1e-3),
    message_bytes=st.integers(1, 10_000),
    target=st.floats(1, 100),
)
def test_full_batches_settle_at_the_target(fixed, a_message, message_bytes, target):
    """With fixed costs and equal messages, batches take the target, or what bounds them is met."""
    limit = BatchLimit.start(200_000, 1 << 27, target, 900_000)

    def take(messages):
        return fixed * target + a_message * messages

    for _ in range(200):
        limit = limit.after(limit.messages, limit.messages * message_bytes, take(limit.messages))
    by_bytes = (1 << 27) // message_bytes
    by_time = (target - fixed * target) / a_message
    ideal = min(200_000, by_bytes, max(limit.first, by_time))
    # Whole messages: a limit does not rise by less than one, which is 1 / (1 - fixed) of them.
    assert abs(limit.messages - ideal) <= max(12, 0.05 * ideal)


def test_longer_messages_shrink_the_next_batch_at_once():
    """One batch of long messages is enough."""
    limit = BatchLimit.start(200_000, 1 << 27, 10.0, 900_000)
    limit = follow(limit, [(limit.messages, limit.messages * 100, 0.1)] * 20)
    limit = limit.after(100, 100 * 900_000, 0.5)
    assert limit.messages * 900_000 <= 1 << 27


def test_fixed_costs_do_not_shrink_batches_without_end():
    """Batches that are slow whatever their size keep the size of the first."""
    limit = BatchLimit.start(200_000, 1 << 27, 1.0, 900_000)
    assert follow(limit, [(limit.messages, 1000, 60.0)] * 50).messages == limit.first


def test_the_default_fits_the_machine():
    """A batch has a small part of the memory."""
    assert 0 < default_max_bytes() <= 32 << 20
