"""Joins that only count derive what walks would: facts, iterations and multiplicities."""

from __future__ import annotations

import numpy as np
import pytest
from driver import Driver
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import checked, numbers
from thorough import THOROUGH

from streamreasoner.backends.columnar import backend, parallel
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.errors import EngineError, MultiplicityOverflowError

INPUT = "@input e/2, f/2, g/1, q/1, r/1, s/1, best/2 .\n"
ALWAYS = "q(1) :- e(_, _), f(_, _), g(_) ."
RULES = (
    "q(?x) :- e(?x, _), f(?x, _), f(_, ?x) .",
    "q(?x) :- e(?x, _), e(?x, _) .",
    "q(?x) :- e(?x, ?y), f(_, _), not f(?y, ?x), ?x < ?y .",
    "g(?y) :- e(?x, ?y), not f(?x, ?y) .",
    "r(?x) :- g(?x), f(2, _), e(_, 2) .",
    "r(?y) :- r(?x), e(?x, ?y), f(?y, _), g(_), r(_) .",
    "r(?x + 1) :- r(?x), q(_) .",
    "best(?x, min(?y)) :- f(?x, ?y) .",
    "s(?x) :- best(?x, _), best(_, ?x), e(_, _) .",
    "r(?x) :- e(?x, ?y), f(?y, ?z), e(?x, ?z), f(?z, _), e(_, _) .",
    "[?x, <urn:p>, ?y] :- e(?x, ?y), f(?y, _) .",
    "[?x, ?p, 1] :- [?x, ?p, _], [_, <urn:p>, _], e(_, _), g(?x) .",
)
TERMS = numbers(4)
TERM = st.sampled_from(TERMS)
FACTS = st.one_of(
    st.tuples(st.sampled_from("ef"), st.tuples(TERM, TERM)),
    st.tuples(st.sampled_from("gr"), st.tuples(TERM)),
)
EPOCHS = st.lists(
    st.tuples(FACTS, st.sampled_from((1, 1, 2, -1))).map(lambda each: (*each[0], each[1])),
    max_size=8,
)
PROGRAMS = st.lists(st.sampled_from(RULES), max_size=6, unique=True).map(
    lambda rules: checked(INPUT + "\n".join((ALWAYS, *rules)))
)
STEPS = st.lists(
    st.one_of(
        EPOCHS, EPOCHS, st.tuples(st.sampled_from(("rehearse", "inherit")), EPOCHS), PROGRAMS
    ),
    max_size=5,
)
LIMIT = 12
"""Iterations: a rule that counts up without end fails in the middle of its stratum."""


@settings(max_examples=2000 if THOROUGH else 36)
@given(PROGRAMS, STEPS, st.booleans())
@example(
    program=checked(INPUT + ALWAYS),
    steps=[
        [("e", (TERMS[3], TERMS[3]), 1)],
        checked(f"{INPUT}{ALWAYS}\n{RULES[4]}"),
        ("inherit", []),
    ],
    threads=False,
)
def test_the_trace_is_that_of_the_oracle(program, steps, threads):
    """Through epochs, those that fail or are undone, changes of the program, and restarts."""
    driver, accepted = Driver(program, recursion_limit=LIMIT), []
    with pytest.MonkeyPatch.context() as sizes:
        if threads:
            sizes.setattr(backend.ColumnarBackend, "large", 1)
            sizes.setattr(parallel, "CHUNK", 2)
            sizes.setattr(parallel, "LIMIT", 4)
        for step in steps:
            try:
                match step:
                    case list():
                        driver.apply(step)
                        accepted.append(step)
                    case ("rehearse", epoch):
                        driver.session.rehearse(driver.encode(epoch))
                    case ("inherit", _):
                        heir = Driver(program, recursion_limit=LIMIT)
                        heir.inherit(driver)
                        driver = heir
                    case _:
                        driver.change(step)
                        program = step
            except EngineError:
                pass
            assert_counted(driver)
            assert driver.trace() == evaluate(program, total(accepted))


