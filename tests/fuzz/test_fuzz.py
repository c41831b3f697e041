"""Whatever is read is accepted or rejected: seeds, earlier findings and mutated inputs."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.mutation import Mutator
from fuzz.target import SlowError, checked, search, smallest
from fuzz.targets import TARGETS, crashers
from thorough import THOROUGH

INPUTS = {
    "messages": 6_000,
    "control": 100,
    "files": 600,
    "rules": 250,
    "shapes": 150,
    "queries": 800,
    "updates": 1_500,
    "configuration": 1_000,
}
MORE = 50 if THOROUGH else 1
HANGS = 60.0
"""Processor seconds of one input: a machine may be slow."""
_SHORT = 0.01


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_is_accepted_or_rejected(name):
    """Alone and among others, without an exception, and what is accepted can be used."""
    target = TARGETS[name]()
    mutator = Mutator(random.Random(12), target.tokens)
    seeds = [*target.seeds, *crashers(name)]
    report = search(target, seeds, mutator, MORE * INPUTS[name], HANGS)
    assert not report.findings, [
        (kind, finding.data, str(finding.error)) for kind, finding in report.findings.items()
    ]
    assert report.accepted > len(seeds) / 10
    assert len(report.outcomes) > 10


class Fragile:
    """A target that fails at `<<`, and takes too long at `##`."""

    batch = 8
    seeds = (b"abcdefgh", b"<>#")
    tokens = (b"<<", b"##")

    def check(self, inputs):
        """See `Target`."""
        for data in inputs:
            assert b"<<" not in data
            if b"##" in data:
                sum(range(3_000_000))
        return ["+" for _ in inputs]


def test_a_finding_is_as_small_as_can_be():
    """Whatever was around the part that matters is left out."""
    report = search(Fragile(), Fragile.seeds, Mutator(random.Random(1), Fragile.tokens), 200, 60.0)
    (finding,) = report.findings.values()
    assert finding.data == b"<<"


def test_an_input_that_takes_too_long_is_a_finding():
    """It is told from its neighbours."""
    inputs = [b"a", b"x##y"]
    with pytest.raises(SlowError) as caught:
        checked(Fragile(), inputs, _SHORT)
    assert smallest(Fragile(), inputs, _SHORT, caught.value).data == b"x##y"


def test_the_script_runs():
    """As CONTRIBUTING.md says."""
    script = Path(__file__).with_name("run.py")
    command = [sys.executable, script, "configuration", "--runs", "50"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "0 findings" in result.stdout
