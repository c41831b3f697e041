"""Golden programs: what each epoch changes and what the trace is in the end, however it is run."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from driver import Driver
from oracle import derivations, evaluate
from programs.cases import CUTS, read_all
from thorough import THOROUGH

from streamreasoner import rulesets
from streamreasoner.lang.ast import Atom
from streamreasoner.lang.traversal import walk
from streamreasoner.plan.lower.lowering import lower

CASES = read_all()
RULESETS = Path(__file__).parents[1] / "rulesets"
PARTS = {"datatypes", "owl-rl-datatypes"}
"""Rulesets that others import; the cases of those show their rules."""
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
# Cuts take turns, so that each has cases of every family; laws cut random programs, too.
every_way = pytest.mark.parametrize(
    ("case", "cut"),
    [
        pytest.param(case, cut, id=f"{cut}-{case.folder.name}")
        for number, case in enumerate(CASES.values())
        for turn, cut in enumerate(CUTS)
        if THOROUGH or number % len(CUTS) == turn
    ],
)


@every_case
def test_what_is_expected_is_what_the_oracle_says(case):
    """The golden file is the oracle's answer; `python tests/programs/rewrite.py` writes it."""
    assert case.expected.read_text("utf-8") == case.render(case.changes, case.traces[-1])


@every_case
def test_every_rule_derives_something(case):
    """No rule of a golden program is idle: each has a derivation after one of the epochs.

    Of a rule that counts what may be nothing, some parts may be idle.
    """
    parts = defaultdict(list)
    for rule in case.checked.rules:
        nodes = [node for literal in rule.body for node in walk(literal)]
        is_part = any(isinstance(node, Atom) and "#" in node.predicate for node in nodes)
        parts[rule.span if is_part else rule].append(rule)
    facts = case.readable
    idle = [
        rules[0]
        for rules in parts.values()
        if not any(derivations(rules, present) for present in facts)
    ]

    assert idle == []


@every_case
def test_as_written(case):
    """Epoch by epoch the changes of derived facts are the golden ones, and so is the trace."""
    driver = Driver(case.checked)
    changes, closures, traces = [], [], []
    for epoch in case.epochs:
        changes += driver.changes([epoch])
        closures.append(driver.closure())
        traces.append(driver.trace())

    assert case.render(changes, traces[-1]) == case.expected.read_text("utf-8")
    assert tuple(closures) == case.closures
    assert tuple(traces) == case.traces


@every_way
def test_cut_otherwise(case, cut):
    """However the updates are cut and ordered, the trace in the end is the golden one."""
    driver = Driver(case.checked)
    driver.changes(CUTS[cut](case.updates))

    assert driver.trace() == case.traces[-1]
    assert driver.closure() == case.closures[-1]


@every_way
def test_retracting_everything_at_the_end(case, cut):
    """Taking back every update, in any cut and order, leaves what follows from the program."""
    driver = Driver(case.checked)
    driver.changes(case.epochs)
    inverse = [(predicate, args, -multiplicity) for predicate, args, multiplicity in case.updates]
    driver.changes(CUTS[cut](inverse))
    statistics = driver.session.engine.statistics()
    left = evaluate(case.checked, {})

    assert driver.trace() == left
    if not evaluate(case.checked, {}, helpers=True) and not lower(case.checked).stated:
        assert (statistics.facts, statistics.trace_rows, statistics.present) == (0, 0, 0)


@every_case
def test_restored_between_any_two_epochs(case):
    """A reasoner that takes over the trace between two epochs goes on as if nothing happened."""
    for cut in range(1, len(case.epochs)):
        original, heir = Driver(case.checked), Driver(case.checked)
        before = original.changes(case.epochs[:cut])
        heir.inherit(original)
        changes = before + heir.changes(case.epochs[cut:])

        assert case.render(changes, heir.trace()) == case.expected.read_text("utf-8")


def test_an_erased_person_is_in_no_fact_of_the_trace():
    """After all that was asserted about a person is retracted, no fact and no count names them."""
    case = CASES["erasure-of-a-person"]
    person = "<http://example.org/anna>"
    driver = Driver(case.checked)
    *others, erasure = case.epochs
    driver.changes(others)

    assert any(person in args for _, args in driver.trace())

    driver.changes([erasure])

    assert not any(person in args for _, args in driver.trace())


def test_every_ruleset_has_a_golden_program():
    """Each packaged ruleset has a case, or cases of its own, that show what its rules derive."""
    named = {case.checked.program.source for case in CASES.values()}
    apart = {path.name.replace("_", "-") for path in RULESETS.iterdir() if path.is_dir()}

    others = {name for name in rulesets.names() if f"{name}.dl" not in named}
    assert others - PARTS <= apart
