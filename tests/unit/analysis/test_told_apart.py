"""What tells rules apart beyond constants: repeated variables, new nodes, and what is asked."""

from __future__ import annotations

from itertools import product

import pytest
from driver import Driver

from streamreasoner.analysis.strata.told_apart import APART
from streamreasoner.errors import ProgramError
from streamreasoner.program import check_text
from streamreasoner.program.checked import check_source
from streamreasoner.rdf.terms import to_ntriples

RECURSION = """
@input start/2, edge/2, closed/1 .
reach(?x, ?y) :- start(?x, ?y) .
reach(?x, ?z) :- reach(?x, ?y), edge(?y, ?z), not { closed(?m), ?m > ?y } .
"""
PREFIX = "PREFIX : <http://example.org/>\n"


def reached(facts):
    """What the recursion reaches, by the definition of its rules."""
    found = {args for name, args in facts if name == "start"}
    closed = {mark for name, args in facts if name == "closed" for mark in args}
    while (
        more := {
            (x, z)
            for x, y in found
            for name, args in facts
            if name == "edge" and not any(mark > y for mark in closed)
            for other, z in [args]
            if other == y
        }
        - found
    ):
        found |= more
    return found


def test_a_negation_may_be_about_values_of_its_recursion():
    """Whatever is inserted and deleted: an outer variable of the braces has values in a cycle."""
    driver, facts = Driver(check_text(RECURSION)), set()
    edges = [("edge", each) for each in ((1, 2), (2, 3), (3, 4), (4, 1))]
    steps = [
        *[(each, 1) for each in (("start", (1, 1)), *edges, ("closed", (3,)), ("closed", (1,)))],
        *[(each, -1) for each in (("closed", (3,)), edges[1], ("start", (1, 1)))],
    ]
    for (name, args), multiplicity in steps:
        driver.apply([(name, tuple(map(to_ntriples, args)), multiplicity)])
        facts ^= {(name, args)}

        expected = {tuple(map(to_ntriples, each)) for each in reached(facts)}
        assert {args for _, args in driver.closure(["reach"])} == expected


def test_a_recursion_that_makes_terms_has_no_copy_without_negation():
    """It might never end, so that the negation stays a cycle."""
    with pytest.raises(ProgramError, match="SR301"):
        check_text("n(?m) :- n(?x), ?m = ?x + 1, not { limit(?l), ?l < ?x } .")


def test_facts_that_are_answers_are_exact():
    """A predicate of the text is not asked for more than it holds for, so the cycle stays."""
    with pytest.raises(ProgramError, match="SR301"):
        check_text(
            "reach(?x, ?z) :- reach(?x, ?y), edge(?y, ?z), not near(?y) .\n"
            "near(?y) :- reach(_, ?y), closed(?m), ?m > ?y ."
        )


@pytest.mark.parametrize(
    "rules",
    [
        # A repeated variable of a pattern, of a head, and of one next to heads of any predicate.
        "RULE { :a :p :b } WHERE { ?x :q ?y NOT { ?z :p ?z } }",
        "RULE { ?x :p ?x } WHERE { ?x :q ?y NOT { :a :p :b } }",
        "RULE { :a :p :b } WHERE { ?x :q 1 } RULE { ?x :p ?x } WHERE { ?x :r 1 NOT { :a :p :b } }",
        # New nodes differ from other terms.
        "RULE { _:n :p _:n } WHERE { ?x :q ?y NOT { :a :p ?z FILTER(?z != :c) } }",
        "RULE { _:n :p _:m } WHERE { ?x :q ?y NOT { ?z :p ?z } }",
        # Conditions about outside.
        "RULE { ?x :p ?z } WHERE { ?x :p ?y . ?y :q ?z NOT { ?a :r ?b FILTER(?b < ?y) } }",
        "RULE { ?x :p ?z } WHERE { ?x :p ?y . ?y :q ?z NOT { :a :r ?b FILTER(?b < ?y || ?y = ?z)}}",
        "RULE { ?x :p ?y } WHERE { ?y :p ?x NOT DATA { ?x :q ?z FILTER(?z > ?y) } }",
    ],
)
def test_a_rule_set_is_stratified_as_the_specification_says(rules):
    """What its dependencies tell apart is accepted."""
    check_source(PREFIX + rules, "rules.srl")


@pytest.mark.parametrize(
    "rules",
    [
        (
            "RULE { :b ?x :a } "
            'WHERE { ?x :p ?z NOT { ?y ?x <<( ?x :p ?z )>> . ?y :r ?y FILTER("x" = ?y) } }'
        ),
        "RULE { ?y ?y ?y } WHERE { ?z ?y ?z . ?w :p ?y NOT DATA { ?z :q ?x FILTER(?y = :q) } }",
        "RULE { :b ?x ?z } WHERE { ?x :q ?z NOT DATA { ?y :p ?z FILTER(?x != :a) } }",
    ],
)
def test_no_data_makes_a_negation_of_a_rule_set_circular(rules):
    """Heads with variables as predicates have strata that follow from rules alone."""
    driver = Driver(check_source(PREFIX + rules, "rules.srl"))
    names = [f"<http://example.org/{name}>" for name in "abpqr"]
    driver.apply([("triple", triple, 1) for triple in product(names, names[2:], names)])

    assert not any(driver.session.program.guarded)
    assert any(name.endswith(APART) for name in driver.session.program.helpers)
