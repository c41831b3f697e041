"""Rewrites: each applies where it is valid, and nowhere else."""

from __future__ import annotations

import pytest
from driver import Driver
from oracle import evaluate, total

from streamreasoner.plan import operands
from streamreasoner.plan.algebra import Extend, Project, walk
from streamreasoner.plan.lower.lowering import lower, lowered
from streamreasoner.plan.operands import Column, Comparison, Computation
from streamreasoner.plan.rewrite import REWRITES
from streamreasoner.plan.rewrite.projections import project_negated_wildcards
from streamreasoner.program import check_text

EX = "@prefix ex: <http://example.org/> .\n"
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"


def tree(text):
    """The last tree of the only rule of a program."""
    (rule,) = check_text(EX + text).rules
    return lowered(rule)


def integer(number):
    """A canonical integer."""
    return f'"{number}"^^{INTEGER}'


@pytest.mark.parametrize("name", REWRITES)
def test_a_second_time_changes_nothing(name):
    """A rewrite does not change a fully rewritten rule."""
    for text in (
        "h(?x, 1 + 1) :- a(?x, 2), a(?x, 2), not b(?x, _), ?x < 3, ?z = 1 .",
        "h(?v) :- a(?x, ?y), b(?y, _), ?y != 2, ?v = ?x * 2, contains(?x, concat(?y, ?x)) .",
    ):
        (rule,) = (each for each in check_text(EX + text).rules)

        assert REWRITES[name](lowered(rule)) == lowered(rule)


def test_equal_atoms_without_wildcards_are_one():
    """The second of two equal atoms is removed; with wildcards both stay, as they count pairs."""
    assert len(tree("h(?x) :- e(?x, ?y), e(?x, ?y) .").patterns) == 1
    assert len(tree("h(?x) :- e(?x, 1), e(?x, 1) .").patterns) == 1
    assert len(tree("h(?x) :- e(?x, _), e(?x, _) .").patterns) == 2
    assert len(tree("h(?x) :- e(?x, ?y), e(?x, _) .").patterns) == 2
    assert len(tree("h(?x) :- e(?x, ?y), e(?y, ?x) .").patterns) == 2


def test_equal_conditions_and_negations_are_one():
    """A repeated test, comparison or negation is removed."""
    found = tree("h(?x) :- e(?x), ?x > 1, ?x > 1, not f(?x, _), not f(?x, _), not f(?x, ?x) .")

    assert len(found.conditions) == 1
    assert len(found.negated) == 2


@pytest.mark.parametrize(
    "text",
    [
        "h(?x) :- e(?x, ?y), e(?x, ?y) .",
        "h(?x) :- e(?x, _), e(?x, _) .",
        "h(?x) :- e(?x, ?y), e(?x, _), e(?x, ?y) .",
        "h(?x) :- e(?x, ?y), not e(?y, _), not e(?y, _), e(?x, 1 + 1) .",
        "h(?x) :- e(?x, ?z), ?z = 1 + 1 .",
        "h(?x, ?z) :- e(?x, ?y), ?z = 2 * 2, ?z > ?y, 2 > 1 .",
        "h(?x) :- e(?x, ?y), 1 > 2 .",
        'h(?x) :- e(?x, ?y), matches("a", concat("(", "")) .',
        'h(?x) :- e(?x, ?y), not matches("a", concat("(", "")) .',
        "h(?x, 1 / (1 - 1)) :- e(?x, _) .",
        "h(1 + 1) :- e(_, _) .\nh(?x) :- h(?x), e(?x, ?x) .",
        "d(?x, ?w) :- e(?x, ?w) .\nd(?y, min(1 + 1)) :- d(?x, ?d), d(?x, ?d), e(?x, ?y) .",
        "h(?x, count(1 + 1)) :- e(?x, _), e(?x, _) .\ne(?x, ?x) :- f(?x) .",
    ],
)
def test_the_trace_with_its_counts_is_that_of_the_rule_as_written(text):
    """The engine derives from the rewritten rule what the oracle derives from the rule."""
    checked = check_text(EX + text)
    terms = [integer(number) for number in (1, 2, 3)]
    epochs = [
        [("e", (one, other), 1) for one in terms for other in terms[:2]],
        [("e", (terms[0], terms[1]), -1), ("e", (terms[2], terms[2]), 2)],
    ]
    driver = Driver(checked)
    driver.run(epochs)

    assert driver.trace() == evaluate(checked, total(epochs))


