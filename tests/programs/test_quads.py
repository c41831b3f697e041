"""Golden programs about quads, with their input as N-Quads."""

from __future__ import annotations

import pytest
from oracle import closure, evaluate, total
from programs.cases import read_all

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.api.reasoner import Reasoner

CASES = {name: case for name, case in read_all().items() if "quad" in case.checked.arities}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_quads_from_files(case, tmp_path):
    """Quads and triples of an N-Quads file derive what the oracle derives from the same facts."""
    updates = [update for update in case.updates if update[2] > 0]
    lines = {"quads.nq": [], **{f"{name}.csv": [] for name, *_ in updates}}
    for predicate, args, multiplicity in updates:
        if predicate in {"triple", "quad"}:
            lines["quads.nq"] += [" ".join(args) + " .\n"] * multiplicity
        else:
            cells = ",".join('"' + term.replace('"', '""') + '"' for term in args)
            lines[f"{predicate}.csv"] += [f"{cells}\n"] * multiplicity
    paths = []
    for name, written in lines.items():
        if written:
            paths.append(tmp_path / name)
            paths[-1].write_text("".join(written), encoding="utf-8")
    reasoner = Reasoner(case.checked)
    reasoner.load(*paths)
    found = {
        (predicate, tuple(map(to_ntriples, args)))
        for predicate in case.checked.arities
        for args in reasoner.facts(predicate)
    }

    assert lines["quads.nq"]
    assert found == closure(evaluate(case.checked, total([updates])))


def test_quads_in_graphs_is_a_golden_program():
    """The case that has quads of every kind is among those that are read from N-Quads."""
    assert "quads-in-graphs" in CASES
