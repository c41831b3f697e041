"""Rules that never match: what is reported derives nothing, whatever the facts."""

from __future__ import annotations

import operator
from collections import defaultdict
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import holds
from strategies import DOMAIN

from streamreasoner.analysis.contradictions import contradictions
from streamreasoner.lang.ast import Atom, Constant, Variable
from streamreasoner.lang.parser import parse

OPERATORS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
NUMBERS = {"0": 0, "1": 1, "1.0": 1, "1e0": 1, "1.5": 1.5, "2": 2}
# Below, at, between and above the numbers.
SAMPLES = (-1, 0, 0.5, 1, 1.25, 1.5, 1.75, 2, 3)
LITERALS = (
    *("a(?x)", "a(_)", "b(?x, ?y)", "b(?y, ?x)", "b(?x, _)", 'b(?x, "x")'),
    *("not a(?x)", "not a(_)", "not b(?x, ?y)", "not b(?x, _)", 'not b(?x, "x")', "not b(_, _)"),
    *("is_number(?x)", "not is_number(?x)", "not is_number(?y)", 'contains(?x, "x")'),
    *('not contains(?x, "x")', 'not contains(?x, "y")', "?x < ?y", "?y < ?x", "?x >= ?y"),
    *("?x = ?y", "?x != ?y", "?x != ?x", "?x <= ?x", "?x < 2", "?x > 1.5", '?x = "x"', "?x != 1"),
    *("1 < 2", "1 = 1.0", '1 < "x"', "?x + 1 = ?y", '?x + 1 = "x"', "length(?x) = 1"),
)


def reported(body):
    """Whether a rule with this body is reported."""
    found = [*contradictions(parse(f"p(?x) :- n(?x), n(?y), {body} ."))]
    assert {item.code for item in found} <= {"SR506"}
    return bool(found)


COMPARISONS = st.tuples(st.sampled_from([*OPERATORS]), st.sampled_from([*NUMBERS]), st.booleans())


@given(COMPARISONS, COMPARISONS)
def test_two_comparisons_are_reported_iff_no_number_satisfies_both(first, second):
    """Whatever the operators, the order of the sides, and the types of the numbers."""
    sides = [("?x", each) if forward else (each, "?x") for _, each, forward in (first, second)]
    body = [
        f"{left} {symbol} {right}"
        for (left, right), (symbol, *_) in zip(sides, (first, second), strict=True)
    ]
    satisfied = any(
        all(
            OPERATORS[symbol](*((sample, NUMBERS[each])[:: 1 if forward else -1]))
            for symbol, each, forward in (first, second)
        )
        for sample in SAMPLES
    )

    assert reported(", ".join(body)) != satisfied


@given(st.lists(st.sampled_from(LITERALS), min_size=1, max_size=3, unique=True))
def test_a_reported_rule_derives_nothing(body):
    """For no terms do all literals hold, even if there are only the facts that the atoms need."""
    if not reported(", ".join(body)):
        return
    literals = parse(f"p(?x) :- {', '.join(body)} .").rules[0].body
    atoms = [literal for literal in literals if isinstance(literal, Atom)]
    conditions = [literal for literal in literals if not isinstance(literal, Atom)]
    for x, y, wildcard in product(DOMAIN[:5], repeat=3):
        bindings, facts = {"x": x, "y": y}, defaultdict(list)
        for atom in atoms:
            facts[atom.predicate].append(
                tuple(term(argument, bindings, wildcard) for argument in atom.arguments)
            )
        assert not all(holds(literal, bindings, facts) for literal in conditions)


def term(argument, bindings, wildcard):
    """The term of an argument of a fact."""
    match argument:
        case Constant(text):
            return text
        case Variable(name):
            return bindings[name]
        case _:
            return wildcard


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a(?x), not a(?x)", True),
        ("b(?x, ?y), not b(?x, _)", True),
        ("b(?x, _), not b(?x, ?y)", False),
        ("b(?x, _), not b(?x, _)", True),
        ("a(?x), not a(?y)", False),
        ("is_number(?x), not is_number(?x)", True),
        ("is_number(?x), not is_number(?y)", False),
        ("?x < ?y, ?y < ?x", True),
        ("?x < ?y, ?y <= ?x", True),
        ("?x <= ?y, ?y <= ?x", False),
        ("?x != ?x", True),
        ("?x = ?x", False),
        ("1 = 2", True),
        ('1 < "x"', True),
        ('length(?x) = "x"', True),
        ("length(?x) = 1", False),
        ('?x = 1, ?x = "x"', True),
        ('?x = 1, ?x != "x"', False),
        ("(a(?x) | a(?y), not a(?y))", True),
    ],
)
def test_a_literal_excludes_itself_or_one_other(body, expected):
    """Atoms, tests, kinds and values are compared, in each alternative on its own."""
    assert reported(body) is expected
