"""Aggregates of groups against those of the oracle, computed from all matches."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import State
from oracle.aggregates import results as aggregated
from unit.backends.columnar.memory import DENSE, FEW, SPARSE, Memory

from streamreasoner.backends.columnar.compiler import reductions
from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.records import layout

XSD = "http://www.w3.org/2001/XMLSchema#"
TERMS = (
    *(f'"{number}"^^<{XSD}integer>' for number in (0, 1, -7, 2**62, 2**63 - 1)),
    *(f'"{number}"^^<{XSD}decimal>' for number in ("0.5", "-0.5", "2.000000000000000001")),
    *(f'"{number}"^^<{XSD}double>' for number in ("1.0E0", "1.0E300", "-1.0E-300", "INF", "NaN")),
    "<urn:a>",
)
FUNCTIONS = (
    *("count", "count distinct", "sum", "avg"),
    *("group_concat |", "lowest 1", "lowest 3", "highest 2"),
)
KEYS = {DENSE: ("?a",), SPARSE: ("?a", "?b", "?c")}


def program(regime, function):
    """A rule that aggregates the last argument of `e` by the others."""
    key = ", ".join(KEYS[regime])
    name, _, parameter = function.partition(" ")
    aggregate = f"{name}({parameter} ?v)"
    if parameter != "distinct":
        aggregate = (
            f"{name}(?v, {parameter.replace('|', repr('|'))})" if parameter else f"{name}(?v)"
        )
    return f"r({key}, {aggregate}) :- e({key}, ?v) ."


def expected(memory, reduction, model):
    """The facts of a reduction, from the multiplicities of its candidates."""
    groups = defaultdict(list)
    for (_, args), entries in model.multiplicities.items():
        key, value = args[: len(reduction.key)], args[len(reduction.key) :]
        text = "".join(map(memory.program.terms.text, value))
        groups[key] += [text] * sum(entries.values())
    return {
        ("r", (*key, memory.program.terms.id(text))): {1: 1}
        for key, texts in groups.items()
        if texts
        for text in aggregated(reduction.function, texts)
    }


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("regime", [DENSE, SPARSE], ids=["dense", "sparse"])
@FEW
@given(data=st.data(), ends=st.lists(st.booleans(), min_size=1, max_size=4))
def test_results_follow_their_matches(regime, function, data, ends):
    """After any changes a group has its results; a rollback undoes its accumulators."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reductions, "SPARE", data.draw(st.sampled_from((0, 1, 1024))))
        memory, committed = Memory(program(regime, function)), State()
    ((stratum, reduction),) = [
        (number, reduction)
        for number, each in enumerate(memory.program.plan.strata, start=1)
        for reduction in each.reductions
    ]
    values = [memory.program.terms.id(term) for term in TERMS]
    width = memory.program.plan.arities[reduction.candidates] - len(KEYS[regime])
    keys = [args[: len(KEYS[regime])] for _, args in data.draw(regime.facts())][:3]
    pool = [(reduction.candidates, (*key, *[v] * width)) for key in keys for v in values]
    for commits in ends:
        model = committed.copy()
        for choice, number in data.draw(
            st.lists(st.tuples(st.integers(0, 41), st.integers(0, 3)), max_size=10)
        ):
            # Matches are derived, so their number is never negative.
            each = pool[choice % len(pool)]
            change = number - model.total(each)
            memory.add(each, 1, change)
            model.add(each, 1, change)
        for number in range(stratum + 1):
            memory.settle(number, derives=True)

        assert results(memory) == expected(memory, reduction, model)
        if commits:
            journal.commit(memory.table)
            committed = model
        else:
            assert journal.rollback(memory.table, memory.values) == layout.OK
            assert results(memory) == expected(memory, reduction, committed)
        memory.assert_no_unit_is_lost()
        groups = {key for key, texts in _numbers(memory, reduction, committed).items() if texts}
        number = memory.numbering.groupings[reduction]
        assert [memory.words[2 * each] for each in memory.groups()].count(number) == len(groups)


def results(memory):
    """The multiplicities of heads."""
    return {fact: each for fact, each in memory.numbers("multiplicity").items() if fact[0] == "r"}


def _numbers(memory, reduction, model):
    """By key, the values that an accumulator counts: sums count numbers alone."""
    groups = defaultdict(list)
    for _, args in model.multiplicities:
        value = args[len(reduction.key) :]
        text = "".join(map(memory.program.terms.text, value))
        if text.startswith('"') or not reduction.function.startswith(("sum", "avg")):
            groups[args[: len(reduction.key)]].append(text)
    return groups
