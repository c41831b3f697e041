"""Items that another thread makes."""

from __future__ import annotations

import threading

import pytest

from streamreasoner.system import ahead
from streamreasoner.system.ahead import one_ahead


@pytest.fixture(params=[1, 2])
def count(request, monkeypatch):
    """The number of processors."""
    monkeypatch.setattr(ahead, "processors", lambda: request.param)
    return request.param


def test_items_and_errors_come_in_order(count):
    """All items come, then the error of their source; items are made where they should be."""
    makers = set()

    def source():
        for number in range(100):
            makers.add(threading.current_thread().name)
            yield number
        raise ValueError(number)

    found = []
    with pytest.raises(ValueError, match="99"), one_ahead(source()) as items:
        found.extend(items)

    assert found == [*range(100)]
    assert makers == ({"MainThread"} if count == 1 else {"ahead_0"})


def test_at_most_one_item_waits(count):
    """While the caller has an item, the next one is made and no more; none after the block."""
    made = []
    waiting = threading.Event()

    def source():
        for number in range(100):
            made.append(number)
            if number == 3:
                waiting.set()
            yield number

    with one_ahead(source()) as items:
        for item in items:
            if item == 2:
                break
        if count == 2:
            assert waiting.wait(60)
    before = [*made]

    assert before == [*range(2 + count)]
    assert not [each for each in threading.enumerate() if each.name.startswith("ahead")]


def test_an_error_of_the_caller_ends_it(count):
    """If the caller fails, the block ends with its error, and so does the thread."""

    def fail():
        with one_ahead(iter(range(10 * count))) as items:
            next(items)
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    assert not [each for each in threading.enumerate() if each.name.startswith("ahead")]
