"""Substitution: names of columns mean nothing, and a constant is a selection."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle.arithmetic import numeral
from unit.plan.bags import rows
from unit.plan.small_rules import PRESENTS, SOME, TREES

from streamreasoner.plan.algebra import (
    Extend,
    Join,
    PlanError,
    Project,
    Scan,
    Select,
    columns_of,
    walk,
)
from streamreasoner.plan.operands import COPY, Column, Computation, Pattern, Same, Value
from streamreasoner.plan.rewrite.scans import restrict_scans
from streamreasoner.plan.substitution import substituted

TWO = Value(numeral(2))
SCAN = Scan(Pattern("a", (Column("x"), Column("y"))))


@SOME
@given(TREES, PRESENTS)
def test_other_names_give_the_same_facts(tree, present):
    """If every column gets another name, every node reads it by that name."""
    names = {name for node in walk(tree) for name in columns_of(node)}
    renamed = substituted(tree, {name: Column(f"{name}'") for name in names})

    assert {name for node in walk(renamed) for name in columns_of(node)} == {
        f"{name}'" for name in names
    }
    assert rows(renamed, present) == rows(tree, present)


@SOME
@given(TREES, PRESENTS, st.sampled_from("xyz"))
def test_a_constant_keeps_the_facts_of_the_rows_that_have_it(tree, present, name):
    """A column of atoms that becomes a constant is selected to be it, whatever reads it."""
    tree = restrict_scans(tree)
    computed = {node.computation.column for node in walk(tree) if isinstance(node, Extend)}
    assume(name in columns_of(tree.input) - computed)
    found = substituted(tree, {name: TWO})
    selected = Project(Select(tree.input, Same(name, TWO)), tree.head)

    assert rows(found, present) == rows(selected, present)
    assert all(node.on for node in walk(found) if isinstance(node, Join))


def test_the_computation_of_a_constant_is_dropped():
    """The constant is its value, so that nothing is left to compute."""
    below = Extend(SCAN, Computation("v", COPY, (TWO,)))
    tree = Project(Extend(below, Computation("w", "+", (Column("v"), Column("x")))), _head("w"))

    assert substituted(tree, {"v": TWO}) == Project(
        Extend(SCAN, Computation("w", "+", (TWO, Column("x")))), _head("w")
    )


def test_a_column_that_is_selected_as_a_term_stays_a_column():
    """A selection of equal terms has a column on its left, and is refused otherwise."""
    tree = Project(Select(SCAN, Same("x", Column("y"))), _head("y"))

    with pytest.raises(PlanError, match="x cannot be replaced by a constant"):
        substituted(tree, {"x": TWO})


def _head(name):
    return Pattern("h", (Column(name),))
