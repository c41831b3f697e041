"""The queries of LUBM on a generated university: continuous, asked once, and of an engine."""

from __future__ import annotations

import random
import subprocess
import sys

from lubm_queries import FOLDER, QUERIES, apply, counts

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.config import load
from streamreasoner.program.load import load_program

FACTS = FOLDER / "facts" / "triple.nt"


def test_all_ways_agree_through_changes():
    """Each query has answers; a random tenth of the university goes and comes back."""
    chance = random.Random(5)
    reasoner = Reasoner.from_rules(FOLDER / "rules.dl")
    reasoner.load(FOLDER / "ontology.ttl")
    facts = [line[:-2].split(" ", 2) for line in FACTS.read_text("utf-8").splitlines()]
    apply(reasoner, facts, 1)
    first = counts(reasoner)

    assert min(first.values()) > 0
    some = chance.sample(facts, len(facts) // 10)
    apply(reasoner, some, -1)
    assert counts(reasoner) != first
    apply(reasoner, some, 1)
    assert counts(reasoner) == first


def test_the_files_are_complete(tmp_path):
    """There are 14 queries, the facts are the generator's, and the pipeline has the program."""
    command = [sys.executable, FOLDER / "generate.py", "--output", tmp_path]
    subprocess.run(command, check=True)
    program = load(FOLDER / "pipeline.toml", {}).rules.program

    assert len(QUERIES) == 14
    assert FACTS.read_bytes() == (tmp_path / FACTS.name).read_bytes()
    assert load_program(program).rules == load_program(FOLDER / "rules.dl").rules
