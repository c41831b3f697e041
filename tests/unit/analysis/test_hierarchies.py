"""Which rules copy along a hierarchy, and where other rules read the copies."""

from __future__ import annotations

import pytest

from streamreasoner.lang.printer import print_literal, print_rule
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.checked import check_text
from streamreasoner.program.hierarchies import with_hierarchies
from streamreasoner.program.load import load_program

INPUT = "@prefix ex: <http://example.org/> .\n@input in/2, part/2, near/2, bad/1, tagged/3 .\n"
COPY = "in(?x, ?s) :- in(?x, ?r), part(?r, ?s) ."


def encoded(text):
    """A program in which the copies that no one reads are not stored."""
    return with_hierarchies(check_text(INPUT + text))


def wanted(text):
    """The rules that derive the classes that are read, as text; None if there is no hierarchy."""
    program = encoded(text)
    if not program.hierarchies:
        return None
    [hierarchy] = program.hierarchies
    texts = (print_rule(rule) for rule in program.rules if rule.head.predicate == hierarchy.wanted)
    return [each.replace("#", "") for each in texts if f":- {hierarchy.wanted}" not in each]


@pytest.mark.parametrize(
    "rule",
    [
        COPY,
        "in(?x, ?s) :- part(?r, ?s), in(?x, ?r) .",
        "in(?x, ?s) :- in(?x, ?r), asserted part(?r, ?s) .",
        "in(?y, ?s) :- in(?x, ?s), near(?x, ?y) .",
        "tagged(?x, ?s, ?k) :- tagged(?x, ?r, ?k), part(?r, ?s) .",
        "tagged(?x, ?s, ex:k) :- tagged(?x, ?r, ex:k), part(?r, ?s) .",
        "[?x, a, ?c] :- [?x, a, ?b], [?b, ex:below, ?c] .",
        "[?x, ?q, ?y] :- [?x, ?p, ?y], [?p, ex:below, ?q] .",
        "in(?x, ?s) :- in(?x, ?r), tagged(?r, ex:k, ?s) .",
    ],
)
def test_rules_that_copy(rule):
    """One argument is replaced along edges, whatever the predicate and the position."""
    assert len(encoded(rule).hierarchies) == 1


@pytest.mark.parametrize(
    "rule",
    [
        "in(?x, ?s) :- in(?x, ?r), part(?r, ?s), bad(?x) .",
        "in(?x, ?s) :- in(?x, ?r), part(?r, ?s), not bad(?s) .",
        "in(?x, ?s) :- in(?x, ?r), tagged(?x, ?r, ?s) .",
        "in(?x, ?s) :- in(?x, ?r), tagged(?r, _, ?s) .",
        "in(?s, ?x) :- in(?x, ?r), part(?r, ?s) .",
        "in(?x, ?s) :- asserted in(?x, ?r), part(?r, ?s) .",
        "in(?x, ?r) :- in(?x, ?r), part(?r, ?r) .",
        "part(?x, ?s) :- part(?x, ?r), part(?r, ?s) .",
        "in(?x, ?s) :- part(?x, ?s) .\nin(?x, ?s) :- in(?x, ?r), part(?r, ?s) .",
        "near(?x, ?s) :- in(?x, ?r), part(?r, ?s) .",
        "in(?x, min(?s)) :- in(?x, ?r), part(?r, ?s) .",
        f"{COPY}\nin(?x, max(?s)) :- near(?x, ?s) .",
        f"@hidden in/2 .\n{COPY}",
    ],
)
def test_rules_that_do_not(rule):
    """What a copy depends on is the class alone; closures and lattices are left out."""
    assert encoded(rule).hierarchies == ()


@pytest.mark.parametrize(
    ("reader", "rules"),
    [
        ("", []),
        ("p(?x) :- in(?x, ex:c) .", ["wanted@0(ex:c) :- part(_, ex:c) ."]),
        ("p(?x) :- near(?x, _), not in(?x, ex:c) .", ["wanted@0(ex:c) :- part(_, ex:c) ."]),
        ("p(?x) :- in(?x, ?c), bad(?c) .", ["wanted@0(?c) :- bad(?c), part(_, ?c) ."]),
        (
            "p(?x) :- in(?x, ?c), near(?c, ?d), bad(?d), near(?x, _) .",
            ["wanted@0(?c) :- near(?c, ?d), bad(?d), part(_, ?c) ."],
        ),
        ("p(count(?x)) :- in(?x, ?c), bad(?c) .", ["wanted@0(?c) :- bad(?c), part(_, ?c) ."]),
        (
            "p(?x, ?c) :- in(?x, ?c), bad(?x) .",
            ['wanted@0(?c) :- exists@0("bad"), part(_, ?c) .'],
        ),
        (
            "p(?x) :- near(?x, ?c), not in(?x, ?c) .",
            ['wanted@0(?c) :- exists@0("near"), part(_, ?c) .'],
        ),
        ("p(?x, ?c) :- asserted in(?x, ?c) .", []),
        ("p(?x, ?c) :- in(?x, ?c) .", None),
        ("p(?x) :- in(?x, _), in(?x, ex:c) .", None),
    ],
)  # fmt: skip
def test_where_copies_are_read(reader, rules):
    """At constants, and where the rest of a body says, without what it says of the entity."""
    found = wanted(f"{COPY}\n{reader}")

    assert found == (rules and [each.replace("ex:c)", "<http://example.org/c>)") for each in rules])


def test_a_variable_that_unifies_with_the_predicate_reads_copies():
    """`[?x, ?p, _]` reads the types of an instance if ?p is `a`, so if there is a domain of `a`."""
    program = with_hierarchies(load_program("rho-df"))
    first, *_ = program.hierarchies
    bodies = [rule.body for rule in program.rules if rule.head.predicate == first.wanted]
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

    assert first.position == 2
    assert {print_literal(body[0]).split(", ")[0] for body in bodies[:3]} == {f"[{kind}"}


@pytest.mark.parametrize(("ruleset", "count"), [("rho-df", 2), ("owl-rl", 2), ("rdfs", 0)])
def test_packaged_rulesets(ruleset, count):
    """RDFS has rules about every triple, which read all copies."""
    program = with_hierarchies(load_program(ruleset))

    assert len(program.hierarchies) == count
    assert len(lower(program).hierarchies) == count


@pytest.mark.parametrize(
    "rules",
    [
        "part(?a, ?c) :- part(?a, ?b), part(?b, ?c) .",
        "part(?a, ?c) :- part(?a, ?b), asserted part(?b, ?c) .",
        "in(?a, ?b) :- part(?a, ?b) . in(?a, ?c) :- in(?a, ?b), part(?b, ?c) .",
        "in(?a, ?b) :- part(?a, ?b) . in(?a, ?c) :- part(?a, ?b), in(?b, ?c) .",
        "in(?a, ?c) :- in(?a, ?b), near(?b, ?c) . near(?a, ?b) :- in(?a, ?b) .",
        "[?a, ex:below, ?c] :- [?a, ex:below, ?b], [?b, ex:below, ?c] .",
    ],
)
def test_a_closure_is_not_a_hierarchy(rules):
    """Its facts are the edges, or what they lead to, and are copies of each other."""
    assert not check_text(INPUT + rules).copied


def test_copies_that_all_are_read_are_copies():
    """They cannot be encoded, yet a pipeline may leave them out of what it publishes."""
    program = check_text(f"{INPUT}{COPY} all(?x, ?c) :- in(?x, ?c) .")
    [hierarchy] = program.copied
    assert [print_rule(program.rules[each]) for each in hierarchy.rules] == [COPY]
    assert not with_hierarchies(program).hierarchies
