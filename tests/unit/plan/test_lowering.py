"""Lowering: every step preserves the bag of facts of a rule."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from oracle import derivations
from oracle.arithmetic import numeral
from strategies import scenarios
from unit.plan.bags import rows

from streamreasoner.lang.ast import Aggregate
from streamreasoner.plan.algebra import (
    Antijoin,
    Extend,
    Incomplete,
    Join,
    PlanError,
    Product,
    Project,
    Scan,
    Select,
    columns_of,
    walk,
)
from streamreasoner.plan.delta.differentiate import differentiate
from streamreasoner.plan.lower.lowering import lower, lowered, stages
from streamreasoner.plan.operands import COPY, Column, Comparison, Computation, Same
from streamreasoner.plan.order.left_deep import left_deep
from streamreasoner.program import check_text

EX = "@prefix ex: <http://example.org/> .\n"


def rule(text):
    """The only rule of a program."""
    (only,) = check_text(EX + text).rules
    return only


def tree(text, step):
    """The tree of a rule after a step."""
    (found,) = (stage.tree for stage in stages(rule(text)) if stage.step == step)
    return found


def types(node):
    """The types of all nodes, inputs first."""
    return [type(each) for each in walk(node)]


@given(scenarios())
def test_every_step_and_every_rewrite_keeps_the_bag_of_facts(scenario):
    """All trees of a rule, from incomplete expression to last rewrite, give the same bag."""
    present = defaultdict(list)
    for predicate, args in {fact[:2] for epoch in scenario.epochs for fact in epoch}:
        present[predicate].append(args)
    for each in scenario.checked.rules:
        first, *others = [rows(stage.tree, present) for stage in stages(each)]

        assert all(other == first for other in others)


@given(scenarios())
def test_a_tree_derives_what_the_oracle_derives(scenario):
    """The last tree of a rule gives each fact with the oracle's number of matches."""
    facts = {fact[:2] for epoch in scenario.epochs for fact in epoch}
    present = defaultdict(list)
    for predicate, args in facts:
        present[predicate].append(args)
    for each in scenario.checked.rules:
        if any(isinstance(argument, Aggregate) for argument in each.head.arguments):
            continue
        expected = derivations([each], facts)

        assert rows(lowered(each), present) == Counter(
            {args: count for (_, args), count in expected.items()}
        )


def test_the_first_tree_is_a_product_of_whole_relations():
    """The incomplete expression scans every column of every atom, and leaves the rest to do."""
    first = tree("h(?x) :- a(?x, 1), b(?x), not c(?x), ?x != 2 .", "incomplete expression")

    assert types(first) == [Scan, Scan, Product, Incomplete]
    assert columns_of(first.input) == {"$0.0", "$0.1", "$1.0"}
    assert len(first.equations) == 3
    assert len(first.literals) == 2


def test_constants_become_selections():
    """After the second step every constant of an atom is a selection, and none is left to do."""
    second = tree("h(?x) :- a(?x, ex:b), c(1, ?x) .", "constants to selections")
    selected = [each.condition.column for each in walk(second) if isinstance(each, Select)]

    assert selected == ["$0.1", "$1.0"]
    assert {each.column for each in second.equations} == {"$0.0", "$1.1"}


def test_equalities_become_selections():
    """After the third step a variable is its first column, and the others must equal it."""
    third = tree("h(?x) :- a(?x, ?x), b(?x) .", "equalities to selections")
    conditions = [each.condition for each in walk(third) if isinstance(each, Select)]

    assert conditions == [Same("x", Column("$0.1")), Same("x", Column("$1.0"))]
    assert third.equations == ()


def test_the_head_becomes_a_projection():
    """After the fourth step a plain rule is complete: a projection of a selection."""
    fourth = tree("h(?x, 1) :- a(?x, ?y), b(?y) .", "head to projection")

    assert types(fourth) == [Scan, Scan, Product, Select, Project]


def test_products_become_joins():
    """After the fifth step atoms with a variable in common are joined on it; others are not."""
    fifth = tree("h(?x) :- a(?x, ?y), b(?y), c(?z) .", "products to joins")

    assert types(fifth) == [Scan, Scan, Join, Scan, Product, Project]
    assert [each.on for each in walk(fifth) if isinstance(each, Join)] == [{"y"}]


def test_equal_expressions_are_one_column():
    """A repeated expression is computed once, whether an atom, a test or the head uses it."""
    last = lowered(rule("h(?x + 1) :- a(?x, ?x + 1), b(?x + 1), ?x + 1 > 0 ."))

    assert [each.columns for each in last.patterns] == [("x", "#0"), ("#0",)]
    assert {type(each) for each in last.conditions} == {Comparison, Computation}
    assert last.head.arguments == (Column("#0"),)


def test_wildcards_under_a_negation_are_projected():
    """`not e(?x, _)` looks up a fact of a hidden predicate, and `not e(?x, ?x)` one of `e`."""
    last = lowered(rule("h(?x) :- a(?x), not e(?x, _), not e(?x, ?x) ."))
    negated = [type(each.negated) for each in walk(last) if isinstance(each, Antijoin)]

    assert sorted(each.__name__ for each in negated) == ["Project", "Scan"]


def test_a_tree_that_is_not_lowered_has_no_delta_plans():
    """Plans are made only from the last tree; a tree that does not fit is refused."""
    *unfinished, _ = stages(rule("h(?x) :- a(?x, 1), ?x > 2, b(?x), c(?x, _) ."))
    for stage in unfinished[3:8]:
        with pytest.raises(PlanError):
            list(map(left_deep, differentiate(stage.tree)))


def test_a_node_that_reads_a_column_its_input_lacks_cannot_be_built():
    """Selections, computations, negations and heads need columns; those of products differ."""
    tree = lowered(rule("h(?x) :- a(?x, _) ."))
    scan, other = tree.input, lowered(rule("h(?z) :- b(?z) ."))
    for node in (
        Select(scan, Same("y", Column("x"))),
        Extend(scan, Computation("y", COPY, (Column("z"),))),
        Antijoin(scan, other),
        Product((scan, scan)),
        other.input,
    ):
        with pytest.raises(PlanError):
            Project(node, tree.head)


def test_integers_are_what_folding_makes():
    """A folded sum is the constant that the oracle computes."""
    last = lowered(rule("h(?x) :- a(?x, 1 + 2) ."))

    assert last.patterns[0].constants == ((1, numeral(3)),)
    assert last.conditions == ()


def test_rules_that_share_a_body_are_planned_as_if_they_did_not():
    """Whatever the heads keep of the columns."""
    heads = ("h(?x)", "i(?x, ?z)", "j(?z, ?x, 2)", "k(?x, count(?y))")
    body = "a(?x, ?y), b(?y, ?z), not c(?z), ?z != ?x"
    plans = lower(check_text(f"{', '.join(heads)} :- {body} .\n")).strata
    separate = lower(check_text("".join(f"{head} :- {body} .\n" for head in heads))).strata

    assert plans == separate
    for rule in (rule for stratum in plans for rule in stratum.rules):
        assert {plan.head for plan in rule.plans} == {rule.tree.head}
        assert [plan.tree for plan in rule.plans] == [
            left_deep(delta).tree for delta in differentiate(rule.tree)
        ]
