"""After rules are added and removed, the state is that of the current rules."""

from __future__ import annotations

from driver import Driver
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import NotConvergingError, closure, evaluate, total
from strategies import HEADER, checked, scenarios

from streamreasoner.errors import EngineError, ProgramError

_CHOICE = st.integers(0, 255)


def part(text, choice):
    """A program of a subset of the lines of a text, or None if it is invalid."""
    rules = text.removeprefix(HEADER).splitlines(keepends=True)
    chosen = [rule for index, rule in enumerate(rules) if choice >> index % 8 & 1]
    try:
        return checked(HEADER + "".join(chosen))
    except ProgramError:
        return None


@given(scenarios(), st.lists(_CHOICE, min_size=2, max_size=5))
def test_trace_is_that_of_the_current_rules(scenario, choices):
    """However rules change between epochs, the trace is that of the current rules from scratch.

    The changes of all epochs sum to the closure, and a rejected change has no effect.
    """
    assume(scenario.program.startswith(HEADER))
    programs = [program for choice in choices if (program := part(scenario.program, choice))]
    assume(programs)
    driver, accepted, everything = Driver(programs[0]), [], {}
    steps = [*zip(programs, scenario.epochs, strict=False)]
    for program, epoch in [*steps, *((program, []) for program in programs[len(steps) :])]:
        # Leave out facts of predicates that the current program does not have.
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
    """The change raises EngineError."""
    try:
        driver.change(program)
    except EngineError:
        return
    raise AssertionError("a program that does not converge was accepted")


def assert_trace(driver, expected):
    """Trace and closure of the program's predicates are as expected."""
    own = set(driver.own)
    trace = {fact: entries for fact, entries in expected.items() if fact[0] in own}
    assert driver.trace() == trace
    assert driver.closure() == {fact for fact in closure(expected) if fact[0] in own}
