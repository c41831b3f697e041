"""Patterns of triple terms: after every epoch the facts are those of an oracle without indexes."""

from __future__ import annotations

import re

from driver import Driver
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.test_goals import Asked, goal_of
from oracle import closure, evaluate, total
from thorough import THOROUGH

from streamreasoner.explain import Fact, Limits, explain
from streamreasoner.program import check_text

EX = "http://example.org/"
DECLARED = f"@prefix ex: <{EX}> .\n@input r/2, p/2, e/2 ."
RULES = (
    "p(?x, ?y) :- r(_, <<( ?x ex:p ?y )>>) .",
    "p(?x, ?y) :- r(?b, <<( ?x ?v ?y )>>), r(?b, ?v) .",
    "p(?x, ?x) :- r(_, <<( ?x _ ?x )>>) .",
    "p(?x, ?z) :- r(?x, <<( ?x ex:p <<( ?y ex:q ?z )>> )>>), p(?y, _) .",
    "p(?y, ?x) :- p(<<( ?x ex:p ?y )>>, ?x), p(?y, ?x) .",
    "p(?x, ?y) :- r(<<( ?x ex:p ?y )>>, <<( ?x ex:q ?y )>>), r(?y, _) .",
    "r(?x, <<( ?y ex:p ?x )>>) :- r(?x, <<( ?x ex:p ?y )>>) .",
    "r(?x, <<( ?y ex:p ?x )>>) :- r(?y, <<( ?y ex:q ?x )>>), p(?x, ?y) .",
    "r(<<( ?x ex:q ?y )>>, ?y) :- p(?x, ?y), r(?y, _) .",
    "r(?v, <<( ?x ?v ?y )>>) :- p(?x, ?y), r(?x, ?v) .",
    "n(?x) :- p(?x, _), not r(_, <<( ?x ex:p _ )>>) .",
    "n(?y) :- r(?x, ?y), not r(?x, <<( ?y ex:p ?y )>>) .",
    "n(?y) :- r(?x, ?y), not r(?x, <<( ?x ex:p <<( _ _ ?y )>> )>>) .",
    "n(?x) :- r(?x, ?v), not { r(?x, <<( ?x ?w ?y )>>), p(?y, ?w) } .",
    "n(?x) :- p(?x, _), not r(subject(?x), <<( ?x ?x _ )>>) .",
    "c(?x, count(?y)) :- r(_, <<( ?x _ ?y )>>) .",
    "c(?x, ?n) :- p(?x, _), ?n = count(?y) { r(?b, <<( ?x ?v ?y )>>), p(?v, ?b) } .",
    "l(?x, min(?y)) :- r(?b, <<( ?x ex:p ?y )>>), r(?x, ?b) .",
    "e(?x, ?t) :- p(?x, ?y), ?t = <<( ?x ex:p ?y )>> .",
    "e(?x, ?y) :- r(?x, ?t), ?y = subject(?t), r(_, <<( ?y ex:p _ )>>) .",
    "e(?y, ?x) :- asserted r(?x, <<( ?x ex:p ?y )>>), p(?x, _) .",
    "e(?x, ?y) :- ?y = 1, r(_, <<( ?x ex:p ?y )>>) .",
    "e(?x, ?y) :- p(?z, ?y), ?y = ?z, (r(_, <<( ?x ex:p ?y )>>) | r(<<( ?y ex:q ?x )>>, _)) .",
)
RECURSIVE = (
    "r(?b, <<( ?x ex:p ?z )>>) :- r(?b, <<( ?x _ ?y )>>), r(?b, <<( ?y ex:q ?z )>>) .",
    "r(?y, <<( ?x ex:q ?x )>>) :- r(?x, <<( ?y ex:p ?x )>>), p(?x, _) .",
    "r(?b, <<( ?z ex:p ?x )>>) :- r(?b, <<( ?x _ <<( ?y ex:q ?z )>> )>>), p(?y, ?z) .",
    "p(?x, ?y) :- r(?x, <<( ?x ex:p ?y )>>), not n(?y) .",
    "p(?x, ?z) :- r(_, <<( ?x ?v ?y )>>), r(?y, <<( ?x ?v ?z )>>) .",
    "n(?x) :- e(_, <<( ?x ex:q _ )>>), e(?x, _) .",
)
"""They derive the terms that their own atoms take apart."""
IRIS = tuple(f"<{EX}{name}>" for name in "abpq")
PLAIN = (*IRIS, *(f'"{text}"^^<http://www.w3.org/2001/XMLSchema#integer>' for text in ("1", "01")))
FLAT = st.builds("<<( {} {} {} )>>".format, *map(st.sampled_from, (IRIS[:2], IRIS[2:], PLAIN)))
NESTED = st.builds("<<( {} {} {} )>>".format, *map(st.sampled_from, (IRIS[:2], IRIS[2:])), FLAT)
TERMS = st.one_of(st.sampled_from(PLAIN), FLAT, FLAT, NESTED)
FACTS = st.tuples(st.sampled_from("rrrp"), st.tuples(TERMS, TERMS))
NODES = st.sampled_from(IRIS[:2])
EDGES = st.builds("<<( {} {} {} )>>".format, NODES, st.sampled_from(IRIS[2:]), NODES)
WAYS = st.builds("<<( {} {} {} )>>".format, NODES, st.sampled_from(IRIS[2:]), EDGES)
DENSE = st.tuples(st.sampled_from("rrre"), st.tuples(NODES, EDGES | EDGES | WAYS))
PROGRAMS = st.lists(st.sampled_from(RULES), unique=True, min_size=1, max_size=6)


