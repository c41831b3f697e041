"""Encoded programs: SQL says of each fact what the program says of it."""

from __future__ import annotations

from itertools import combinations

import pytest
from unit.backends.spark.in_driver import PROGRAM, Steps

from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import LATTICE, PLAIN, PREDICATE, STRATUM
from streamreasoner.backends.spark.queries.encoded_program import EncodedProgram
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program import check_text

CONSTANTS = """
h(1, ?x) :- e(?x, _) .
h(2, ?x) :- h(1, ?x), not g(?x) .
g(?x) :- h(1, ?x), e(?x, ?x) .
best(1, max(?x)) :- g(?x) .
best(2, min(?x)) :- g(?x) .
best(3, 3) :- g(1) .
"""


@pytest.mark.parametrize("text", [PROGRAM, CONSTANTS, "wide(1, 2, 3) :- e(?x) ."])
def test_each_fact_has_its_stratum_and_its_lattice(text):
    """Facts that no head derives have stratum 0, and facts of no lattice have none."""
    steps = Steps(text)
    rows = steps.relation([(fact,) for fact in steps.facts])
    for expression, name in (
        (steps.program.stratum_of, STRATUM),
        (steps.program.lattice_of, LATTICE),
    ):
        rows = steps.runner.query(sql.extended(expression, name), rows=rows)

    assert sorted(steps.read(rows, STRATUM, LATTICE)) == sorted(
        (fact, steps.model.program.stratum(fact), _lattice(steps, fact)) for fact in steps.facts
    )


def test_all_facts_fit_the_columns():
    """There is a column for each argument of the widest predicate, and one at least."""
    assert Steps("h(?x) :- e(?x, _, _, _) .").program.fact == (PREDICATE, "a0", "a1", "a2", "a3")
    assert encoded("").width == 3
    assert encoded("yes() :- no() .").width == 3


def test_programs_whose_transitions_can_differ_have_another_meaning():
    """Strata, lattices and the ids of their constants are in it; the bodies of rules are not."""
    meanings = [
        encoded("h(?x, 1) :- e(?x, _) .").meaning,
        encoded("h(?x, 1) :- e(?x, _) .", first=5).meaning,
        encoded("h(?x, ?x) :- e(?x, _) .").meaning,
        encoded("h(?x, min(?y)) :- e(?x, ?y) .").meaning,
        encoded("h(?x, max(?y)) :- e(?x, ?y) .").meaning,
        encoded("g(?x, 1) :- e(?x, _) .").meaning,
        encoded("g(?x, 1) :- e(?x, _) .\nh(?x, 1) :- e(?x, _), not g(?x, 1) .").meaning,
    ]

    assert all(one != other for one, other in combinations(meanings, 2))
    assert meanings[0] == encoded("h(?x, 1) :- e(_, ?x), ?x != 2 .").meaning


def encoded(text, first=0):
    """A program whose terms have ids from a number on."""
    ids = {}
    return EncodedProgram.of(
        lower(check_text(text)), lambda term: ids.setdefault(term, first + len(ids))
    )


def _lattice(steps, fact):
    lattice, _ = steps.model.program.group(fact)
    return PLAIN if lattice is None else steps.program.plan.lattices.index(lattice)
