"""Duplicates: a part of a rule that says the same again is said once."""

from __future__ import annotations

from hypothesis import given
from unit.plan.bags import rows
from unit.plan.small_rules import PRESENTS, SOME, TREES

from streamreasoner.plan.algebra import Extend, Join, Project, Scan, Select, walk
from streamreasoner.plan.operands import Column, Pattern
from streamreasoner.plan.rewrite.duplicates import drop_duplicates
from streamreasoner.plan.rewrite.unused_columns import drop_unused_columns


@SOME
@given(TREES, PRESENTS)
def test_the_bag_of_facts_stays(tree, present):
    """A tree gives each fact equally often without its duplicates, also if wildcards are open."""
    expected = rows(tree, present)

    assert rows(drop_duplicates(tree), present) == expected
    assert rows(drop_duplicates(drop_unused_columns(tree)), present) == expected


@given(TREES)
def test_the_first_of_equal_parts_stays_and_no_other(tree):
    """Atoms, negated atoms and conditions are those before, in order, each once."""
    found = drop_duplicates(tree)

    assert found.patterns == tuple(dict.fromkeys(tree.patterns))
    assert found.negated == tuple(dict.fromkeys(tree.negated))
    assert _conditions(found) == list(dict.fromkeys(_conditions(tree)))
    assert _computations(found) == _computations(tree)


def test_atoms_that_match_several_facts_are_no_duplicates():
    """A pattern with an open position can match another fact each time."""
    scan = Scan(Pattern("a", (Column("x"), None)))
    tree = Project(Join(scan, scan), Pattern("h", (Column("x"),)))

    assert drop_duplicates(tree) == tree


def _conditions(tree):
    return [node.condition for node in walk(tree) if isinstance(node, Select)]


def _computations(tree):
    return [node.computation for node in walk(tree) if isinstance(node, Extend)]
