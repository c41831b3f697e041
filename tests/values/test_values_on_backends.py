"""The tables of values hold on the backends, which evaluate all rows of a table at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import pytest
from teams import store_elsewhere
from values.engines import Backend
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

ITSELF = [(each.term, each.term) for each in EDGE_TERMS]


@dataclass
class Results:
    """What an executor says about all rows, by row; computed when first asked for."""

    executor: Backend

    @cached_property
    def comparisons(self):
        """The comparisons that hold for each row, then for each term with itself."""
        pairs = [(row.left, row.right) for row in COMPARISONS]
        return self.executor.compare(pairs + ITSELF)

    @cached_property
    def applications(self):
        """The value of each call."""
        rows = (*APPLICATIONS, *KIND_TESTS, *WRONG_KINDS)
        return self.executor.apply([(row.function, row.arguments) for row in rows])

    @cached_property
    def aggregations(self):
        """The value of each group."""
        rows = (*AGGREGATIONS, *NEIGHBOURS)
        return self.executor.aggregate([(row.function, row.members) for row in rows])


@pytest.fixture(scope="module")
def columnar():
    """The columnar backend."""
    return Results(Backend())


@pytest.fixture(scope="module")
def elsewhere():
    """Two parts in other processes, which compute with replicas of the dictionary."""
    return Results(Backend(partial(store_elsewhere, 2)))


@pytest.fixture(params=["columnar", "elsewhere"])
def results(request):
    """The results of a backend."""
    return request.getfixturevalue(request.param)


def test_comparisons(results):
    """Two terms compare as the table says."""
    assert wrong(COMPARISONS, results.comparisons[: len(COMPARISONS)]) == {}


def test_a_term_equals_itself(results):
    """Every term is equal to itself, whatever it is."""
    assert set(results.comparisons[len(COMPARISONS) :]) == {HOLDING["="]}


def test_functions(results):
    """A function or an operator has the value that the table says, or none."""
    assert wrong(APPLICATIONS, results.applications[: len(APPLICATIONS)]) == {}


def test_kinds(results):
    """Each term is of its kind; a function has no value for a term of a kind it does not take."""
    assert wrong((*KIND_TESTS, *WRONG_KINDS), results.applications[len(APPLICATIONS) :]) == {}


def test_aggregates(results):
    """A group has the value that the table says, or none."""
    assert wrong(AGGREGATIONS, results.aggregations[: len(AGGREGATIONS)]) == {}


def test_neighbours(results):
    """Of two neighbours in the total order, the first is the least and the second the greatest."""
    assert wrong(NEIGHBOURS, results.aggregations[len(AGGREGATIONS) :]) == {}
