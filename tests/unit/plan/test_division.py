"""Division among parts: who owns a fact, where rules are at home, and what they read there."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import scenarios

from streamreasoner.plan.copies import with_copies
from streamreasoner.plan.division import divide, may_own
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.operands import Column, Pattern
from streamreasoner.plan.print.plans import explain_plan
from streamreasoner.plan.print.stage import Stage
from streamreasoner.program import check_text
from streamreasoner.program.load import load_program


def divided(text):
    """The division of a program, with its rules as (home, names of the copies, sends)."""
    division = divide(lower(check_text(text)))
    rules = [
        (each.home, [copy.predicate for copy in each.reads.values()], each.sends)
        for stratum in division.strata
        for each in stratum
    ]
    return division, rules


def test_facts_are_owned_where_they_are_joined():
    """Both atoms of a join are read where their facts are owned; only the heads move."""
    division, rules = divided("p(?x, ?z) :- p(?x, ?y), e(?y, ?z) .")

    assert (division.owners["p"], division.owners["e"]) == (1, 0)
    assert rules == [("y", [], True)]


def test_facts_that_are_joined_on_two_arguments_have_a_copy():
    """One atom reads owned facts, the other one a copy by the argument of the join."""
    division, rules = divided("p(?x, ?z) :- p(?x, ?y), p(?y, ?z) .")

    assert division.owners["p"] == 0
    assert rules == [("y", ["part@1@p"], True)]


def test_a_schema_is_in_every_part():
    """Rules about data and a schema are at home where the data are."""
    division = divide(lower(load_program("rho-df")))

    assert division.owners == {"triple": 0}
    assert {copy.predicate for copy in division.copies} == {"part@*@triple"}
    assert all(copy.pattern.constants for copy in division.copies)
    assert Counter(each.sends for rules in division.strata for each in rules) == {False: 5, True: 1}


def test_all_triples_stay_where_they_are():
    """What is joined with triples of any predicate is in every part, not all triples twice."""
    _, rules = divided("[?s, ?q, ?o] :- [?s, ?p, ?o], alias(?p, ?q) .")

    assert rules == [("s", ["part@*@alias"], False)]


def test_atoms_without_a_common_variable_meet_at_one_of_them():
    """The facts of one atom stay where they are owned; each part has those of the other."""
    _, rules = divided("h(?x, ?y) :- a(?x), b(?y) .")

    assert rules == [("x", ["part@*@b"], False)]


def test_what_a_recursion_derives_is_not_in_every_part():
    """There is more of it than of its input, so it has copies by an argument instead."""
    _, rules = divided("p(?y, ?x) :- a(?y, ?x) . p(?y, ?o) :- load(?y, ?x), p(?x, ?p), p(?p, ?o) .")

    assert rules[1] == ("p", ["part@*@load", "part@1@p"], True)


def test_a_rule_without_variables_is_at_home_with_its_atom():
    """What no variable tells, the owner of a fact does."""
    _, rules = divided("h(1) :- a(1), not b(2) .")

    assert rules == [(Pattern("a", lower_value(1)), ["part@*@b"], True)]


def lower_value(number):
    """The arguments of a pattern with a number."""
    (stratum, *_) = lower(check_text(f"h(1) :- a({number}) .")).strata
    return stratum.rules[0].tree.patterns[0].arguments


def test_a_group_has_one_owner():
    """The argument that a lattice or a reduction compares tells no owner; without others, none."""
    text = "d(?y, min(?l + 1)) :- d(?x, ?l), e(?x, ?y) . best(min(?x)) :- e(?x, _) ."
    plan = lower(check_text(text + "n(?y, count(?x)) :- e(?x, ?y) . all(count(?x)) :- e(?x, _) ."))
    allowed = may_own(plan)
    owners = divide(plan).owners

    assert allowed["d"] == (0,)
    assert owners["best"] is None
    for reduction in plan.reductions:
        assert set(allowed[reduction.candidates]) == set(reduction.key)


@given(scenarios(), st.randoms(use_true_random=False))
def test_each_solution_is_found_in_one_part(scenario, random):
    """One atom of each rule at least has its facts in one part; others follow its home."""
    plan = lower(scenario.checked)
    owners = {name: random.choice((*at, None)) for name, at in may_own(plan).items()}
    division = divide(plan, owners)
    for stratum, placed in zip(plan.strata, division.strata, strict=True):
        for rule, each in zip(stratum.rules, placed, strict=True):
            places = [place(atom, each, owners) for atom in rule.tree.patterns]
            negated = [place(atom, each, owners) for atom in rule.tree.negated]

            assert each.home in (places or negated)
            assert {*places, *negated} <= {each.home, None}


def place(atom, placed, owners):
    """What tells where a fact of an atom is read; None if every part reads it."""
    copy = placed.reads.get(atom)
    if copy is not None:
        return None if copy.position is None else atom.arguments[copy.position].name
    if atom == placed.home:
        return atom
    argument = atom.arguments[owners[atom.predicate]]
    assert isinstance(argument, Column)
    return argument.name


@given(scenarios())
def test_rules_read_copies_and_derive_facts(scenario):
    """The plan of a part has the rules of the program, whose heads are its own predicates."""
    plan = lower(scenario.checked)
    own = with_copies(plan, divide(plan))
    for before, after in zip(plan.strata, own.strata, strict=True):
        assert [rule.tree.head for rule in before.rules] == [rule.tree.head for rule in after.rules]
        for old, new in zip(before.plans, after.plans, strict=True):
            patterns = [old.delta.pattern, *(scanned(old))]
            renamed = [new.delta.pattern, *(scanned(new))]

            assert [each.arguments for each in patterns] == [each.arguments for each in renamed]
            for was, now in zip(patterns, renamed, strict=True):
                assert now.predicate in {was.predicate, *copies_of(own, was.predicate)}
    assert own.hidden - plan.hidden == own.arities.keys() - plan.arities.keys()


def scanned(plan):
    """The patterns of the facts that the steps of a plan read."""
    return [step.scan.pattern for step in plan.steps if hasattr(step, "scan")]


def copies_of(plan, predicate):
    """The predicates of the copies of facts."""
    return {each.predicate for each in plan.copies if each.pattern.predicate == predicate}


@pytest.mark.parametrize("name", ["rho-df", "owl-rl"])
def test_a_division_is_printed(name):
    """Each predicate has an owner, each rule a home, and each copy a line."""
    plan = lower(load_program(name))
    text = explain_plan(load_program(name), stage=Stage.PARTS)
    owners, homes, copies = (block.splitlines()[1:] for block in text.split("\n\n"))

    assert len(owners) == len(plan.arities)
    assert sum(not line.startswith(" ") for line in homes) == sum(
        len(stratum.rules) for stratum in plan.strata
    )
    assert len(copies) == len(divide(plan).copies)
