"""What is nested in what changes with the rules, and never what they derive."""

from __future__ import annotations

from driver import Driver
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import numbers
from thorough import THOROUGH

from streamreasoner.program import check_text

RULES = (
    "e(?x, 4, ?z) :- e(?x, 4, ?y), e(?y, 4, ?z) .",
    "e(?x, ?q, ?y) :- e(?x, ?p, ?y), e(?p, 1, ?q) .",
    "e(?x, 2, ?c) :- e(?x, 2, ?b), e(?b, 3, ?c) .",
    "e(?x, 2, ?c) :- e(?x, ?p, _), e(?p, 0, ?c) .",
    "p(?x, ?y) :- e(?x, 2, ?z), e(?y, 2, ?z) .",
    "p(?x, ?y) :- e(?z, 2, ?x), e(?z, 2, ?y) .",
    "p(?x, ?y) :- e(?x, ?p, 3), e(?y, ?p, 3) .",
    "p(?x, 3) :- e(?x, 2, 3), e(?y, ?x, ?x), not e(?y, 2, 3) .",
    "p(?x, ?n) :- e(?x, 2, _), e(_, ?x, ?n) .",
)
TERMS = numbers(5)
UPDATES = st.lists(
    st.tuples(
        st.just("e"),
        st.tuples(st.sampled_from(TERMS), st.sampled_from(TERMS), st.sampled_from(TERMS)),
        st.sampled_from((1, 1, 1, -1, 2)),
    ),
    max_size=12,
)
CHOSEN = st.sets(st.sampled_from(RULES), min_size=3)
STEPS = st.lists(st.tuples(CHOSEN, UPDATES, UPDATES), min_size=2, max_size=4)


@settings(max_examples=2000 if THOROUGH else 36)
@given(STEPS)
def test_the_trace_is_that_of_the_current_rules(steps):
    """Facts of groups that were nested are found, and those of groups that are nested now."""
    programs = [
        check_text("\n".join(("@input e/3 . p(0, 0) .", *sorted(chosen))), "generated.dl")
        for chosen, *_ in steps
    ]
    driver, accepted = Driver(programs[0]), []
    for program, (_, first, second) in zip(programs, steps, strict=True):
        driver.change(program, first)
        driver.apply(second)
        accepted += [first, second]

        assert driver.trace() == evaluate(program, total(accepted))
    driver.apply([(*fact, -sign) for batch in accepted for *fact, sign in batch])

    assert driver.trace() == evaluate(programs[-1], total([]))
