"""Changes as lines: added up, they are what is present."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import THOROUGH

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.engine.epoch import EpochResult
from streamreasoner.engine.updates import Changes
from streamreasoner.facts import Fact
from streamreasoner.shell.output import FactPrinter, changes, totals

RULES = "b(?x, ?y) :- a(?x, ?y) .\nb(?x, ?z) :- b(?x, ?y), a(?y, ?z) .\n"
NODES = st.integers(1, 3)
UPDATES = st.tuples(st.sampled_from("aab"), NODES, NODES, st.sampled_from((1, 1, -1)))
EPOCHS = st.lists(st.lists(UPDATES, max_size=5), max_size=4)
PRINTER = FactPrinter({})


def present(reasoner, predicate):
    """The facts of a predicate, printed."""
    return {
        PRINTER.text(Fact(predicate, tuple(map(to_ntriples, args))))
        for args in reasoner.facts(predicate)
    }


@settings(max_examples=500 if THOROUGH else 20)
@given(EPOCHS)
def test_lines_sum_to_the_present_facts(epochs):
    """Also those that stay while their assertion changes; each change of the input is marked."""
    reasoner, shown = Reasoner.from_rules(RULES), set()
    sums, asserted = Counter(), set()
    for epoch in epochs:
        diff = reasoner.apply([Update(predicate, (x, y), sign) for predicate, x, y, sign in epoch])
        lines, summary = changes(diff, PRINTER)
        signed = [(line.text[0], line.text[2:].partition("  #")[0]) for line in lines]
        marked = {line.text[2:].partition("  #")[0] for line in lines if "#" in line.text}
        for predicate, x, y, sign in epoch:
            sums[f"{predicate}({x}, {y})"] += sign
        before, asserted = asserted, {fact for fact, number in sums.items() if number > 0}
        gained, lost, kept = ({fact for sign, fact in signed if sign == each} for each in "+-=")

        assert len(signed) == len(gained) + len(lost) + len(kept)
        assert (gained & shown, lost - shown) == (set(), set())
        assert kept == (shown - lost) & (before ^ asserted)
        assert marked == gained & asserted | lost & before | kept
        shown = shown - lost | gained
        assert shown == present(reasoner, "a") | present(reasoner, "b")
        assert summary.startswith(f"{len(gained) + len(lost)} change")


@given(st.dictionaries(st.sampled_from(("p", "q", "r")), st.lists(st.sampled_from((1, -1)))))
def test_totals_count_the_changes_of_each_predicate(signs):
    """In order of the predicates; one that does not change has no line."""
    parts = [
        Changes(predicate, np.zeros((len(each), 1), np.int32), np.array(each, np.int8))
        for predicate, each in signs.items()
    ]
    result = EpochResult(0, 0, 2, derived=(), closure=tuple(parts), trace=())
    lines, summary = totals(result, {"p", "q", "r"})
    found = dict(line.text.split(": ") for line in lines)

    assert [*found] == sorted(predicate for predicate, each in signs.items() if each)
    for predicate, numbers in found.items():
        assert sum(map(int, numbers.split())) == sum(signs[predicate])
        assert sum(abs(int(each)) for each in numbers.split()) == len(signs[predicate])
    assert int(summary.split()[0]) == sum(map(len, signs.values()))
