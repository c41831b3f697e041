"""Rules may come and go while the reasoner runs: the state is that of the rules there are."""

from __future__ import annotations

from driver import Driver
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import NotConvergingError, closure, evaluate, total
from strategies import HEADER, checked, scenarios

from streamreasoner.errors import EngineError, ProgramError

_CHOICE = st.integers(0, 255)


def part(text, choice):
    """The program of some of the lines of a text, or None if it is none."""
    rules = text.removeprefix(HEADER).splitlines(keepends=True)
    kept = [rule for index, rule in enumerate(rules) if choice >> index % 8 & 1]
    try:
        return checked(HEADER + "".join(kept))
    except ProgramError:
        return None


@given(scenarios(), st.lists(_CHOICE, min_size=2, max_size=5))
def test_trace_is_that_of_the_rules_there_are(scenario, choices):
    """Whatever rules come and go between epochs, the trace is that of the last ones, from scratch.

    The changes of all epochs sum to the closure, and a refused change changes nothing.
    """
    assume(scenario.program.startswith(HEADER))
    programs = [found for choice in choices if (found := part(scenario.program, choice))]
    assume(programs)
    driver, accepted, everything = Driver(programs[0]), [], {}
    steps = [*zip(programs, scenario.epochs, strict=False)]
    for program, epoch in [*steps, *((program, []) for program in programs[len(steps) :])]:
        # Facts of predicates that the program does not have yet, or no more, are input later.
        updates = [update for update in epoch if update[0] in program.arities]
        try:
            expected = evaluate(program, total(accepted))
        except NotConvergingError:
            before = driver.trace(driver.predicates)
            assert_refused(driver, program)
            assert driver.trace(driver.predicates) == before
            continue
        assume(expected.iterations < Driver.recursion_limit // 2)
        driver.add_changes(driver.change(program).closure, everything)
        assert_trace(driver, expected)
        try:
            expected = evaluate(program, total([*accepted, updates]))
            assume(expected.iterations < Driver.recursion_limit // 2)
            driver.add_changes(driver.apply(updates).closure, everything)
        except (NotConvergingError, EngineError):
            continue
        accepted.append(updates)
        assert_trace(driver, expected)
    known = {fact: sign for fact, sign in everything.items() if fact[0] in driver.own}
    assert known == dict.fromkeys(driver.closure(), 1)


def assert_refused(driver, program):
    """The change fails with an error of the engine."""
    try:
        driver.change(program)
    except EngineError:
        return
    raise AssertionError("a program that never ends was accepted")


def assert_trace(driver, expected):
    """The trace and the closure of the program's predicates are as expected."""
    own = set(driver.own)
    found = {fact: counts for fact, counts in expected.items() if fact[0] in own}
    assert driver.trace() == found
    assert driver.closure() == {fact for fact in closure(expected) if fact[0] in own}
