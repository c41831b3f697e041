"""Goals: what is evaluated for a goal is what matches it of all consequences."""

from __future__ import annotations

import pyarrow as pa
import pytest
from driver import Driver
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import scenarios
from thorough import THOROUGH

from streamreasoner.api.asking.goals import GoalEvaluation, Pays, asserted_facts
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.backends.store import columnar
from streamreasoner.errors import DataError, ProgramError
from streamreasoner.facts import FactPattern, decode_rows, matching
from streamreasoner.lang.ast import NOWHERE, Constant, Variable, Wildcard
from streamreasoner.program import check_text


def goal_of(driver, number, mask):
    """A goal of one of the program's predicates, with terms of one of its facts or of the input."""
    names = sorted(driver.own)
    predicate = names[number % len(names)]
    args = driver.session.engine.facts(predicate)
    arity = driver.session.program.arities[predicate]
    if len(args):
        terms = driver.session.dictionary.decode(args[number // len(names) % len(args)]).to_pylist()
    else:
        terms = ["<http://example.org/a>"] * arity
    return FactPattern(
        predicate,
        tuple(
            Constant(term, NOWHERE)
            if mask >> at & 1
            else Variable("x", NOWHERE)
            if mask >> 4 + at & 1
            else Wildcard(NOWHERE)
            for at, term in enumerate(terms)
        ),
    )


def terms_of(session, args):
    """Rows of ids as a set of rows of terms."""
    return set(decode_rows(args, session.dictionary, str))


@settings(max_examples=5_000 if THOROUGH else 60)
@given(
    scenarios(most_rules=6, most_epochs=1),
    st.integers(0, 2**12),
    st.integers(0, 255),
    st.sampled_from((Pays(), Pays(), Pays(rules=0), Pays(facts=1, part=0.0))),
)
def test_the_answer_of_a_goal_is_what_matches_it(scenario, number, mask, pays):
    """Of any program, goal and facts, the answer equals the selection from all consequences."""
    program = scenario.checked
    assume(not program.expiries)
    driver = Driver(program)
    # What is asserted less than never hides what is derived, which no demand knows of.
    driver.run([[(name, args, abs(times)) for name, args, times in scenario.epochs[0]]])
    goal = goal_of(driver, number, mask)
    present = driver.session.engine.facts(goal.predicate)
    expected = present[matching(goal, present, driver.session.dictionary)]
    facts = asserted_facts(driver.session)
    asked = GoalEvaluation(
        program,
        goal,
        facts,
        driver.session.dictionary,
        new_store=Driver.new_store or columnar,
        pays=pays,
    )
    assert terms_of(asked.session, asked.answer()) == terms_of(driver.session, expected)
    assert len(asked.answer()) == len(expected)


PATHS = """
@prefix ex: <http://example.org/> .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""


def chain(count):
    """A reasoner without rules, with that many chains of three edges."""
    reasoner = Reasoner.from_rules("@input edge/2 .")
    names = [f"http://example.org/n{number}" for number in range(4 * count)]
    reasoner.apply_tables(
        {
            "edge": pa.table(
                {
                    "a0": [f"<{name}>" for at, name in enumerate(names) if at % 4 < 3],
                    "a1": [f"<{name}>" for at, name in enumerate(names) if at % 4 > 0],
                }
            )
        }
    )
    return reasoner


def test_a_goal_reads_what_it_needs():
    """A goal about one chain of many reads the edges of this chain, and no others."""
    reasoner = chain(5_000)
    found = reasoner.ask_goal("path(ex:n0, ?y)", PATHS)
    assert {str(target) for _, target in found} == {
        f"http://example.org/n{number}" for number in (1, 2, 3)
    }
    program = check_text(PATHS)
    goal = FactPattern("path", (Constant("<http://example.org/n0>", NOWHERE), Wildcard(NOWHERE)))
    facts = asserted_facts(reasoner.session)
    asked = GoalEvaluation(program, goal, facts, reasoner.session.dictionary)
    assert (asked.by_demand, asked.read) == (True, 3)


def test_a_goal_without_rules_is_of_the_present_facts():
    """The reasoner's own facts, derived ones too, are selected; nothing is added to it."""
    reasoner = Reasoner.from_rules(f"{PATHS} edge(ex:a, ex:b) . edge(ex:b, ex:c) .")
    assert len(reasoner.ask_goal("path(ex:a, ?y)")) == 2
    assert len(reasoner.ask_goal("path")) == 3
    assert reasoner.ask_goal("path(ex:none, _)").to_arrow().num_rows == 0


def test_a_wrong_goal_is_refused_by_name():
    """Unknown predicates, wrong arities, expressions and several atoms are shown with a caret."""
    reasoner = chain(1)
    for goal, code in (
        ("pathh(ex:a, ?y)", "SR211"),
        ("path(ex:a)", "SR210"),
        ("path(1 + 1, ?y)", "SR107"),
        ("path(ex:a, ?y) . path(ex:b, ?y)", "SR101"),
    ):
        with pytest.raises(ProgramError, match=code):
            reasoner.ask_goal(goal, PATHS)
    with pytest.raises(DataError, match="'edge' has 2 arguments"):
        reasoner.ask_goal("far(?x)", "far(?x) :- edge(?x, _, _) .")


def test_a_goal_compares_terms_where_rules_assign_them():
    """A goal about 1 is not answered by a rule that computes 1.0, and equal values are joined."""
    stated = "q(2.5) . q(1.0) . s(1) . s(1.0) . s(2) ."
    rules = "p(?v) :- q(?x), ?v = ?x % 2 . r(?z) :- q(?x), s(?z), ?x = ?z . u(?z) :- r(?z) ."
    facts = Reasoner.from_rules(f"@input q/1, s/1 . {stated}")
    whole = Reasoner.from_rules(f"{rules} {stated}")
    for goal in ("p(0.5)", "p(5.0e-1)", "p(1)", "p(1.0)", "u(?x)", "u(1)", "u(1.0e0)"):
        assert {*facts.ask_goal(goal, rules)} == {*whole.ask_goal(goal)}, goal
    assert len(facts.ask_goal("u(?x)", rules).to_arrow()) == 2
