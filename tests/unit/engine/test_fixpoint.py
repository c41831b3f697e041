"""The fixpoint of a stratum on a backend of dicts: which steps it takes, and where they end."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from model import ModelBackend, Terms
from oracle import evaluate
from strategies import checked
from thorough import THOROUGH
from unit.engine.edges import EDGES, assert_edges, unguarded, visible

from streamreasoner.engine.fixpoint import INPUT, fixpoint, fixpoints
from streamreasoner.errors import RecursionLimitError
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.rdf.dictionary import Dictionary

FEW = examples(max_examples=300 if THOROUGH else 15)
PROGRAM = """
p(?x, ?y) :- e(?x, ?y) .
p(?x, ?z) :- p(?x, ?y), e(?y, ?z) .
q(?x) :- e(?x, _), not p(?x, ?x) .
n(?x, count(?y)) :- p(?x, ?y) .
d(?y, min(?v + 1)) :- d(?x, ?v), e(?x, ?y), ?v < 4 .
d(?x, min(0)) :- q(?x) .
"""
LAST = 6
"""The last iteration of the next program."""
COUNT = "c(1) :- e(_, _) .\nc(?x + 1) :- c(?x), ?x < 6 ."
EPOCHS = st.lists(st.lists(EDGES, max_size=6), min_size=1, max_size=3)


class Recorded(ModelBackend):
    """A backend of dicts that records the steps of a stratum.

    Attributes:
        steps: (name, argument, result) in the order of the calls.
    """

    def __init__(self, text):
        dictionary = Dictionary()
        super().__init__(lower(checked(text)), dictionary)
        self.terms = Terms(dictionary)
        self.steps = []

    def enter(self, stratum):
        """Start a stratum."""
        return self._recorded("enter", stratum, super().enter(stratum))

    def reduce(self, reduction):
        """Replace the results of a reduction."""
        return self._recorded("reduce", reduction, super().reduce(reduction))

    def settle(self, iteration):
        """Settle an iteration."""
        return self._recorded("settle", iteration, super().settle(iteration))

    def derive(self, iteration):
        """Derive from the delta of an iteration."""
        return self._recorded("derive", iteration, super().derive(iteration))

    def next_touched(self, after):
        """The next iteration."""
        return self._recorded("next", after, super().next_touched(after))

    def _recorded(self, name, argument, result):
        self.steps.append((name, argument, result))
        return result

    def run(self, number, limit):
        """Run the fixpoint of a stratum; returns the number of iterations touched."""
        return fixpoint(self, self.program.plan, number, limit, unguarded)


def strata(backend):
    """The numbers of the strata, the input first."""
    return range(len(backend.program.plan.strata) + 1)


@FEW
@given(EPOCHS)
def test_the_strata_in_order_end_in_the_trace_of_the_oracle(epochs):
    """After each epoch, as if all input had come in one."""
    backend, total = Recorded(PROGRAM), Counter()
    for edges in epochs:
        for fact, multiplicity in assert_edges(backend, backend.terms, edges):
            total[fact] += multiplicity
        fixpoints(backend, backend.program.plan, 50, unguarded)
        backend.commit()

        assert visible(backend, backend.terms) == evaluate(
            checked(PROGRAM), {f: n for f, n in total.items() if n}
        )


@FEW
@given(EPOCHS)
def test_touched_iterations_are_settled_once_in_ascending_order(epochs):
    """Each derives right after it is settled, if anything has changed, and not otherwise."""
    backend = Recorded(PROGRAM)
    for edges in epochs:
        assert_edges(backend, backend.terms, edges)
        for stratum in strata(backend):
            backend.steps.clear()
            touched = backend.run(stratum, 50)
            plans = (INPUT, *backend.program.plan.strata)
            reductions = [("reduce", each, None) for each in plans[stratum].reductions]
            start, steps = (
                backend.steps[: 1 + len(reductions)],
                backend.steps[1 + len(reductions) :],
            )
            searched = [(after, result) for name, after, result in steps if name == "next"]
            settled = [(iteration, count) for name, iteration, count in steps if name == "settle"]
            iterations = [iteration for iteration, _ in settled]

            assert start == [("enter", stratum, None), *reductions]
            assert searched == list(pairwise([-1, *iterations, -1]))
            assert iterations == sorted(set(iterations))
            assert touched == len(iterations)
            assert [(name, iteration) for name, iteration, _ in steps if name != "next"] == [
                step
                for iteration, count in settled
                for step in [("settle", iteration)] + [("derive", iteration)] * (count > 0)
            ]
        backend.commit()


@pytest.mark.parametrize("limit", [LAST, LAST + 1])
def test_a_stratum_may_reach_the_limit(limit):
    """Its last iteration is no later than the limit; the input's changes are iteration 0."""
    assert counting().run(1, limit) == LAST + 1


def test_a_stratum_beyond_the_limit_is_refused_and_described():
    """The iteration after the limit is not settled."""
    backend = counting()

    refused = r"evaluation of 'c' by the rules at generated\.dl:2 has .* after 5 iterations"
    with pytest.raises(RecursionLimitError, match=refused):
        backend.run(1, LAST - 1)
    assert max(iteration for name, iteration, _ in backend.steps if name == "settle") == LAST - 1


def counting():
    """A backend whose stratum 1 derives a fact at each iteration up to the last."""
    backend = Recorded(COUNT)
    assert_edges(backend, backend.terms, [(1, 1, 1)])
    backend.run(0, 0)
    backend.steps.clear()
    return backend
