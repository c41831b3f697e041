"""Numbers beyond their range fail the epoch, exactly where the oracle says so, and nothing else."""

from __future__ import annotations

import pytest
from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from oracle import OutOfRangeError, evaluate, total
from strategies import XSD, checked, epochs

from streamreasoner.errors import ArithmeticOverflowError

NUMBERS = (
    *(f'"{number}"^^<{XSD}integer>' for number in (1, 2, 3, -1, 0, 2**62, 2**63 - 1, 2**63 - 2)),
    *(f'"{number}"^^<{XSD}integer>' for number in (-(2**63), 1 - 2**63, -(2**62), 2**32, 64)),
    *(f'"{number}"^^<{XSD}decimal>' for number in (0.5, -0.5, f"{2**63 - 1}.5", f"-{2**63}.0")),
    *(f'"{number}"^^<{XSD}double>' for number in ("1E18", "1E300")),
    '"x"',
)
"""Numbers whose sums and products are inside the range, at its ends and outside."""

# A fact of `n` is a whole match and has one expression, so it is certain what is computed.
PROGRAMS = (
    "r(?x + ?y) :- n(?x, ?y) .",
    "r(?x - ?y) :- n(?x, ?y) .",
    "r(?x * ?y) :- n(?x, ?y) .",
    "r(?x / ?y) :- n(?x, ?y) .",
    "r(?x ** ?y) :- n(?x, ?y) .",
    "r(-?x) :- n(?x, _) .\nr(abs(?y)) :- n(_, ?y) .",
    "r(?x) :- n(?x, ?y), ?x + ?y > 0 .",
    "r(?v) :- n(?x, ?y), ?v = ?x * 2 + ?y .",
    "r(?x, sum(?y)) :- n(?x, ?y) .",
    "r(sum(?x), avg(?y), max(?y)) :- n(?x, ?y) .",
    "r(sum(?x * ?y)) :- n(?x, ?y) .",
    "r(min(?x + ?y)) :- n(?x, ?y) .",
    "r(?x, max(?y * 2)) :- n(?x, ?y) .",
    "r(?y + 1) :- m(?y) .\nm(?x * 2) :- n(?x, _) .",
)
JOINS = (
    "r(?x + ?y) :- m(?x), n(?x, ?y) .\nm(?x) :- n(_, ?x) .",
    "r(?x, ?z * 2) :- n(?x, ?y), n(?y, ?z) .",
    "r(?x) :- n(?x, ?y), not m(?y + 1) .\nm(?x) :- n(?x, _) .",
    "d(?x, 0) :- n(?x, ?x) .\nd(?y, min(?d + ?y)) :- d(?x, ?d), n(?x, ?y) .",
)


@st.composite
def overflows(draw, programs):
    """One of the programs, and epochs of large numbers."""
    number = st.sampled_from(NUMBERS)
    pairs = draw(st.lists(st.tuples(number, number), min_size=2, max_size=8))
    return draw(st.sampled_from(programs)), draw(epochs([[("n", pair)] for pair in pairs]))


@given(overflows(PROGRAMS))
def test_an_epoch_fails_iff_a_number_leaves_its_range(scenario):
    """Overflow is an error where a match has it, leaves the state alone, and is over with it."""
    text, given_epochs = scenario
    program = checked(text)
    driver, accepted = Driver(program), []
    for epoch in given_epochs:
        try:
            expected = evaluate(program, total([*accepted, epoch]))
        except OutOfRangeError:
            before = driver.trace(driver.predicates)
            with pytest.raises(ArithmeticOverflowError):
                driver.apply(epoch)

            assert driver.trace(driver.predicates) == before
        else:
            driver.apply(epoch)
            accepted.append(epoch)

            assert driver.trace() == expected


@given(overflows(JOINS))
def test_an_epoch_with_numbers_beyond_their_range_is_never_accepted(scenario):
    """An epoch that computes before it joins may fail for less than a match, but for no more."""
    text, given_epochs = scenario
    program = checked(text)
    driver, accepted = Driver(program), []
    for epoch in given_epochs:
        before = driver.trace(driver.predicates)
        try:
            driver.run([epoch])
        except ArithmeticOverflowError:
            assert driver.trace(driver.predicates) == before
        else:
            accepted.append(epoch)

            assert driver.trace() == evaluate(program, total(accepted))
