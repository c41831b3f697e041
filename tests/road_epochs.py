"""Programs with lattices, negation and recursion over roads, and updates of their input."""

from __future__ import annotations

from hypothesis import strategies as st

EX = "<http://example.org/{}>".format
NUMBER = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'.format
PREFIX = "@prefix ex: <http://example.org/> .\n@input start/1, road/3, triple/3 ."
LATTICES = f"""{PREFIX}
dist(?x, 0) :- start(?x) .
dist(?y, min(?d + ?w)) :- dist(?x, ?d), road(?x, ?y, ?w), ?d < 20 .
[?x, ex:best, max(?w)] :- road(?x, _, ?w) .
[?x, ex:far, ?y] :- road(?x, ?y, _), not start(?x) .
on() :- start(_) .
"""
PLAIN = f"""{PREFIX}
dist(?x, 0) :- start(?x) .
dist(?y, ?w) :- start(?x), road(?x, ?y, ?w) .
least(min(?w)) :- dist(_, ?w) .
"""
NODES, WEIGHTS = st.sampled_from([EX("a"), EX("b"), EX("c")]), st.integers(0, 4).map(NUMBER)
UPDATES = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.tuples(NODES), st.sampled_from([-1, 1])),
        st.tuples(st.just("road"), st.tuples(NODES, NODES, WEIGHTS), st.sampled_from([-1, 1, 2])),
        st.tuples(
            st.just("triple"),
            st.tuples(NODES, st.sampled_from([EX("best"), EX("far")]), WEIGHTS),
            st.sampled_from([-1, 1]),
        ),
    ),
    max_size=5,
)
