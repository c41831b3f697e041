"""Delete and rederive against naive evaluation: after every update, the least model."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import generators, programs
from benchmarks.peers.dred import DeleteRederive
from streamreasoner.program.load import load_program

NONLINEAR = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .
"""
CONSTANTS = """
[?a, 7, ?c] :- [?a, 7, ?b], [?b, 7, ?c] .
[?x, ?q, ?x] :- [?x, ?p, ?x], [?p, 7, ?q] .
[?y, 8, 9] :- [_, 8, ?y] .
"""


def engine(rules):
    """An empty engine whose constants are the numbers themselves."""
    text = rules.replace(" 7,", " <n:7>,").replace(" 8,", " <n:8>,").replace(" 9]", " <n:9>]")
    number = {f"<n:{i}>": i for i in range(10)}
    return DeleteRederive(load_program(text).rules, number.__getitem__)


def closure(edges):
    """Pairs that are connected by at least one edge, by repeated composition."""
    paths = set(edges)
    while more := {(x, w) for x, y in paths for z, w in edges if y == z} - paths:
        paths |= more
    return paths


def cspa(assign, dereference):
    """The ten rules of the points-to analysis, each evaluated on all facts until nothing is new."""
    flow, memory, value = set(), set(), set()
    ends = {node for pair in assign for node in pair}
    while True:
        before = len(flow) + len(memory) + len(value)
        flow |= assign | {(x, x) for x in ends}
        flow |= {(x, y) for x, z in assign for w, y in memory if z == w}
        flow |= {(x, y) for x, z in flow for w, y in flow if z == w}
        memory |= {(x, x) for x in ends}
        memory |= {
            (x, w)
            for y, x in dereference
            for a, z in value
            if a == y
            for b, w in dereference
            if b == z
        }
        value |= {(x, y) for z, x in flow for w, y in flow if z == w}
        value |= {(x, y) for z, x in flow for a, w in memory if a == z for b, y in flow if b == w}
        if before == len(flow) + len(memory) + len(value):
            return {"valueFlow": flow, "memoryAlias": memory, "valueAlias": value}


@pytest.mark.parametrize("rules", [programs.CLOSURE, NONLINEAR])
@pytest.mark.parametrize("seed", range(8))
def test_updates_of_a_closure_keep_the_least_model(rules, seed):
    """After every removal and addition, single or together, the paths are those of the edges."""
    random = np.random.default_rng(seed)
    reasoner = engine(rules)
    edges = set()
    for _ in range(30):
        chosen = {
            tuple(pair) for pair in random.integers(0, 7, (random.integers(1, 4), 2)).tolist()
        }
        if random.random() < 0.5:
            reasoner.add("edge", chosen)
            edges |= chosen
        else:
            reasoner.remove("edge", chosen & edges)
            edges -= chosen

        assert reasoner.facts["path"] == closure(edges)


@pytest.mark.parametrize("seed", range(4))
def test_rules_with_constants_and_repeated_variables(seed):
    """Removing asserted facts, derivable ones among them, leaves what a fresh engine derives."""
    random = np.random.default_rng(seed)
    reasoner = engine(CONSTANTS)
    asserted = {tuple(row) for row in random.integers(6, 10, (40, 3)).tolist()}
    reasoner.add("triple", asserted)
    for row in sorted(asserted)[::2]:
        reasoner.remove("triple", [row])
        asserted.discard(row)
        fresh = engine(CONSTANTS)
        fresh.add("triple", asserted)

        assert reasoner.facts["triple"] == fresh.facts["triple"]


def test_points_to_is_what_naive_evaluation_derives():
    """The points-to rules give the same facts by naive evaluation, before and after a removal."""
    random = np.random.default_rng(1)
    assign = {tuple(row) for row in random.integers(0, 9, (8, 2)).tolist()}
    dereference = {tuple(row) for row in random.integers(0, 9, (8, 2)).tolist()}
    reasoner = engine(programs.CSPA)
    reasoner.add("assign", assign)
    reasoner.add("dereference", dereference)

    expected = cspa(assign, dereference)
    assert {name: reasoner.facts[name] for name in expected} == expected

    gone = min(assign)
    reasoner.remove("assign", [gone])
    expected = cspa(assign - {gone}, dereference)
    assert {name: reasoner.facts[name] for name in expected} == expected


def test_work_counts_what_deletion_overdoes():
    """Removing an edge of a clique deletes all paths to put back all of them."""
    nodes = 6
    reasoner = engine(programs.CLOSURE)
    edges = [tuple(row) for row in generators.clique(nodes).tolist()]
    reasoner.add("edge", edges)

    work = reasoner.remove("edge", edges[:1])

    assert work.over_deleted == nodes * nodes + 1
    assert work.rederived == nodes * nodes
    assert work.changed == 1
