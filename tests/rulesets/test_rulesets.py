"""Rulesets are their specifications, rule by rule, from scratch and incrementally."""

from __future__ import annotations

import re
from functools import cache

import pytest
from driver import Driver
from oracle.owl_rl import SAME, closure
from ruleset_cases import cases, check

from streamreasoner import rulesets
from streamreasoner.program.load import load_program


def judge(triples):
    """The closure that the oracle finds; that a term is itself is not compared."""
    derived, false = closure(triples)
    return derived, false, lambda each: each[0] != each[2] or each[1] != SAME


def judge_all(triples):
    """The closure that the oracle finds."""
    return *closure(triples), lambda _: True


CASES = {
    "owl-rl": (judge, cases("owl_rl")),
    "owl-rl-eq-ref": (judge_all, cases("owl_rl_eq_ref")),
    "owl-rl-dt-diff": (None, cases("owl_rl_dt_diff")),
    "rdfs": (None, cases("rdfs")),
    "rdfs-axioms": (None, cases("rdfs_axioms")),
    "rdfs-datatypes": (None, cases("rdfs_datatypes")),
}
EVERY = [(name, case) for name, (_, part) in CASES.items() for case in part]


@cache
def driver(ruleset):
    """A state without input, for all cases of a ruleset."""
    driver = Driver(load_program(ruleset), store=None)
    driver.apply([])
    return driver


@pytest.mark.parametrize(("ruleset", "case"), EVERY, ids=str)
def test_a_case(ruleset, case):
    """What is listed follows, or does not; the closure is the oracle's; nothing remains."""
    judged_by, _ = CASES[ruleset]
    check(driver(ruleset), case, judged_by)


@pytest.mark.parametrize("ruleset", CASES)
def test_every_rule_has_cases(ruleset):
    """Something follows by each rule, and something similar does not."""
    texts = [rulesets.text(ruleset)]
    if ruleset == "owl-rl-dt-diff":
        texts.append(rulesets.text("owl-rl-datatypes"))
    named = {
        name
        for text in texts
        for names in re.findall(r'@rule "([^"]*)"', text)
        for name in names.split(", ")
    }
    _, part = CASES[ruleset]
    assert named == {case.rule for case in part if case.follows}
    assert named == {case.rule for case in part if case.fails}
