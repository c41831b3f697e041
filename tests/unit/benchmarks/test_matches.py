"""Counting matches: the program that counts derives the same, and meets every match once."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchmarks import deletion, generators, programs
from benchmarks.peers import matches, ours
from streamreasoner import rulesets

SELF_JOIN = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .
known(?x) :- path(?x, _) .
"""


def loaded(case):
    """A driver of the program that counts, and what its load met."""
    driver = ours.Driver(dataclasses.replace(case, rules=matches.split(case.rules)))
    _, result = driver.apply(driver.encode(case.rows, 1))
    return driver, matches.matched(result)


@pytest.mark.parametrize("seed", range(4))
def test_a_load_meets_every_match_once(seed):
    """A closure's load meets each edge once, and each pair of a path and an edge that follows."""
    case = programs.closure("random", generators.uniform(12, 30, seed), 3, 0)

    driver, met = loaded(case)

    paths = driver.facts("path")
    follow = sum(int((case.rows[:, 0] == end).sum()) for end in paths[:, 1])
    assert met == len(case.rows) + follow


@pytest.mark.parametrize("rules", [programs.CLOSURE, SELF_JOIN])
def test_the_program_that_counts_derives_the_same(rules):
    """Paths are those of the program as it is, before and after a removal."""
    case = dataclasses.replace(
        programs.closure("random", generators.uniform(15, 40), 5, 0), rules=rules
    )
    plain = ours.Driver(case)
    plain.apply(plain.encode(case.rows, 1))
    driver, _ = loaded(case)

    for row in case.singles:
        results = [d.apply(d.encode(row[None], -1))[1] for d in (plain, driver)]
        facts = [np.unique(d.facts("path"), axis=0) for d in (plain, driver)]
        assert np.array_equal(*facts)
        # Derivations that cancel out in the trace were met all the same.
        trace = sum(
            int(np.abs(rows.multiplicity[rows.iteration > 0]).sum()) for rows in results[0].trace
        )
        assert matches.matched(results[1]) >= trace


def test_the_rules_of_rdf_are_split():
    """Triples, constants and wildcards print as a program that is accepted."""
    text = matches.split(rulesets.text("rho-df"))

    assert text.count(matches.PREFIX) == 2 * 6


def test_programs_with_facts_are_refused():
    """A fact has no body that could be matched."""
    with pytest.raises(ValueError, match="no body"):
        matches.split(programs.SSSP)


def test_both_ways_to_delete_change_the_same():
    """A row of the comparison is made of equal results, and meets fewer matches on a clique."""
    case = programs.closure("clique", generators.clique(8), 4, 0)

    row, same = deletion.compare(case)

    found = dict(zip(deletion.HEADER, row, strict=True))
    assert same
    assert found["changed"] == 1
    assert found["deleted"] == found["rederived"] + 1 == 65
    assert 0 < found["matches, counts"] < found["matches, rederive"]