def assert_counted(driver):
    """There are counters, and they hold what counting all facts again finds."""
    state = driver.session.engine._backend._state  # noqa: SLF001 - nothing else shows them
    before = sizes_of(state, len(driver.session.dictionary))
    state.recount()

    assert before == sizes_of(state, len(driver.session.dictionary))


def sizes_of(state, terms):
    """The sizes that counters have, by counter and key."""
    counted = state.column(layout.COUNTED).reshape(-1, layout.COUNTED_WIDTH)
    # Those of stratum 0 are for rules that a change of program has withdrawn.
    used = {int(counter) for counter, _, stratum in counted if stratum}
    arrays = [state._counters[counter].array for counter in sorted(used)]  # noqa: SLF001 - as above
    assert arrays
    return [np.array(array[: terms + 1]).tolist() for array in arrays]


def test_a_product_is_not_enumerated():
    """A rule of 28 independent atoms has as many matches as the product of their sizes."""
    driver = Driver(checked(f"q(1) :- {', '.join(['g(_)'] * 28)} ."))
    facts = [("g", (term,), 1) for term in TERMS]
    driver.apply(facts[:2])
    driver.apply(facts[2:])

    assert driver.trace()["q", (TERMS[1],)] == {1: 4**28}
    driver.apply([(*fact, -1) for *fact, _ in facts[1:]])
    assert driver.trace()["q", (TERMS[1],)] == {1: 1}


def test_a_product_out_of_range_fails_the_epoch():
    """A multiplicity has 59 bits, also one that is not enumerated; the state stays as it was."""
    driver = Driver(checked(f"q(1) :- {', '.join(['g(_)'] * 30)} ."))
    driver.apply([("g", (TERMS[0],), 1)])
    before = driver.trace()
    with pytest.raises(MultiplicityOverflowError):
        driver.apply([("g", (term,), 1) for term in TERMS[1:]])

    assert driver.trace() == before
    assert_counted(driver)


def test_a_rule_that_counts_is_applied_one_by_one():
    """Its groups could intersect, but sizes are those before and after single deltas."""
    program = checked(INPUT + "r(?x) :- e(?x, ?y), f(?y, ?z), e(?x, ?z), f(?z, _), e(_, _) .")
    edges = [(name, (x, y), 1) for name in "ef" for x in TERMS for y in TERMS]
    driver = Driver(program)
    driver.apply(edges)
    assert driver.trace() == evaluate(program, total([edges]))
    lost = [(*fact, -1) for *fact, _ in edges[::3]]
    driver.apply(lost)
    assert driver.trace() == evaluate(program, total([edges, lost]))


def test_a_product_that_fails_an_epoch_leaves_the_sizes():
    """The change that fails has been counted, like those before it: all of them are taken back."""
    driver = Driver(checked(f"q(1) :- {', '.join(['g(_)'] * 30)} ."))
    facts = [("g", (term,), 1) for term in TERMS]
    driver.apply(facts[:2])
    with pytest.raises(MultiplicityOverflowError):
        driver.apply(facts[2:])
    assert_counted(driver)
    driver.apply(facts[2:3])

    assert driver.trace()["q", (TERMS[1],)] == {1: 3**30}


def test_sizes_are_those_before_a_block():
    """Changes that share matches in one plan are applied together in plans that count, too."""
    program = checked(
        INPUT
        + "[?x, <urn:p>, ?w] :- e(?x, ?y), f(?y, ?z), e(?z, ?w) .\n"
        + "q(?y) :- e(?x, ?y), e(_, ?y), f(?y, _), e(?y, _), f(_, _) ."
    )
    first = [(name, (x, y), 1) for name in "ef" for x in TERMS for y in TERMS[:3]]
    second = [(name, (x, TERMS[3]), 1) for name in "ef" for x in TERMS]
    second += [(*fact, -1) for *fact, _ in first[::3]]
    driver = Driver(program)
    for number, epoch in enumerate((first, second)):
        driver.apply(epoch)
        assert driver.trace() == evaluate(program, total([first, second][: number + 1]))
    state = driver.session.engine._backend._state  # noqa: SLF001 - nothing else shows it
    assert state.scalars[layout.SHARED] > 0
    assert_counted(driver)
