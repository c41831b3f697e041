"""Results that are remembered: each is that of a call, whatever was called in between."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from oracle import evaluate, total
from oracle.arithmetic import numeral
from strategies import checked

from streamreasoner.backends.columnar.callbacks import CODES, Builtins
from streamreasoner.backends.columnar.kernels.joining import memo
from streamreasoner.backends.columnar.kernels.records import layout, slots
from streamreasoner.errors import RecursionLimitError
from streamreasoner.native.addresses import int32_column
from streamreasoner.native.compile import kernel
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values import builtins
from streamreasoner.values.builtins import TESTS
from streamreasoner.values.value_columns import Values

TERMS = 2000
"""Enough that some pairs of them have the same row of the memo."""
OVERFLOWING = (numeral(2**62), numeral(9))
CALLED = ("md5", "strbefore", "replace", "matches", "**")


@kernel
def row_of(table, code, number):
    """The row that the memo has for some arguments."""
    arguments = int32_column(table[layout.ARGUMENTS])
    return slots.hash_cells(code, arguments, 0, number) & (layout.MEMO_ROWS - 1)


class Remembering:
    """Built-ins behind a memo.

    Attributes:
        builtins: What it calls.
    """

    def __init__(self):
        self.dictionary = Dictionary()
        self._values = Values(self.dictionary)
        self.builtins = Builtins(self.dictionary, self._values, {}.__getitem__)
        self.table = np.zeros(layout.ADDRESSES, np.int64)
        self.table[layout.ARGUMENTS] = self.builtins.arguments.ctypes.data
        self.table[layout.MEMO] = self.builtins.memo.ctypes.data
        self.table[layout.CALL] = self.builtins.address

    def put(self, terms):
        """Make terms the arguments of the next call."""
        ids = [self.dictionary.intern(term) for term in terms]
        self.builtins.arguments[: len(ids)] = ids

    def apply(self, name, terms):
        """The term of a result, True or False of a test, or None."""
        self.put(terms)
        found = memo.remembered(self.table, CODES[name], len(terms))
        if found == layout.NO_VALUE:
            return None
        return bool(found) if name in TESTS else self.dictionary.decode([found]).to_pylist()[0]


@pytest.fixture(scope="module")
def colliding():
    """Numbers that share a row as arguments of `md5` with another one, by row."""
    memory = Remembering()
    rows = defaultdict(list)
    for i in range(TERMS):
        memory.put([f'"{i}"'])
        rows[row_of(memory.table, CODES["md5"], 1)].append(i)
    found = [numbers for numbers in rows.values() if len(numbers) > 1]
    assert found
    return found


@given(data=st.data())
def test_a_result_is_that_of_a_call(data, colliding):
    """Values, truths and missing values, of arguments that share a row or not, in any order."""
    memory = Remembering()
    for i in range(TERMS):
        memory.dictionary.intern(f'"{i}"')
    texts = [f'"{i}"' for i in (*data.draw(st.sampled_from(colliding)), 1, 2)]
    terms = st.sampled_from((*texts, *OVERFLOWING, '"("', '"1"@en', "<urn:a>"))
    for name in data.draw(st.lists(st.sampled_from(CALLED), max_size=12)):
        count = {"md5": 1, "replace": 3}.get(name, 2)
        arguments = data.draw(st.lists(terms, min_size=count, max_size=count))
        apply = builtins.test if name in TESTS else builtins.apply

        assert memory.apply(name, arguments) == apply(name, arguments)


def test_python_is_called_once_for_each_argument(colliding):
    """What is remembered is not computed again, until another result takes its row."""
    memory = Remembering()
    for i in range(TERMS):
        memory.dictionary.intern(f'"{i}"')
    one, other = (f'"{i}"' for i in colliding[0][:2])
    calls = []
    for text in (one, one, other, other, one, "<urn:a>", "<urn:a>"):
        memory.apply("md5", [text])
        calls.append(memory.builtins.calls)

    assert calls == [1, 1, 2, 2, 3, 4, 4]


def test_the_order_of_arguments_matters():
    """So does their number, and which function it is."""
    memory = Remembering()
    for _ in range(2):
        for name, terms in (
            ("strbefore", ['"ab"', '"b"']),
            ("strbefore", ['"b"', '"ab"']),
            ("strafter", ['"ab"', '"b"']),
            ("skolem", ['"ab"']),
            ("skolem", ['"ab"', '"b"']),
        ):
            assert memory.apply(name, terms) == builtins.apply(name, terms)
    assert memory.builtins.calls == 5


def test_what_is_counted_is_not_remembered():
    """A result that does not fit counts each time, as a metric does."""
    memory = Remembering()

    assert [memory.apply("**", OVERFLOWING) for _ in range(3)] == [None] * 3
    assert (memory.builtins.calls, memory.builtins.overflows) == (3, 3)


def test_a_failure_is_not_remembered(monkeypatch):
    """After an exception the function is called again."""
    memory = Remembering()
    memory.put(['"a"'])
    with monkeypatch.context() as broken:
        broken.setattr(builtins, "apply", None)

        assert memo.remembered(memory.table, CODES["md5"], 1) == layout.FAILURE
    with pytest.raises(TypeError):
        raise memory.builtins.failure()
    assert memory.apply("md5", ['"a"']) == builtins.apply("md5", ['"a"'])


def test_many_arguments_are_not_remembered():
    """A row has room for some; more are passed on each time."""
    memory = Remembering()
    for count in (layout.MEMO_ARGUMENTS, layout.MEMO_ARGUMENTS + 1):
        terms = [f'"{i}"' for i in range(count)]
        before = memory.builtins.calls
        for _ in range(2):
            assert memory.apply("skolem", terms) == builtins.apply("skolem", terms)
        assert memory.builtins.calls - before == (1 if count == layout.MEMO_ARGUMENTS else 2)


def test_results_of_a_failed_epoch_hold():
    """Terms stay when an epoch is undone, so what was remembered with it is that of a call."""
    rules = "made(?y, md5(?x)) :- e(?x, ?y) . up(?n + 1) :- up(?n) ."
    driver = Driver(checked(rules), recursion_limit=5)
    epoch = [("e", ('"a"', f"<urn:{y}>"), 1) for y in "bc"]
    with pytest.raises(RecursionLimitError):
        driver.apply([*epoch, ("up", (numeral(0),), 1)])
    driver.apply(epoch)

    assert driver.trace() == evaluate(checked(rules), total([epoch]))
