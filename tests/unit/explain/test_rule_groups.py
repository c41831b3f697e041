"""The rules of a program by what they derive."""

from __future__ import annotations

from streamreasoner.explain.rule_groups import Rules
from streamreasoner.facts import Fact
from streamreasoner.program import check_text

ONE, TWO = (f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>' for number in (1, 2))


def lines(rules, *terms):
    """The lines of the rules that may derive a fact of `p`, by group."""
    fact = Fact("p", terms)
    return [[rule.span.line for rule in group.deriving(fact)] for group in rules.rule_groups(fact)]


def test_rules_of_equal_aggregates_derive_facts_together():
    """One group for `count`, one for `sum`; every other rule is a group of its own."""
    rules = Rules(
        check_text(
            "p(?x, count(?y)) :- q(?x, ?y) .\np(?x, ?y) :- q(?x, ?y) .\n"
            "p(?x, sum(?y)) :- q(?x, ?y) .\np(?x, count(?y)) :- r(?x, ?y) .\n"
            "p(?x, ?y) :- r(?x, ?y) .\n"
        )
    )

    assert lines(rules, ONE, TWO) == [[1, 4], [2], [3], [5]]


def test_a_rule_may_derive_what_its_head_matches():
    """Constants and repeated variables must match, also below `min`; values may be any."""
    rules = Rules(
        check_text(
            "p(?x, ?x) :- q(?x, _) .\np(1, ?y) :- q(_, ?y) .\np(?x + 1, ?x) :- q(?x, _) .\n"
            "p(2, min(?y)) :- r(?y) .\n"
        )
    )

    assert lines(rules, ONE, ONE) == [[1], [2], [3]]
    assert lines(rules, ONE, TWO) == [[2], [3]]
    assert lines(rules, TWO, ONE) == [[3], [4]]


def test_a_fact_belongs_to_the_lattice_of_its_constants():
    """The compared argument is not a constant of the lattice."""
    rules = Rules(check_text("p(1, min(?y)) :- q(?y) .\np(2, max(3)) :- q(_) .\n"))
    found = [rules.lattice(Fact("p", (each, ONE))) for each in (ONE, TWO, '"other"')]

    assert [each and each.function for each in found] == ["min", "max", None]
