"""Deferred computations: a row that a test rejects costs no computation that the test lacks."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from unit.plan.bags import rows
from unit.plan.small_rules import PRESENTS, SOME, TREES

from streamreasoner.plan.algebra import Antijoin, Extend, Select, columns_of, spine
from streamreasoner.plan.rewrite.computations import defer_computations


@SOME
@given(TREES, PRESENTS)
def test_the_bag_of_facts_stays(tree, present):
    """A tree gives each fact equally often whatever is computed first."""
    assert rows(defer_computations(tree), present) == rows(tree, present)


@given(TREES)
def test_the_links_are_those_of_the_tree(tree):
    """The atoms stay, and every test and every computation is there once, in another order."""
    leaf, links = spine(tree.input)
    same, found = spine(defer_computations(tree).input)

    assert same == leaf
    assert Counter(map(_content, found)) == Counter(map(_content, links))


@given(TREES)
def test_a_test_stands_right_above_the_last_column_it_reads(tree):
    """If a computation is right below a test, the test reads its column."""
    _, links = spine(defer_computations(tree).input)
    for below, above in pairwise(links):
        if _is_test(above) and not _is_test(below):
            assert below.computation.column in _reads(above)


@given(TREES)
def test_a_computation_below_a_test_is_read_by_a_test(tree):
    """A column that only the head reads is computed after all tests."""
    _, links = spine(defer_computations(tree).input)
    needed = set()
    for link in reversed(links):
        if _is_test(link):
            needed |= _reads(link)
        elif needed:
            assert link.computation.column in needed
            needed |= link.computation.needs


def _content(link):
    return (
        link.scan
        if isinstance(link, Antijoin)
        else getattr(link, "condition", None) or link.computation
    )


def _is_test(link):
    return not isinstance(link, Extend) or link.checks


def _reads(test):
    match test:
        case Extend(_, computation):
            return computation.needs | {computation.column}
        case Select(_, condition):
            return condition.needs
        case Antijoin():
            return columns_of(test.negated)
