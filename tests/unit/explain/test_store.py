"""Facts by pattern: the backend's `select`, and how the store calls it."""

from __future__ import annotations

import numpy as np
import pytest

from streamreasoner import Reasoner, Update
from streamreasoner.api.nodes import to_ntriples
from streamreasoner.explain.store import FactIndex

RULES = (
    "path(?x, ?y) :- edge(?x, ?y, _) .\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z) .\n"
    "low(?x, min(?w)) :- edge(?x, _, ?w) .\n"
)


def started():
    """A reasoner over a chain with a cycle, and a fact below zero."""
    reasoner = Reasoner.from_rules(RULES)
    edges = [Update("edge", (i, i + 1, i % 3)) for i in range(9)]
    edges += [Update("edge", (9, 5, 1), 2), Update("edge", (3, 4, 7)), Update("path", (1, 2), -3)]
    reasoner.apply(edges)
    return reasoner


def rows(reasoner, selection):
    """Decoded arguments -> (since, until, asserted, total)."""
    facts = [
        tuple(reasoner.session.dictionary.decode(args).to_pylist())
        for args in selection.args.astype(np.int32)
    ]
    columns = (selection.since, selection.until, selection.asserted, selection.total)
    found = dict(
        zip(facts, zip(*(column.tolist() for column in columns), strict=True), strict=True)
    )
    assert len(found) == len(facts)
    return found


def test_a_selection_tells_the_trace_of_its_facts():
    """All facts held are selected, with their iterations and multiplicities of the trace."""
    reasoner = started()
    for predicate in reasoner.program.arities:
        traced = {}
        for arguments, iteration, multiplicity in reasoner.trace(predicate):
            terms = tuple(map(to_ntriples, arguments))
            traced.setdefault(terms, {})[iteration] = multiplicity
        present = {tuple(map(to_ntriples, arguments)) for arguments in reasoner.facts(predicate)}
        found = rows(reasoner, reasoner.session.engine.select(predicate, {}))

        assert found.keys() == traced.keys()
        for fact, (since, until, asserted, total) in found.items():
            assert (since >= 0) == (fact in present)
            assert until == -1
            assert asserted == traced[fact].get(0, 0)
            assert total == sum(traced[fact].values())
            if predicate == "path" and fact in present:
                assert since == min(traced[fact])


def test_bound_positions_restrict_a_selection():
    """Only facts with the bound terms are selected; if all positions are bound, at most one."""
    reasoner = started()
    everything = rows(reasoner, reasoner.session.engine.select("edge", {}))
    ids = {term: reasoner.session.dictionary.find(term) for fact in everything for term in fact}
    three = to_ntriples(3)
    bound = rows(reasoner, reasoner.session.engine.select("edge", {0: ids[three]}))
    whole = {0: ids[three], 1: ids[to_ntriples(4)], 2: ids[to_ntriples(7)]}

    assert bound == {fact: row for fact, row in everything.items() if fact[0] == three}
    assert len(bound) == 2
    assert len(rows(reasoner, reasoner.session.engine.select("edge", whole))) == 1
    assert (
        len(rows(reasoner, reasoner.session.engine.select("edge", {**whole, 2: ids[three]}))) == 0
    )


@pytest.mark.parametrize("cores", [1, 3])
def test_facts_of_later_epochs_are_selected(cores):
    """Small epochs and large ones, after a reader has asked, in one store and in parts."""
    reasoner = Reasoner.from_rules("p(?x) :- e(?x, _) .", cores=cores)
    reasoner.apply([])
    x = reasoner.session.dictionary.intern(to_ntriples(7))
    engine = reasoner.session.engine
    assert len(engine.select("e", {0: x}).args) == 0
    for count in (1, 2, 6000):
        reasoner.apply([Update("e", (7, i)) for i in range(count)])
        assert len(engine.select("e", {0: x}).args) == count
    reasoner.apply([Update("e", (7, 0), -3)])
    present = engine.select("e", {0: x}).since >= 0
    assert present.sum() == 5999


def test_presence_is_judged_at_an_iteration():
    """Facts that appear later are absent; replaced ones are present until they are replaced."""
    reasoner = Reasoner.from_rules("b(1, 5) .\nh(?x) :- b(?x, _) .\nb(?x, min(3)) :- h(?x) .")
    reasoner.apply([])

    def since_and_until(iteration):
        return {
            fact[1]: row[:2]
            for fact, row in rows(
                reasoner, reasoner.session.engine.select("b", {}, iteration)
            ).items()
        }

    five, three = to_ntriples(5), to_ntriples(3)
    assert since_and_until(0) == {five: (0, 2), three: (-1, -1)}
    assert since_and_until(1) == {five: (0, 2), three: (-1, -1)}
    assert since_and_until(2) == {five: (-1, -1), three: (2, -1)}


def test_lookups_are_selections_in_text_order():
    """By any known terms, whether the state has them or not."""
    reasoner = started()
    engine = reasoner.session.engine
    store = FactIndex(engine, reasoner.session.dictionary, reasoner.program.arities)
    terms = [to_ntriples(i) for i in range(12)]
    for positions in ((0,), (2,), (0, 1), (1, 2)):
        for one in terms:
            for other in terms:
                known = dict(zip(positions, (one, other), strict=False))
                found = store.lookup("edge", known)
                ids = {at: reasoner.session.dictionary.find(term) for at, term in known.items()}
                if None in ids.values():
                    assert len(found) == 0
                    continue
                expected = rows(reasoner, engine.select("edge", ids))

                assert {row.arguments: row[2:] for row in found} == expected
                assert list(found) == sorted(found)
                assert [found[at] for at in range(-len(found), len(found))] == [*found, *found]
                assert list(found[:2]) == list(found)[:2]
