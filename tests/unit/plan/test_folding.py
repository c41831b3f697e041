"""Folding: what a constant is worth is computed once, and no row changes."""

from __future__ import annotations

from hypothesis import given
from oracle.arithmetic import numeral
from unit.plan.bags import rows
from unit.plan.small_rules import PRESENTS, SOME, TREES, by_predicate

from streamreasoner.plan.algebra import Extend, Project, Scan, Select, walk
from streamreasoner.plan.operands import COPY, Column, Computation, Pattern, Value
from streamreasoner.plan.rewrite.folding import fold_constants
from streamreasoner.plan.rewrite.scans import restrict_scans


@SOME
@given(TREES, PRESENTS)
def test_the_bag_of_facts_stays(tree, present):
    """A tree and its folded tree give each fact equally often."""
    assert rows(fold_constants(tree), present) == rows(tree, present)


@given(TREES)
def test_no_constant_is_left_to_compute_and_no_truth_to_check(tree):
    """What reads constants only is a copy for the head, has no value, or does not hold."""
    folded = fold_constants(tree)
    for node in walk(folded):
        match node:
            case Extend(_, Computation(column, function, operands)) if _are_constants(operands):
                assert column in folded.head.columns if function == COPY else not _gives(node)
            case Select(_, condition) if not condition.needs:
                assert not _gives(node)


@given(TREES)
def test_a_constant_has_no_column_but_in_the_head(tree):
    """A column that copies a constant is read by the head and by no node below it."""
    folded = restrict_scans(fold_constants(tree))
    copied = {
        node.computation.column
        for node in walk(folded)
        if isinstance(node, Extend) and _are_constants(node.computation.arguments)
        if node.computation.function == COPY
    }

    assert not copied & {name for each in folded.conditions for name in each.needs}
    assert not copied & {name for each in folded.patterns for name in each.columns}
    assert not copied & {name for each in folded.negated for name in each.columns}


def test_a_tree_without_a_head_stays():
    """Only whole rules are folded, as a head says which columns are kept."""
    scan = Scan(Pattern("a", (Column("x"), None)))
    below = Extend(scan, Computation("v", COPY, (Value(numeral(1)),)))

    assert fold_constants(below) == below
    assert fold_constants(Project(below, Pattern("h", (Column("x"),)))).input == scan


def _are_constants(operands):
    return all(isinstance(each, Value) for each in operands)


def _gives(node):
    """Whether a node that reads constants only has a row over one row."""
    one = Project(Scan(Pattern("one", ())), Pattern("one", ()))
    alone = type(node)(one.input, getattr(node, "condition", None) or node.computation)
    return bool(rows(alone, by_predicate([("one", ())])))
