"""The ruleset `owl-rl` is OWL 2 RL: rule by rule, from scratch and incrementally."""

from __future__ import annotations

import re

import pytest
from driver import Driver
from oracle.owl_rl import SAME, closure
from ruleset_cases import cases, check

from streamreasoner import rulesets
from streamreasoner.program.load import load_program

CASES = cases("owl_rl")


def judge(triples):
    """The closure that the oracle finds; that a term is itself is not compared."""
    derived, false = closure(triples)
    return derived, false, lambda each: each[0] != each[2] or each[1] != SAME


@pytest.fixture(scope="module")
def driver():
    """A state without input, for all cases."""
    driver = Driver(load_program("owl-rl"), store=None)
    driver.apply([])
    return driver


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case(driver, case):
    """What is listed follows, or does not; the closure is the oracle's; nothing remains."""
    check(driver, case, judge)


def test_every_rule_has_cases():
    """Something follows by each rule, and something similar does not."""
    named = {
        name
        for names in re.findall(r'@rule "([^"]*)"', rulesets.text("owl-rl"))
        for name in names.split(", ")
    }
    assert named == {case.rule for case in CASES if case.follows}
    assert named == {case.rule for case in CASES if case.fails}
