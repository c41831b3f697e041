"""Nodes of the syntax tree: where an application stands decides what it is."""

from __future__ import annotations

import pytest

from streamreasoner.lang.ast import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Disjunction,
    Span,
    UnaryMinus,
    Variable,
)
from streamreasoner.lang.constants import UNREADABLE, ConstantReader
from streamreasoner.lang.normal_form import normal_form
from streamreasoner.lang.parser import parse
from streamreasoner.lang.parsing.build import Builder
from streamreasoner.lang.printer import print_program

HERE = Span("r.dl", 1, 1, 1, 2, 0, 1)
X, HEADS = Variable("x", HERE), (Atom("h", (), HERE),)
# An application as a literal of a body, as a head, and as a value.
ROLES = {
    ("edge", 1, False): (Atom, Atom, Call),
    ("is_iri", 1, False): (Call, Atom, Call),
    ("length", 1, False): (Atom, Atom, Call),
    ("sum", 1, False): (Atom, Atom, Aggregate),
    ("min", 1, False): (Atom, Atom, Aggregate),
    ("min", 2, False): (Atom, Atom, Call),
    ("count", 1, True): (Atom, Atom, Aggregate),
    ("edge", 1, True): (Atom, Atom, Aggregate),
}
BODIES = {
    "a literal": lambda build, item: build.rule(HERE, [HEADS, (item,)]).body[0],
    "a negated literal": lambda build, item: build.negation(HERE, [item]).atom,
    "in parentheses": lambda build, item: (
        build.rule(HERE, [HEADS, (build.group(HERE, [(item,)]),)]).body[0]
    ),
    "an alternative": lambda build, item: (
        build.rule(HERE, [HEADS, (build.group(HERE, [(item,), (item, item)]),)])
        .body[0].alternatives[1][1]
    ),
}  # fmt: skip
VALUES = {
    "an argument": lambda build, item: build.arguments(HERE, [X, item])[1],
    "a side": lambda build, item: build.comparison(HERE, [X, "<", item]).right,
    "an operand": lambda build, item: build.operation(HERE, [item, "+", X]).left,
    "negative": lambda build, item: build.negative(HERE, ["-", item]).operand,
    "of a triple": lambda build, item: build.triple(HERE, [X, HERE, item]).arguments[2],
    "in parentheses": lambda build, item: build.arguments(HERE, [build.group(HERE, [(item,)])])[0],
}
HEAD = {"a head": lambda build, item: build.heads(HERE, [item])[0]}
PLACES = [
    (place, role)
    for role, places in enumerate((BODIES, HEAD, VALUES))
    for place in places.values()
]  # fmt: skip


def started():
    """A builder and the list of its diagnostics."""
    diagnostics = []
    return Builder(ConstantReader(diagnostics), diagnostics), diagnostics


@pytest.mark.parametrize(("place", "role"), PLACES)
@pytest.mark.parametrize("application", ROLES)
def test_the_context_decides_the_kind_of_an_application(application, place, role):
    """Name, arguments and span are kept; `distinct` outside an aggregate is reported."""
    (name, count, distinct), (build, diagnostics) = application, started()
    read = build.distinct if distinct else build.application
    node = place(build, read(HERE, [name, (X,) * count]))

    assert type(node) is ROLES[application][role]
    assert (node.predicate if role == 1 or isinstance(node, Atom) else node.function) == name
    assert (node.arguments, node.span) == ((X,) * count, HERE)
    assert getattr(node, "distinct", False) == (distinct and role == 2)
    assert {item.code for item in diagnostics} == ({"SR107"} if distinct and role < 2 else set())


@pytest.mark.parametrize("item", [Comparison(X, "<", X, HERE), Atom("triple", (X, X, X), HERE)])
def test_a_literal_is_no_value(item):
    """It is reported and replaced, and so is a group that is more than one expression."""
    for value in (item, ((X, X),), ((X,), (X,))):
        build, diagnostics = started()
        group = build.group(HERE, value) if isinstance(value, tuple) else value
        assert build.arguments(HERE, [group]) == (Constant(UNREADABLE, HERE),)
        assert [report.code for report in diagnostics] == ["SR107"]


def test_a_value_is_no_literal():
    """It is reported, and a rule whose literals are all refused is none."""
    build, diagnostics = started()
    flag = build.boolean(HERE, ["true"])

    assert build.rule(HERE, [HEADS, (flag,)]) is None
    assert build.rule(HERE, [HEADS, (flag, HEADS[0])]).body == HEADS
    assert [report.code for report in diagnostics] == ["SR107", "SR107"]


def test_groups_within_groups():
    """One alternative is a part of the body, several are one literal, of conjunctions."""
    build, diagnostics = started()
    one, two = (build.application(HERE, [name]) for name in ("one", "two"))
    inner = build.group(HERE, [(one, two)])
    (first, second, choice) = build.rule(
        HERE, [HEADS, (inner, build.group(HERE, [(inner,), (one,)]))]
    ).body

    assert [first.predicate, second.predicate] == ["one", "two"]
    assert choice == Disjunction(((first, second), (first,)), HERE)
    assert diagnostics == []


def test_a_negative_number_is_a_constant():
    """`-5` is a term, `-?x` an operation."""
    build, _ = started()

    assert build.negative(HERE, ["-", build.integer(HERE, ["5"])]) == build.integer(HERE, ["-5"])
    assert build.negative(HERE, ["-", X]) == UnaryMinus(X, HERE)


def test_a_name_is_part_of_a_rule_but_not_of_its_meaning():
    """It is read, printed, and given to each rule that the rule stands for."""
    named = parse('@rule "cax-\\"sco\\"" p(?x), q(?x) :- (a(?x) | b(?x)) .')
    (rule,) = named.rules
    (printed,) = parse(print_program(named)).rules

    assert rule.name == printed.name == 'cax-"sco"'
    assert {each.name for each in normal_form(rule)} == {rule.name}
    assert named == parse("p(?x), q(?x) :- (a(?x) | b(?x)) .")
