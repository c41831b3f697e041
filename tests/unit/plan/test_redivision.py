"""Divisions of two programs for the time in which one becomes the other."""

from __future__ import annotations

import pytest
from strategies import checked

from streamreasoner.plan.division import divide, may_own
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.program_change import program_change
from streamreasoner.plan.redivision import with_same_owners

JOINED = "h(?x, ?y) :- e(?x, ?y), f(?y) .\n"
BACK = "g(?x) :- e(?x, _), f(?x) .\n"
LEAST = "e(?x, min(?y)) :- f(?x), f(?y) .\n"
LEAST_BY_VALUE = "e(min(?x), ?y) :- f(?x), f(?y) .\n"
DECLARED = "@input e/2 . @input f/1 .\n"


def divided(before, after, current, wanted):
    """The change between two texts, and both divisions, with owning arguments of `e`."""
    change = program_change(*(lower(checked(DECLARED + each)) for each in (before, after)))
    owners = {name: at[0] if at else None for name, at in may_own(change.before).items()}
    division = divide(change.before, {**owners, "e": current})
    everything = {name: at[0] if at else None for name, at in may_own(change.after).items()}
    return change, division, with_same_owners(change, division, {**everything, "e": wanted})


@pytest.mark.parametrize(
    ("before", "after", "current", "wanted", "chosen"),
    [
        (JOINED, BACK, 1, 0, 0),
        (JOINED, BACK, 1, 1, 1),
        (LEAST, BACK, 0, 1, 0),
        (JOINED, LEAST, 1, 0, 0),
        (JOINED, LEAST, 0, None, 0),
        (LEAST, LEAST_BY_VALUE, 0, 1, None),
    ],
)
def test_the_owners_are_allowed_by_both(before, after, current, wanted, chosen):
    """They are those of the new program, or else of the former, or else any, or one part."""
    _, _, (first, second) = divided(before, after, current, wanted)

    assert first.owners == second.owners
    assert first.owners["e"] == chosen


def test_a_division_with_the_same_owners_stays():
    """Its rules are where they were, also in the new program."""
    change, division, (first, second) = divided(JOINED, JOINED + BACK, 0, 0)

    assert first.strata == division.strata
    placed = {
        rule.tree.parts: each
        for stratum, rules in zip(change.after.strata, second.strata, strict=True)
        for rule, each in zip(stratum.rules, rules, strict=True)
    }
    for stratum, rules in zip(change.before.strata, division.strata, strict=True):
        for rule, each in zip(stratum.rules, rules, strict=True):
            assert placed[rule.tree.parts] == each
