"""A rule fires once for each match: the profile counts what evaluation from scratch finds.

Only where all changes of an epoch have one sign: otherwise a match may come and go in it.
"""

from __future__ import annotations

import pytest
from driver import Driver
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import derivations, evaluate, readable
from strategies import numbers, programs_of
from thorough import THOROUGH

from streamreasoner.backends.columnar import backend, parallel
from streamreasoner.program.checked import check_text

RULES = (
    "p(?x, ?y) :- e(?x, ?y) .",
    "p(?x, ?z) :- p(?x, ?y), e(?y, ?z) .",
    "p(?x, ?z) :- p(?x, ?y), p(?y, ?z), e(?z, ?x) .",
    "p(?y, ?x), q(?x) :- p(?x, ?y), f(?y, _) .",
    "q(?x) :- e(?x, ?x) .",
    "q(?x) :- e(?x, _), f(_, _), f(?x, _), e(_, ?x) .",
    "q(?x) :- (e(?x, _) | f(_, ?x) | p(?x, 2)) .",
    "r(?x, ?y + 1) :- e(?x, ?y), f(?y, ?z), ?z > ?x .",
    "r(?x, ?z) :- f(?x, ?y), e(?y, ?z), f(?z, ?x) .",
    "[?x, <urn:p>, ?y] :- r(?x, ?y), q(?x) .",
    "[?x, ?p, ?z] :- [?x, ?p, ?y], [?y, ?p, ?z] .",
)
TERMS = numbers(4)
FACTS = st.lists(
    st.tuples(st.sampled_from("ef"), st.tuples(*[st.sampled_from(TERMS)] * 2)), unique=True
)
INPUT = "@input e/2, f/2, p/2, q/1, r/2 ."
NO_RULES = check_text(INPUT, "generated.dl")
PROGRAMS = programs_of(INPUT, RULES, min_size=1)


def firings(checked, facts):
    """The matches of each rule in normal form on what holds in the end."""
    found = readable(evaluate(checked, dict.fromkeys(facts, 1)))
    return [sum(derivations([rule], found).values()) for rule in checked.rules]


@settings(max_examples=1000 if THOROUGH else 24)
@given(PROGRAMS, FACTS, st.booleans())
def test_a_rule_fires_once_for_each_match(checked, facts, threads):
    """All matches come with the facts, and go with them; with two threads as with one."""
    driver = Driver(checked)
    expected = firings(checked, facts)
    with pytest.MonkeyPatch.context() as sizes:
        if threads:
            sizes.setattr(backend.ColumnarBackend, "large", 1)
            sizes.setattr(parallel, "CHUNK", 2)
            sizes.setattr(parallel, "LIMIT", 4)
        come = driver.apply([(*fact, 1) for fact in facts]).work()
        gone = driver.apply([(*fact, -1) for fact in facts]).work()
    for work in (come, gone):
        assert work.firings.tolist() == expected
        assert work.rules == len(expected)
        assert (work.nanoseconds >= 0).all()


@settings(max_examples=500 if THOROUGH else 12)
@given(PROGRAMS, FACTS)
def test_a_change_of_the_program_fires_what_it_adds_and_withdraws(checked, facts):
    """Rules that are added fire on all facts, and so do those that are withdrawn."""
    driver = Driver(NO_RULES)
    driver.apply([(*fact, 1) for fact in facts])
    expected = firings(checked, facts)
    added = driver.change(checked).work()
    assert added.firings.tolist() == expected
    withdrawn = driver.change(NO_RULES).work()
    assert (withdrawn.rules, withdrawn.firings.tolist()) == (0, expected)
    assert not driver.apply([]).work().firings.any()


def test_what_lowering_adds_counts_for_the_rule_it_is_added_for():
    """A projection of a negated atom, the matches of aggregates, and the join of their results."""
    checked = check_text(
        "root(?x) :- e(?x, _), not e(_, ?x) .\n"
        "size(?x, count(?y)) :- e(?x, ?y) .\n"
        "both(?x, sum(?y), max(?y)) :- e(?x, ?y) .\n",
        "generated.dl",
    )
    facts = [("e", tuple(TERMS[at] for at in pair)) for pair in ((0, 1), (0, 2), (3, 3))]
    work = Driver(checked).apply([(*fact, 1) for fact in facts]).work()
    # 3 of the projection, 3 or more of the rule; 3 of each aggregate, and 2 groups joined.
    assert work.firings[0] >= 3 + 2
    assert work.firings[1:].tolist() == [3, 3 + 3 + 2]
    assert (work.nanoseconds > 0).all()