def test_constants_are_computed_once():
    """A computation without variables is replaced by its value."""
    found = tree("h(?x) :- e(?x, 1 + 1), ?z = 2 * 3, ?x < ?z, not f(?z + 1) .")

    assert found.patterns[0].constants == ((1, integer(2)),)
    assert found.negated[0].constants == ((0, integer(7)),)
    assert [type(each) for each in found.conditions] == [Comparison]


def test_a_head_keeps_its_openness():
    """A computed argument of a head stays a column, so strata and lattices stay as analysed."""
    found = tree("h(?x, 1 + 1) :- e(?x) .")

    assert [type(each) for each in found.head.arguments] == [Column, Column]
    assert [each.function for each in found.conditions] == ["copy"]


@pytest.mark.parametrize(
    "expression",
    ["1 / (1 - 1)", 'to_number("a")', "9223372036854775807 + 1", "-9223372036854775807 - 2"],
)
def test_what_has_no_value_is_left_to_the_run(expression):
    """Folding preserves that a rule never matches."""
    found = tree(f"h(?x) :- e(?x), ?x > {expression} .")

    assert [type(each) for each in found.conditions] == [Computation, Comparison]


def test_true_conditions_go_and_others_stay():
    """A condition on constants is removed only if it holds."""
    assert tree('h(?x) :- e(?x), 1 < 2, contains("ab", "b") .').conditions == ()
    assert len(tree('h(?x) :- e(?x), 2 < 1, not contains("ab", "b") .').conditions) == 2
    assert (
        len(
            tree(
                'h(?x) :- e(?x), matches("a", concat("(")), not matches("a", concat("(")) .'
            ).conditions
        )
        == 2
    )


def test_tests_come_before_what_they_do_not_read():
    """A computation for the head comes last, after negations and tests and what they compute."""
    found = tree("h(?v) :- a(?x), ?v = ?x ** 9, ?x % 2 = 0, is_number(?x), not b(?x) .")
    kinds = [type(each) for each in found.conditions]

    assert kinds == [operands.Test, Computation, Comparison, Computation]
    assert found.conditions[-1].column == "v"
    top = tree("h(?v) :- a(?x), ?v = ?x ** 9, not b(?x) .").input
    assert isinstance(top, Extend)


def test_columns_that_nothing_reads_are_open():
    """A variable that occurs once is a wildcard; one that is read elsewhere is not."""
    found = tree("h(?x) :- a(?x, ?y, ?z), b(?z), not c(?x) .")

    assert found.patterns[0].arguments == (Column("x"), None, Column("z"))


def test_one_projection_serves_all_negations_of_a_shape():
    """Hidden predicates are named after the kept positions, not variables, and created once."""
    plan = lower(
        check_text(EX + "h(?x) :- a(?x), not e(?x, _) .\ng(?y) :- b(?y), not e(?y, _) .\n")
    )

    assert plan.hidden == {"e[0,_]"}
    assert sum(rule.tree.head.predicate == "e[0,_]" for rule in plan.strata[0].rules) == 1


def test_projections_are_left_as_they_are():
    """A negation that looks up a single fact needs no projection."""
    found = tree("h(?x) :- a(?x), not e(?x, 1) .")

    assert project_negated_wildcards(found) == found
    assert [type(each) for each in walk(found) if isinstance(each, Project)] == [Project]