@st.composite
def epochs(draw, some=FACTS):
    """Epochs of updates of a few facts, which come and go."""
    facts = draw(st.lists(some, min_size=1, max_size=8))
    update = st.tuples(st.sampled_from(facts), st.sampled_from((1, 1, 2, -1)))
    chosen = draw(st.lists(st.lists(update, max_size=6), min_size=1, max_size=4))
    return [[(*fact, times) for fact, times in updates] for updates in chosen]


def checked(rules):
    """The program of some rules."""
    return check_text("\n".join((DECLARED, *rules)))


def applied(program, updates):
    """A driver of a program that has applied the sum of updates in one epoch."""
    driver = Driver(program)
    driver.apply([(*fact, times) for fact, times in total(updates).items()])
    return driver


@settings(max_examples=1000 if THOROUGH else 24)
@given(PROGRAMS, epochs())
def test_patterns_match_as_the_oracle_says(rules, updates):
    """Incrementally and from scratch; what was asserted leaves nothing when it is retracted."""
    check(rules, updates)


@settings(max_examples=1000 if THOROUGH else 24)
@given(st.lists(st.sampled_from(RECURSIVE), unique=True, min_size=2), epochs(DENSE))
def test_patterns_in_recursions_match_as_the_oracle_says(rules, updates):
    """Terms that rules derive are taken apart an iteration later, which the trace shows."""
    check(rules, updates)


def check(rules, updates):
    """Compare the facts and the trace after each epoch; retract everything at the end."""
    program = checked(rules)
    driver, accepted = Driver(program), []
    for epoch in updates:
        driver.apply(epoch)
        accepted.append(epoch)

        expected = evaluate(program, total(accepted))

        assert driver.closure() == closure(expected)
        assert driver.trace() == expected
        assert driver.trace(driver.predicates) == applied(program, accepted).trace(
            driver.predicates
        )
    driver.apply([(*fact, -times) for fact, times in total(accepted).items()])

    assert driver.trace(driver.predicates) == applied(program, []).trace(driver.predicates)


@settings(max_examples=200 if THOROUGH else 12)
@given(PROGRAMS, PROGRAMS, epochs())
def test_rules_with_patterns_change_in_place(rules, others, updates):
    """After a change of rules the state is that of the new ones from scratch."""
    driver = Driver(checked(rules))
    for epoch in updates:
        driver.apply(epoch)
    program = checked(others)
    driver.change(program)
    anew = applied(program, updates)

    assert driver.trace(anew.predicates) == anew.trace(anew.predicates)


@settings(max_examples=500 if THOROUGH else 24)
@given(PROGRAMS, epochs(), st.integers(0, 2**12), st.integers(0, 255))
def test_goals_of_rules_with_patterns(rules, updates, number, mask):
    """After every epoch the answer of a goal is what matches it of all consequences."""
    asked = Asked(checked(rules))
    for epoch in updates:
        asked.apply(epoch)
        for at in range(3):
            asked.check(goal_of(asked.whole, number + at, mask))


@settings(max_examples=200 if THOROUGH else 12)
@given(PROGRAMS, epochs(), st.lists(FACTS, max_size=3))
def test_facts_of_rules_with_patterns_are_explained(rules, updates, facts):
    """A present fact has a proof whose facts are present; an absent one has reasons."""
    driver = applied(checked(rules), updates)
    session, present = driver.session, driver.closure()
    for fact in (*sorted(present), *facts, *((name, terms) for _, terms in facts for name in "e")):
        found = explain(session.program, session.engine, session.dictionary, Fact(*fact), Limits())

        assert found.present == (fact in present)
        assert not re.search("(parts|match)#", found.text())
        if found.present:
            steps = {(step.fact.predicate, step.fact.arguments) for step in found.content.steps}

            assert steps <= {*present, *driver.closure(session.program.helpers)}
