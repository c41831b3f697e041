"""Lattices and reductions. Invariant: a group is the facts that agree on all but what is compared.

A lattice is (predicate, pattern, position of the value, function), told by a head; a reduction is
(predicate, aggregates by position), so that heads with equal aggregates are one reduction.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import product

from oracle.aggregates import order
from oracle.aggregates import results as of_group
from oracle.patterns import ANYTHING, fits
from streamreasoner.lang.ast import Aggregate, Constant

LATTICES = {"min": min, "max": max}


def is_lattice(head):
    """Whether a head has min or max as its only aggregate."""
    aggregates = [argument for argument in head.arguments if isinstance(argument, Aggregate)]
    return len(aggregates) == 1 and aggregates[0].function in LATTICES


def lattice(head):
    """(predicate, pattern, position of the value, function)."""
    (position,) = (i for i, each in enumerate(head.arguments) if isinstance(each, Aggregate))
    return head.predicate, constants(head), position, head.arguments[position].function


def constants(atom):
    """The terms of an atom, with `ANYTHING` in place of non-constants."""
    return tuple(each.term if isinstance(each, Constant) else ANYTHING for each in atom.arguments)


def competition(fact, lattices):
    """(group, function, value to compare); (fact, None, None) for a fact of no lattice."""
    predicate, arguments = fact
    for name, pattern, position, function in lattices:
        if name == predicate and fits(arguments, pattern):
            others = (*arguments[:position], ANYTHING, *arguments[position + 1 :])
            return (predicate, others), function, arguments[position]
    return fact, None, None


def best(facts, lattices):
    """The best fact of each group; a fact of no lattice is a group of its own."""
    winners = {}
    for fact in facts:
        group, function, value = competition(fact, lattices)
        candidate = (order(value) if function else None, fact)
        winners[group] = (
            LATTICES[function](winners[group], candidate) if group in winners else candidate
        )
    return {fact for _, fact in winners.values()}


def reduction(head):
    """(predicate, its aggregates by position); None if the head is a lattice or has none."""
    aggregates = tuple(
        each.operation if isinstance(each, Aggregate) else None for each in head.arguments
    )
    return (head.predicate, aggregates) if any(aggregates) and not is_lattice(head) else None


def results(reduction, rows):
    """One fact for each group of rows, which hold operands in place of aggregates."""
    predicate, aggregates = reduction
    return ((predicate, row) for row in reduced(aggregates, rows))


def reduced(aggregates, rows):
    """The aggregated rows of each group of rows: one, unless an aggregate has several results."""
    groups = defaultdict(list)
    for row in rows:
        key = tuple(None if each else value for each, value in zip(aggregates, row, strict=True))
        groups[key].append(row)
    for key, members in groups.items():
        columns = zip(*members, strict=True)
        yield from product(
            *(
                of_group(each, column) if each else [value]
                for each, value, column in zip(aggregates, key, columns, strict=True)
            )
        )
