"""Rules driven by a fact of their head."""

from __future__ import annotations

from collections import Counter

import pytest
from unit.plan.bags import Change, rows

from streamreasoner.lang.printer import print_expression, print_literal
from streamreasoner.plan.algebra import Equation
from streamreasoner.plan.lower.demand import demand
from streamreasoner.plan.lower.lowering import lowered
from streamreasoner.plan.order.left_deep import left_deep
from streamreasoner.program import check_text


def rule_of(text):
    """The only rule of a program."""
    (rule,) = check_text(text).rules
    return rule


@pytest.mark.parametrize(
    "text",
    [
        "h(?x, ?y) :- a(?x, ?z), a(?z, ?y) .",
        "h(?x, ?x) :- a(?x, _), a(_, ?x) .",
        "h(?x, ?z) :- a(?x, ?y), b(?y, ?z) .",
        "h(?x, 2) :- a(?x, ?y), not b(?y, _), not b(_, ?x) .",
        "h(?x + 1, ?y) :- a(?x, ?y), b(?x + 1, ?z), ?z < ?y * 2 .",
        "h(?x, ?v) :- ?v = ?y + 1, b(?x, ?y), a(?v, _) .",
        "h(?x, min(?y + ?x)) :- b(?x, ?y) .",
        "h(?x, min(1)) :- b(?x, ?x + 2) .",
        "h(?x, ?y) :- b(?x, ?z + 1), b(?z, ?y) .",
    ],
)
def test_a_demand_has_the_rows_of_the_rule_that_derive_the_fact(text):
    """In both orders, as often as the rule derives it; none for other facts."""
    numbers = [f'"{i}"^^<http://www.w3.org/2001/XMLSchema#integer>' for i in range(4)]
    pairs = [(x, y) for x in numbers for y in numbers]
    facts = {"a": pairs[::2], "b": pairs[4:12:3]}
    rule = rule_of(text)
    expected = rows(lowered(rule), facts)
    written, cheapest = (demand(rule, as_written=each).plan for each in (True, False))
    plans = [written, left_deep(cheapest.tree)]

    assert expected
    for fact in pairs:
        change = Change({"h": [], **facts})
        change.update(facts, h=[fact])
        for plan in plans:
            assert rows(plan.tree, change) == Counter({fact: expected[fact]})


def printed(part):
    """A part as text."""
    if isinstance(part, Equation):
        return f"{part.column} = {print_expression(part.expression)}"
    return print_literal(part)


def test_parts_are_in_the_order_of_the_text_unless_they_read_later_bindings():
    """An argument of an atom is compared as soon as it can be, a computed head at the end."""
    text = "h(?x, ?z * 2) :- ?y > 3, a(?x, ?z + 1), not b(?z, _), c(?z, ?y), ?w = ?y - 1, ?w < 9 ."
    parts = [printed(part) for part, _ in demand(rule_of(text), as_written=True).parts]

    assert parts == [
        "a(?x, ?z + 1)",
        "c(?z, ?y)",
        "$0.1 = ?z + 1",
        "?y > 3",
        "not b(?z, _)",
        "w = ?y - 1",
        "?w < 9",
        "#head1 = ?z * 2",
    ]


def test_every_part_ends_with_a_step_of_its_own():
    """A part is complete after one step, which comes after those of the parts before it."""
    rule = rule_of("h(?x) :- a(?x, ?y), ?x + ?y < 3, ?x + ?y > 1, not b(?x + ?y, ?x) .")
    found = demand(rule, as_written=True)
    ends = [found.plan.steps.index(step) for _, step in found.parts]

    assert ends == sorted(set(ends))
    assert len(ends) == len(rule.body)
