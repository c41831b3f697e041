"""What generators promise: sizes, shapes, and the same rows for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import generators


def distinct(rows):
    """Whether no row is there twice."""
    return len(np.unique(rows, axis=0)) == len(rows)


def test_shapes_are_exact():
    """Chains, cycles, cliques and grids have the edges of their definition."""
    assert generators.chain(3).tolist() == [[0, 1], [1, 2]]
    assert generators.cycle(3).tolist() == [[0, 1], [1, 2], [2, 0]]
    assert generators.clique(2).tolist() == [[0, 1], [1, 0]]
    assert generators.grid(2, 2).tolist() == [[0, 1], [2, 3], [0, 2], [1, 3]]


def test_social_graph_has_the_size_it_is_asked_for():
    """A social graph has exactly its edges, distinct and without loops, and every node."""
    graph = generators.social(6_000, 500, weights=5)

    assert graph.shape == (6_000, 3)
    assert graph.dtype == np.int32
    assert distinct(graph[:, :2])
    assert (graph[:, 0] != graph[:, 1]).all()
    assert np.array_equal(np.unique(graph[:, :2]), np.arange(500))
    assert np.array_equal(np.unique(graph[:, 2]), np.arange(1, 6))


def test_popularity_is_uneven():
    """A few nodes of a social graph have many times the edges of the median node."""
    degrees = np.bincount(generators.social(60_000, 4_000)[:, 0])

    assert degrees.max() > 10 * np.median(degrees)


@pytest.mark.parametrize("program", generators.PROGRAMS)
def test_points_to_keeps_the_proportions_of_the_program(program):
    """Assignments and dereferences scale with the program, and a cell has one owner before it."""
    size = generators.PROGRAMS[program]
    assign, dereference = generators.points_to(program, 0.001)

    assert len(assign) == round(size.assigns * 0.001)
    assert len(dereference) == round(size.dereferences * 0.001)
    assert distinct(assign)
    assert len(np.unique(dereference[:, 1])) == len(dereference)
    assert (dereference[:, 0] < dereference[:, 1]).all()


def test_null_values_begin_where_control_flows():
    """Every null edge of a data-flow graph is an edge of its control flow."""
    null, flow = generators.data_flow(20)

    assert {tuple(row) for row in null.tolist()} <= {tuple(row) for row in flow.tolist()}
    assert distinct(flow)
    assert (flow[:, 0] != flow[:, 1]).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: generators.uniform(30, 100, seed),
        lambda seed: generators.social(500, 60, seed=seed),
        lambda seed: np.concatenate(generators.points_to("httpd", 0.001, seed)),
        lambda seed: np.concatenate(generators.pointers(60, seed)),
        lambda seed: np.concatenate(generators.data_flow(10, seed)),
    ],
)
def test_the_seed_decides(make):
    """The same seed gives the same rows in the same order, another seed gives others."""
    assert np.array_equal(make(7), make(7))
    assert not np.array_equal(make(7), make(8))


def test_too_many_edges_are_refused():
    """A graph cannot have more distinct edges than pairs of nodes."""
    with pytest.raises(ValueError, match="3 nodes do not have 7 edges"):
        generators.uniform(3, 7)
