"""Aggregates in bodies: after every epoch they are what Python counts and sums, of nothing too.

The oracle judges programs whose aggregates are in heads already, so this law is without it.
"""

from __future__ import annotations

from collections import Counter

from driver import Driver
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import THOROUGH

from streamreasoner.program import check_text
from streamreasoner.rdf.terms import to_ntriples

RULES = """
degree(?x, ?n) :- node(?x), ?n = count(?y) { edge(?x, ?y) } .
targets(?n) :- ?n = count(distinct ?y) { edge(_, ?y) } .
sums(?x, ?n) :- node(?x), sum(?y) { edge(?x, ?y) } = ?n .
all(?n, ?m) :- ?n = sum(?x * ?y) { edge(?x, ?y) }, ?m = count() { edge(?x, ?x) } .
rank(?x, 1 + count() { node(?y), ?y > ?x }) :- node(?x) .
far(?x, ?n) :- node(?x), ?n = max(?z) { edge(?x, ?y), edge(?y, ?z) } .
busy(?x) :- node(?x), not degree(?x, count() { edge(?y, ?x) }) .
top(?x) :-
    node(?x), ?n = count() { edge(?x, _) },
    ?n = max(?k) { node(?z), ?k = count() { edge(?z, _) } } .
below(?x, ?i) :- node(?x), ?n = count() { edge(?x, _) }, ?i = range(0, 5), ?i < ?n .
even(?z, ?n) :- ?z = 0, ?n = count() { node(?y), ?y % 2 = ?z } .
either(?x, ?n) :- node(?x), (?n = count() { edge(?x, _) }, ?n > 1 | ?n = count() { edge(_, ?x) }) .
"""
PROGRAM = check_text(RULES)
NUMBERS = st.integers(0, 3)
UPDATES = st.lists(
    st.tuples(
        st.one_of(
            st.tuples(st.just("node"), st.tuples(NUMBERS)),
            st.tuples(st.just("edge"), st.tuples(NUMBERS, NUMBERS)),
        ),
        st.sampled_from((1, 1, 2, -1)),
    ),
    max_size=6,
)


def expected(nodes, edges):
    """The facts of each predicate, as tuples of numbers."""
    out = {x: [y for a, y in edges if a == x] for x in range(4)}
    into = {y: [x for x, b in edges if b == y] for y in range(4)}
    two = {x: [z for y in out[x] for z in out[y]] for x in range(4)}
    most = max((len(out[x]) for x in nodes), default=None)
    return {
        "degree": {(x, len(out[x])) for x in nodes},
        "targets": {(len({y for _, y in edges}),)},
        "sums": {(x, sum(out[x])) for x in nodes},
        "all": {(sum(x * y for x, y in edges), sum(x == y for x, y in edges))},
        "rank": {(x, 1 + sum(y > x for y in nodes)) for x in nodes},
        "far": {(x, max(two[x])) for x in nodes if two[x]},
        "even": {(0, sum(y % 2 == 0 for y in nodes))},
        "busy": {(x,) for x in nodes if len(out[x]) != len(into[x])},
        "top": {(x,) for x in nodes if len(out[x]) == most},
        "below": {(x, i) for x in nodes for i in range(len(out[x]))},
        "either": {(x, len(out[x])) for x in nodes if len(out[x]) > 1}
        | {(x, len(into[x])) for x in nodes},
    }


@settings(max_examples=500 if THOROUGH else 12)
@given(st.lists(UPDATES, max_size=4))
def test_aggregates_are_those_of_python(epochs):
    """However facts come and go, in one epoch or several."""
    driver, counts = Driver(PROGRAM), Counter()
    for epoch in [[], *epochs]:
        driver.apply(
            [(name, tuple(map(to_ntriples, args)), times) for (name, args), times in epoch]
        )
        for fact, times in epoch:
            counts[fact] += times
        present = [fact for fact, times in counts.items() if times > 0]
        nodes = {args[0] for name, args in present if name == "node"}
        edges = {args for name, args in present if name == "edge"}

        for name, rows in expected(nodes, edges).items():
            wanted = {(name, tuple(map(to_ntriples, row))) for row in rows}
            assert driver.closure([name]) == wanted, name
