"""The examples: what each epoch changes, and that other algorithms come to the same results."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from driver import Driver
from examples.cases import FOLDER, read_all
from examples.independent import RESULTS
from oracle import derivations, evaluate

from streamreasoner.api.nodes import from_ntriples
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.config import load
from streamreasoner.io.formats.reading.json.updates import read_any
from streamreasoner.program.load import load_program

CASES = read_all()
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
every_name = pytest.mark.parametrize("name", CASES)

SIZES = {"gdpr-erasure": 12, "cspa": 16, "connected-components": 40}
"""Sizes where twice the default is too much or too little."""


def generated(name, *options):
    """The output of the generator of an example."""
    command = [sys.executable, FOLDER / name / "generate.py", *map(str, options)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def messages(text):
    """Messages of the input topic as (predicate, arguments as Python terms)."""
    for line in text.splitlines():
        message = json.loads(line)
        args = message.get("args") or [message[place] for place in "spo"]
        yield (
            message.get("predicate", "triple"),
            tuple(from_ntriples(arg) if isinstance(arg, str) else arg for arg in args),
        )


def check(name, reasoner, facts):
    """Compare what the reasoner has derived with the independent result for the same facts."""
    asserted = defaultdict(set)
    for predicate, args in facts:
        asserted[predicate].add(args)
    for predicate, expected in RESULTS[name](asserted).items():
        assert set(reasoner.facts(predicate)) == expected, predicate


@every_case
def test_expectations_agree_with_the_oracle(case):
    """The golden file is the oracle's answer; `python tests/examples/cases.py` writes it."""
    assert case.expected.read_text("utf-8") == case.render(case.changes, case.traces[-1])


@every_case
def test_every_rule_derives_something(case):
    """Every rule of an example has a derivation after at least one epoch."""
    idle = [
        rule
        for rule in case.checked.rules
        if not any(derivations([rule], present) for present in case.closures)
    ]

    assert idle == []
    assert case.checked.warnings == ()


@every_case
def test_as_written(case):
    """Epoch by epoch the changes of derived facts are the golden ones, and so is the trace."""
    driver = Driver(case.checked)
    changes, traces = [], []
    for epoch in case.epochs:
        changes += driver.changes([epoch])
        traces.append(driver.trace())

    assert case.render(changes, traces[-1]) == case.expected.read_text("utf-8")
    assert tuple(traces) == case.traces


@every_case
def test_shuffled_and_taken_back(case):
    """One update an epoch, in any order, leads to the golden trace; the inverse leaves nothing."""
    shuffled = random.Random(1)
    driver = Driver(case.checked)
    driver.changes([[update] for update in shuffled.sample(case.updates, len(case.updates))])

    assert driver.trace() == case.traces[-1]

    inverse = [(predicate, args, -multiplicity) for predicate, args, multiplicity in case.updates]
    driver.changes([[update] for update in shuffled.sample(inverse, len(inverse))])

    assert driver.trace() == evaluate(case.checked, {}) == {}


@every_name
def test_the_facts_are_what_the_generator_prints(name, tmp_path):
    """The facts of an example are its generator's, with no options but where to write them."""
    generated(name, "--output", tmp_path)
    facts = FOLDER / name / "facts"

    assert {path.name for path in facts.iterdir()} == {path.name for path in tmp_path.iterdir()}
    for path in facts.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


@every_name
def test_the_files_hold_the_facts_of_the_messages(name):
    """The rules derive from the files what the independent algorithm computes from the messages."""
    reasoner = Reasoner.from_rules(FOLDER / name / "rules.dl")
    reasoner.load(*sorted((FOLDER / name / "facts").iterdir()))

    check(name, reasoner, messages(generated(name, "--json")))


@every_name
@pytest.mark.parametrize("seed", [1, 2])
def test_against_another_algorithm(name, seed):
    """After random additions and deletions the result is that of an algorithm without rules."""
    facts = list(messages(generated(name, "--json", "--seed", seed, "--size", SIZES.get(name, 24))))
    chosen = random.Random(seed)
    reasoner = Reasoner.from_rules(FOLDER / name / "rules.dl")
    present = set()
    for sign in (1, -1, 1, -1):
        source = sorted(set(facts) - present if sign > 0 else present, key=str)
        part = chosen.sample(source, len(source) * 2 // 3)
        reasoner.apply([Update(predicate, args, sign) for predicate, args in part])
        present = present | {*part} if sign > 0 else present - {*part}
        check(name, reasoner, present)

    assert present


def test_an_erased_person_is_in_no_fact():
    """After all facts asserted about a person are retracted, no fact or multiplicity has them."""
    case = CASES["gdpr-erasure"]
    personal = {"<http://example.org/shop#anna>", '"anna@example.org"'}
    driver = Driver(case.checked)
    *others, erasure = case.epochs
    driver.changes(others)

    assert any(personal & {*args} for _, args in driver.trace())

    driver.changes([erasure])

    assert not any(personal & {*args} for _, args in driver.trace())


@every_name
def test_every_example_is_complete(name):
    """An example has all its files, and both tables of contents lead to it."""
    files = {"rules.dl", "README.md", "generate.py", "epochs.txt", "session.txt", "session.out"}
    docs = Path(__file__).parents[2] / "docs"

    assert files <= {path.name for path in (FOLDER / name).iterdir()}
    assert f"]({name}/README.md)" in (FOLDER / "README.md").read_text("utf-8")
    assert f"](../examples/{name}/README.md)" in (docs / "examples.md").read_text("utf-8")


@every_name
def test_pipelines_take_what_is_sent(name):
    """The pipeline's configuration is right, and its input decodes the generator's messages."""
    config = load(FOLDER / name / "pipeline.toml", {})
    text = generated(name, "--json", "--diff", "-1")

    assert load_program(config.rules.program).rules == CASES[name].checked.rules
    assert {read_any(line.encode()).diff for line in text.splitlines()} == {-1}
