"""Unused columns: a scan binds what another part of the rule reads, and nothing else."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from unit.plan.bags import rows
from unit.plan.small_rules import PRESENTS, SOME, TREES

from streamreasoner.plan.algebra import columns_of, walk
from streamreasoner.plan.operands import Column, Computation
from streamreasoner.plan.rewrite.scans import restrict_scans
from streamreasoner.plan.rewrite.unused_columns import drop_unused_columns, uses


@SOME
@given(TREES, PRESENTS)
def test_the_bag_of_facts_stays(tree, present):
    """A column that is no longer bound still counts its matches."""
    assert rows(drop_unused_columns(tree), present) == rows(tree, present)


@given(TREES)
def test_a_scan_binds_the_columns_that_occur_twice_in_the_rule(tree):
    """Of each pattern the columns that occur once in the parts of the rule are open."""
    tree = restrict_scans(tree)
    counts = Counter(
        argument.name
        for pattern in (tree.head, *tree.patterns, *tree.negated)
        for argument in pattern.arguments
        if isinstance(argument, Column)
    )
    for each in tree.conditions:
        counts.update(each.needs)
        counts.update([each.column] if isinstance(each, Computation) else [])

    found = drop_unused_columns(tree)

    for before, after in (
        *zip(tree.patterns, found.patterns, strict=True),
        *zip(tree.negated, found.negated, strict=True),
    ):
        assert after.predicate == before.predicate
        assert after.arguments == tuple(
            None if isinstance(each, Column) and counts[each.name] == 1 else each
            for each in before.arguments
        )
    assert (found.head, found.conditions) == (tree.head, tree.conditions)


@given(TREES)
def test_every_column_of_a_tree_is_used(tree):
    """A column is counted where it is bound, and a column that no node has is not."""
    assert set(uses(tree)) == {name for node in walk(tree) for name in columns_of(node)}
