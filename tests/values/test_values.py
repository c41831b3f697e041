"""The tables of values hold for the functions, the kernels and explanations, row by row."""

from __future__ import annotations

import random
from itertools import product

import pytest
from values.executors import (
    Aggregates,
    Applies,
    Compares,
    Explanations,
    Functions,
    Kernels,
    Orders,
)
from values.tables import (
    AGGREGATIONS,
    APPLICATIONS,
    COMPARISONS,
    EDGE_TERMS,
    HOLDING,
    KIND_TESTS,
    NEIGHBOURS,
    WRONG_KINDS,
    wrong,
)

EXECUTORS = (Functions(), Kernels(), Explanations())
TERMS = [each.term for each in EDGE_TERMS]


def of(base):
    """Parametrize a test over the executors that do something."""
    able = [executor for executor in EXECUTORS if isinstance(executor, base)]
    return pytest.mark.parametrize("executor", able, ids=lambda executor: type(executor).__name__)


@of(Compares)
def test_comparisons(executor):
    """Two terms compare as the table says."""
    found = [executor.compare([(row.left, row.right)])[0] for row in COMPARISONS]

    assert wrong(COMPARISONS, found) == {}


@of(Compares)
def test_a_term_equals_itself(executor):
    """Every term is equal to itself, whatever it is."""
    assert set(executor.compare([(term, term) for term in TERMS])) == {HOLDING["="]}


def test_all_pairs_compare_alike():
    """What the functions say about any two edge terms, the kernels say too."""
    pairs = list(product(TERMS, TERMS))
    said = zip(pairs, Kernels().compare(pairs), Functions().compare(pairs), strict=True)

    assert [each for each in said if each[1] != each[2]] == []


@of(Orders)
def test_order(executor):
    """The terms are in the total order, however they were."""
    shuffled = random.Random(0).sample(TERMS, len(TERMS))

    assert executor.order(shuffled) == TERMS


@of(Applies)
def test_functions(executor):
    """A function or an operator has the value that the table says, or none."""
    found = [executor.apply([(row.function, row.arguments)])[0] for row in APPLICATIONS]

    assert wrong(APPLICATIONS, found) == {}


@of(Applies)
@pytest.mark.parametrize("rows", [KIND_TESTS, WRONG_KINDS], ids=["right", "wrong"])
def test_kinds(executor, rows):
    """Each term is of its kind; a function has no value for a term of a kind it does not take."""
    found = executor.apply([(row.function, row.arguments) for row in rows])

    assert wrong(rows, found) == {}


@of(Aggregates)
def test_aggregates(executor):
    """A group has the value that the table says, or none."""
    found = [executor.aggregate([(row.function, row.members)])[0] for row in AGGREGATIONS]

    assert wrong(AGGREGATIONS, found) == {}


@of(Aggregates)
def test_neighbours(executor):
    """Of two neighbours in the total order, the first is the least and the second the greatest."""
    found = executor.aggregate([(row.function, row.members) for row in NEIGHBOURS])

    assert wrong(NEIGHBOURS, found) == {}
