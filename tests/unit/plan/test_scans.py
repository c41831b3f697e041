"""Restricted scans: a constant of an atom is looked up, not selected."""

from __future__ import annotations

from hypothesis import given
from oracle.arithmetic import numeral
from unit.plan.bags import rows
from unit.plan.small_rules import PRESENTS, RULES, SOME, lowered, rule

from streamreasoner.lang.ast import Constant
from streamreasoner.plan.algebra import Project, Scan, Select, walk
from streamreasoner.plan.operands import Column, Pattern, Same, Value
from streamreasoner.plan.rewrite.scans import restrict_scans


@SOME
@given(RULES, PRESENTS)
def test_the_bag_of_facts_stays(text, present):
    """A tree and its restricted tree give each fact equally often."""
    tree = lowered(text)

    assert rows(restrict_scans(tree), present) == rows(tree, present)


@given(RULES)
def test_a_pattern_has_the_constants_of_its_atom(text):
    """Each constant stands in its position of the pattern, and no selection of it is left."""
    tree = restrict_scans(lowered(text))

    assert not any(isinstance(node, Select) and _selects(node.condition) for node in walk(tree))
    assert [pattern.constants for pattern in tree.patterns] == [
        tuple(
            (position, argument.term)
            for position, argument in enumerate(atom.arguments)
            if isinstance(argument, Constant)
        )
        for atom in rule(text).atoms
    ]


def test_a_column_that_is_read_elsewhere_stays_selected():
    """A head needs its column, so the constant is not moved into the scan."""
    scan = Scan(Pattern("a", (Column("x"), Column("y"))))
    tree = Project(
        Select(scan, Same("x", Value(numeral(1)))), Pattern("h", (Column("x"), Column("y")))
    )

    assert restrict_scans(tree) == tree


def _selects(condition):
    return isinstance(condition, Same) and isinstance(condition.other, Value)
