"""Aggregates: hidden predicates and reductions derive what the aggregates of the heads are."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import derivations
from oracle.aggregates import order, results
from unit.plan.bags import rows
from unit.plan.small_rules import PRESENTS, SOME, rule

from streamreasoner.errors import ProgramError
from streamreasoner.plan.lower.aggregation import express, lattice, positions, reductions
from streamreasoner.plan.lower.lowering import lowered
from streamreasoner.plan.operands import RESULT, Column, Value
from streamreasoner.program import check_text

FAMILIES = (
    (
        "h(?x, count(?y))",
        "h(?y, count(?x))",
        "h(?x, count(distinct ?y))",
        "h(?x, sum(?y + 1))",
        "h(?y, avg(?x))",
    ),
    ("h(count(?x), max(?y))", "h(min(?x), min(?y))", "h(sum(1), avg(?x))", "h(max(1), min(2))"),
    ("h(?x, lowest(?y, 2))", "h(?y, highest(?x, 1))", "h(?x, lowest(?y, 1))"),
    ("h(1, count(?x))", "h(2, count(?y))", "h(sum(?x), 1)", "h(count(distinct 2), 1)"),
    ("k(?x, sum(?x), min(?y), 2)", "k(?x, sum(?x), min(?y), 3)", "k(?y, sum(?y), min(?x), 3)"),
)
BODIES = ("a(?x, ?y)", "a(?y, ?x)", "a(?x, ?y), b(?y)", "a(?x, _), b(?y)", "b(?x), b(?y), ?x < ?y")


def _is_accepted(texts):
    try:
        check_text("\n".join(texts))
    except ProgramError:
        return False
    return True


PROGRAMS = (
    st.sampled_from(FAMILIES)
    .map(lambda heads: [f"{head} :- {body} ." for head in heads for body in BODIES])
    .flatmap(lambda texts: st.lists(st.sampled_from(texts), min_size=1, max_size=4))
    .filter(_is_accepted)
)
"""Rules no two of which put one fact into different groups."""


@SOME
@given(PROGRAMS, PRESENTS)
def test_a_group_has_its_aggregates(texts, present):
    """What is derived is what the oracle aggregates from the matches of the rules."""
    rules = [rule(text) for text in texts]
    facts = {(predicate, args) for predicate, each in present.items() for args in each}

    assert _evaluated(_expressed(rules), present) == derivations(rules, facts)


@SOME
@given(PROGRAMS)
def test_a_match_is_counted_once(texts):
    """Each rule derives the matches of each of its aggregates, with its number as source."""
    rules = [rule(text) for text in texts]
    made = _expressed(rules)

    assert Counter(each.source for each in made.matches) == Counter(
        {number: len(positions(each.head)) for number, each in enumerate(rules)}
    )
    assert all(each.added for each in made.heads)
    assert made.arities == {
        **{each.tree.head.predicate: len(each.tree.head.arguments) for each in made.matches},
        **{each.head.predicate: len(each.head.arguments) for each in made.results},
    }


@SOME
@given(PROGRAMS)
def test_rules_share_a_reduction_if_their_heads_can_be_the_same_aggregate(texts):
    """The predicate, the aggregates and the constants of the group tell, and nothing else."""
    rules = [(each.head, lowered(each)) for each in map(rule, texts)]
    kinds = defaultdict(list)
    for head, tree in rules:
        aggregated = [(position, each.operation) for position, each in positions(head)]
        constants = [
            each if isinstance(each, Value) and position not in dict(aggregated) else None
            for position, each in enumerate(tree.head.arguments)
        ]
        kinds[head.predicate, *aggregated, *constants].append(tree)

    assert [list(each.input.inputs) for each in reductions(rules)] == list(kinds.values())


@pytest.mark.parametrize(
    ("text", "open_positions", "position", "function"),
    [
        ("h(?x, min(?y)) :- a(?x, ?y) .", [0, 1], 1, "min"),
        ("h(max(1), ?x) :- a(?x, ?y) .", [0, 1], 0, "max"),
        ("h(?x, 2, max(?y)) :- a(?x, ?y) .", [0, 2], 2, "max"),
    ],
)
def test_a_lattice_has_the_constants_of_its_group(text, open_positions, position, function):
    """Facts of a head with one min or max are its candidates, unless a constant differs."""
    found = lattice(rule(text).head, lowered(rule(text)).head)
    arguments = found.pattern.arguments

    assert [at for at, each in enumerate(arguments) if each is None] == open_positions
    assert (found.position, found.function) == (position, function)


def _expressed(rules):
    trees = [lowered(each) for each in rules]
    heads = [each.head for each in rules]
    return express(
        reductions(zip(heads, trees, strict=True)),
        {id(tree): number for number, tree in enumerate(trees)},
    )


def _evaluated(made, present):
    """The facts of the heads: matches, then results and lattices, then what joins them."""
    present, matches = defaultdict(list, present), defaultdict(Counter)
    for tree, *_ in made.matches:
        matches[tree.head.predicate] += rows(tree, present)
    for each in made.results:
        present[each.head.predicate] += _reduced(each, matches)
    for each in made.lattices:
        groups = defaultdict(list)
        for args in matches[each.pattern.predicate]:
            groups[tuple(args[at] for at in each.key)].append(args)
        best = {"min": min, "max": max}[each.function]
        present[each.pattern.predicate] = [
            best(group, key=lambda args, at=each.position: order(args[at]))
            for group in groups.values()
        ]
    found = Counter()
    for tree, *_ in made.heads:
        found.update((tree.head.predicate, args) for args in rows(tree, present).elements())
    for each in made.final:
        found.update((each.head.predicate, args) for args in _reduced(each, matches))
    return found


def _reduced(reduction, matches):
    """The facts of a reduction over the bags of its candidates."""
    groups, width = defaultdict(list), len(reduction.key)
    for args, count in matches[reduction.candidates].items():
        groups[args[:width]] += [args[width:]] * count
    for key, members in groups.items():
        for value in results(reduction.function, ["".join(each) for each in members]):
            row = {RESULT: value} | {f"#{at}": each for at, each in enumerate(key)}
            yield tuple(
                row[each.name] if isinstance(each, Column) else each.term
                for each in reduction.head.arguments
            )
