"""Negated conjunctions: after every epoch they hold where Python finds no match."""

from __future__ import annotations

from collections import Counter

from driver import Driver
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import THOROUGH

from streamreasoner.program import check_text
from streamreasoner.rdf.terms import to_ntriples

RULES = """
calm(?x) :- node(?x), not { edge(?x, ?y), node(?y) } .
peak(?x, ?z) :- edge(?x, ?z), not { edge(?x, ?y), ?y > ?z } .
closed(?x) :- node(?x), not { edge(?x, ?y), not { edge(?y, ?w), node(?w) } } .
pure(?x) :- node(?x), not { edge(?x, ?y), ?x != ?y } .
odd(?x) :- node(?x), not { ?x % 2 = 0 } .
bare(?x) :- not { edge(?x, _) }, node(?x) .
free(?x) :- node(?x), not { edge(?y, ?y), ?y > ?x } .
few(?x) :- node(?x), not { ?n = count() { edge(?x, _) }, ?n > 1 } .
most(?x) :- node(?x), ?n = count() { edge(?x, _) }, not { node(?z), count() { edge(?z, _) } > ?n } .
either(?x) :- node(?x), (edge(?x, 0) | not { edge(?y, ?x), node(?y) }) .
empty() :- not { edge(?x, ?y), ?x < ?y } .
ahead(?x) :- node(?x), not { ?i = range(0, 3), ?i > ?x, node(?i) } .
reached(?x) :- start(?x) .
reached(?y) :- reached(?x), edge(?x, ?y), not { edge(?y, ?z), edge(?z, ?y), ?z != ?y } .
"""
PROGRAM = check_text(RULES)
NUMBERS = st.integers(0, 3)
UPDATES = st.lists(
    st.tuples(
        st.one_of(
            st.tuples(st.sampled_from(("node", "start")), st.tuples(NUMBERS)),
            st.tuples(st.just("edge"), st.tuples(NUMBERS, NUMBERS)),
        ),
        st.sampled_from((1, 1, 2, -1)),
    ),
    max_size=6,
)


def expected(nodes, edges, starts):
    """The facts of each predicate, as tuples of numbers."""
    out = {x: {y for a, y in edges if a == x} for x in range(4)}
    most = max((len(out[x]) for x in nodes), default=0)
    reached = set(starts)
    allowed = {y for y in range(4) if not any(z != y and y in out[z] for z in out[y])}
    while new := {y for x in reached for y in out[x] & allowed} - reached:
        reached |= new
    return {
        "calm": {(x,) for x in nodes if not out[x] & nodes},
        "peak": {(x, z) for x, z in edges if z == max(out[x])},
        "closed": {(x,) for x in nodes if all(out[y] & nodes for y in out[x])},
        "pure": {(x,) for x in nodes if out[x] <= {x}},
        "odd": {(x,) for x in nodes if x % 2},
        "bare": {(x,) for x in nodes if not out[x]},
        "free": {(x,) for x in nodes if all(y <= x for y, z in edges if y == z)},
        "few": {(x,) for x in nodes if len(out[x]) < 2},
        "most": {(x,) for x in nodes if len(out[x]) == most},
        "either": {(x,) for x in nodes if 0 in out[x] or not any(x in out[y] for y in nodes)},
        "empty": set() if any(x < y for x, y in edges) else {()},
        "ahead": {(x,) for x in nodes if not any(i > x and i < 3 for i in nodes)},
        "reached": {(x,) for x in reached},
    }


@settings(max_examples=500 if THOROUGH else 15)
@given(st.lists(UPDATES, max_size=4))
def test_negated_conjunctions_are_those_of_python(epochs):
    """However facts come and go, in one epoch or several."""
    driver, counts = Driver(PROGRAM), Counter()
    for epoch in [[], *epochs]:
        driver.apply(
            [(name, tuple(map(to_ntriples, args)), times) for (name, args), times in epoch]
        )
        for fact, times in epoch:
            counts[fact] += times
        present = [fact for fact, times in counts.items() if times > 0]
        nodes, starts = (
            {args[0] for name, args in present if name == wanted} for wanted in ("node", "start")
        )
        edges = {args for name, args in present if name == "edge"}

        for name, rows in expected(nodes, edges, starts).items():
            wanted = {(name, tuple(map(to_ntriples, row))) for row in rows}
            assert driver.closure([name]) == wanted, name
