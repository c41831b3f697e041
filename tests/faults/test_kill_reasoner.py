"""SIGKILL of a process that has a state open, at random: nothing is lost or doubled."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from faults.durable_reasoner import RULES, apply
from thorough import THOROUGH

from streamreasoner import Reasoner

PROCESS = Path(__file__).with_name("durable_reasoner.py")
KILLS = 200 if THOROUGH else 4
PREDICATES = ("edge", "path", "reached", "named")


def test_killed_at_random(tmp_path):
    """After each kill, the state has the epochs that were told, and at most one more."""
    draw = random.Random(KILLS)
    Reasoner.open(tmp_path / "state", RULES).close()
    memory, kills_within = Reasoner.from_rules(RULES), 0
    for number in range(KILLS):
        # The first epoch of a process also loads kernels, so most kills come after it.
        opened, told = run_and_kill(tmp_path, number % 10 != 9, draw.uniform(0, 0.3))
        with Reasoner.open(tmp_path / "state") as found:
            assert opened == memory.epochs, number
            assert told <= found.epochs <= told + 1, number
            kills_within += found.epochs > told
            for epoch in range(memory.epochs, found.epochs):
                apply(memory, epoch)
            predicates = [*PREDICATES, *(["back"] if "back" in found.program.arities else [])]
            assert contents(found, predicates) == contents(memory, predicates), number
    assert memory.epochs >= KILLS // 2
    assert kills_within or not THOROUGH


def run_and_kill(folder, after_an_epoch, seconds):
    """Run the process, and kill it this long after it has the state open, or an epoch in it."""
    command = [sys.executable, PROCESS, folder / "state"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        opened = told = int(process.stdout.readline())
        if after_an_epoch:
            told = int(process.stdout.readline())
        time.sleep(seconds)
        process.kill()
        lines = process.stdout.read().splitlines(keepends=True)
    return opened, max([told, *(int(line) for line in lines if line.endswith("\n"))])


def contents(reasoner, predicates):
    """The facts with their multiplicities at each iteration."""
    return {name: sorted(map(str, reasoner.trace(name))) for name in predicates}
