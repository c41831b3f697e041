"""Matches of a rule for one fact."""

from __future__ import annotations

import inspect
import sys

from streamreasoner import Reasoner, Update
from streamreasoner.api.nodes import to_ntriples
from streamreasoner.explain.matches import matches
from streamreasoner.explain.store import FactIndex
from streamreasoner.facts import Fact


def started(rules, *facts):
    """The first rule, and an index of the facts."""
    reasoner = Reasoner.from_rules(rules)
    reasoner.apply([Update(predicate, args) for predicate, *args in map(tuple, facts)])
    program = reasoner.program
    store = FactIndex(reasoner.session.engine, reasoner.session.dictionary, program.arities)
    return program.rules[0], store


def fact(predicate, *values):
    """A fact of Python values."""
    return Fact(predicate, tuple(map(to_ntriples, values)))


def test_facts_are_in_the_order_of_the_text_whatever_is_joined_first():
    """The atom with the most known arguments is joined first."""
    edges = [("edge", 1, 2), ("edge", 2, 3), ("mark", 3), ("mark", 2), ("edge", 2, 2)]
    rule, store = started("h(?z) :- edge(?x, ?y), edge(?y, ?z), mark(?z), edge(?x, _) .", *edges)
    found = [*matches(rule, fact("h", 3), store.present, store)]

    assert [[row.arguments for row in match.facts] for match in found] == [
        [fact("", *each).arguments for each in ((1, 2), (2, 3), (3,), (1, 2))],
        *(
            [fact("", *each).arguments for each in ((2, 2), (2, 3), (3,), other)]
            for other in ((2, 2), (2, 3))
        ),
    ]


def test_no_fact_is_selected_before_it_is_needed():
    """Before the first match, each atom is looked up once, whatever else there is."""
    facts = [each for i in range(9) for each in (("a", 1, i), ("b", i, i), ("c", i))]
    rule, store = started("h(?x) :- a(?x, ?y), b(?y, ?z), c(?z) .", *facts)
    read = []

    def source(predicate, known):
        read.append(predicate)
        return store.present(predicate, known)

    found = matches(rule, fact("h", 1), source, store)
    next(found)

    assert read == ["a", "b", "c"]
    assert len([*found]) == 8
    assert read == ["a"] + ["b", "c"] * 9


def test_conditions_need_no_recursion():
    """A rule with more conditions than frames are left is searched."""
    tests = [f"?y{i} + {j} < 100" for i in range(2) for j in range(120)]
    reasoner = Reasoner.from_rules(f"p(?x) :- q(?x, ?y0), q(?x, ?y1), {', '.join(tests)} .")
    reasoner.apply([Update("q", (1, 2)), Update("q", (2, -99)), Update("q", (3, -19))])
    reasoner.explain("p", 1)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 200)
    try:
        present, absent = reasoner.explain("p", 2), reasoner.explain("p", 3)
    finally:
        sys.setrecursionlimit(limit)

    assert present.present
    assert len(absent.content.attempts[0].holds) == 2 + 2 * 119
