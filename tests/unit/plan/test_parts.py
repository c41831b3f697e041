"""Printed parts: a line says what its node does, and different plans read differently."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from hypothesis import assume, given
from hypothesis import strategies as st
from oracle.arithmetic import numeral
from unit.plan.bags import rows
from unit.plan.small_rules import PRESENTS, READ_BACK, RULES, SOME, lowered, rule

from streamreasoner.lang.ast import Constant, Variable, Wildcard
from streamreasoner.lang.constants import RDF_TYPE
from streamreasoner.plan.algebra import Arrangement, inputs
from streamreasoner.plan.lower.lowering import stages
from streamreasoner.plan.operands import Column, Pattern, Value
from streamreasoner.plan.print.parts import Text
from streamreasoner.plan.rewrite import REWRITES
from streamreasoner.program import check_text

EX = "http://example.org/"
TEXT = Text({"ex": EX})
PLAIN = [change for name, change in REWRITES.items() if name != "negated wildcards projected"]
"""Rewrites after which a tree has the predicates of the rule only."""
TERMS = (None, Column("x"), Column("y"), Value(RDF_TYPE), Value(f"<{EX}p>"), Value("<urn:a>"))
LITERALS = (Value('"a"'), Value(numeral(-1)), Value('"a"@en'))
PATTERNS = st.one_of(
    *[
        st.tuples(*[st.sampled_from(terms)] * arity).map(partial(Pattern, predicate))
        for predicate, arity, terms in (
            ("e", 2, (*TERMS, *LITERALS)),
            ("triple", 3, TERMS),
            ("quad", 4, TERMS),
        )
    ]
)


@SOME
@given(RULES)
def test_a_tree_has_a_line_for_each_node(text):
    """Lines begin with the type of their node, and its inputs follow one step further in."""
    for stage in stages(rule(text)):
        lines = list(TEXT.tree(stage.tree))

        assert [_place(line) for line in lines] == list(_places(stage.tree, 0))


@SOME
@given(RULES, RULES)
def test_trees_are_equal_if_and_only_if_their_lines_are(text, other):
    """Nothing that tells one step of lowering from another is left out."""
    trees = [stage.tree for each in (text, other) for stage in stages(rule(each))]
    (first, *_) = trees
    trees += [replace(first, literals=first.literals[1:]), replace(first, head=None)]
    trees += [replace(first, equations=first.equations[:at]) for at in range(3)]
    lines = [tuple(TEXT.tree(tree)) for tree in trees]

    for tree, printed in zip(trees, lines, strict=True):
        assert [each == printed for each in lines] == [each == tree for each in trees]


@SOME
@given(READ_BACK, PRESENTS)
def test_the_line_of_a_rule_is_the_rule(text, present):
    """Read as a rule, it derives each fact equally often."""
    tree = lowered(text)
    for change in PLAIN:
        tree = change(tree)

    assert rows(_read(TEXT.rule(tree)), present) == rows(tree, present)


@SOME
@given(PATTERNS)
def test_a_pattern_is_an_atom_of_the_rule_language(pattern):
    """Read as an atom, it has the same constants, columns and open positions."""
    columns = ", ".join(f"g({TEXT.column(name)})" for name in ("x", "y"))
    read = check_text(f"@prefix ex: <{EX}> .\nh(1) :- {TEXT.pattern(pattern)}, {columns} .")
    atom = read.rules[0].atoms[0]

    assert (atom.predicate, [_operand(each) for each in atom.arguments]) == (
        pattern.predicate,
        list(pattern.arguments),
    )


@SOME
@given(PATTERNS)
def test_an_arrangement_says_what_is_looked_up(pattern):
    """Each position is a key, the constant of all facts, or open."""
    arity = len(pattern.arguments)
    arrangement = Arrangement.of(pattern, {"x"})
    assume(arrangement is not None)
    shown = TEXT.arrangement(arrangement, arity)
    named = Pattern(
        pattern.predicate,
        tuple(
            Column("x") if at in arrangement.key else each if isinstance(each, Value) else None
            for at, each in enumerate(pattern.arguments)
        ),
    )

    assert shown == TEXT.pattern(named).replace("?x", "key")


def _place(line):
    return (len(line) - len(line.lstrip())) // 2, line.split()[0]


def _places(node, depth):
    yield depth, type(node).__name__
    for below in inputs(node):
        yield from _places(below, depth + 1)


def _read(line):
    """The tree of a line that is read as a rule; computed columns are variables."""
    text = line.replace("<-", ":-").replace(":=", "=").replace("==", "=")
    return lowered(re.sub(r"#(\d+)", r"?value\1", text) + " .")


def _operand(argument):
    match argument:
        case Constant(term):
            return Value(term)
        case Variable(name):
            return Column(name)
        case Wildcard():
            return None
