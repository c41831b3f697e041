"""Facts that a program states hold as soon as it is loaded."""

from __future__ import annotations

import pytest

from streamreasoner import Reasoner, Update

RULES = (
    "@prefix ex: <http://e/> .\nedge(1, 2) .\n[ex:a, ex:p, 1] .\nsize(?n) :- ?n = 2 ** 3 .\n"
    "path(?x, ?y) :- edge(?x, ?y) .\nidle() :- not busy(_) .\n!bad(?x) :- edge(?x, _) .\n"
)
READS = {
    "facts": lambda reasoner: (
        reasoner.facts("path") == [(1, 2)],
        reasoner.facts("size") == [(8,)],
    ),
    "trace": lambda reasoner: len(reasoner.trace("edge")) == 1,
    "violations": lambda reasoner: len(reasoner.violations()) == 1,
    "size": lambda reasoner: reasoner.size().present == 6,
    "explain": lambda reasoner: reasoner.explain("path", 1, 2).present,
    "query": lambda reasoner: reasoner.query("ASK { ?s ?p 1 }"),
    "graph": lambda reasoner: len(reasoner.graph()) == 1,
    "html": lambda reasoner: "6 facts" in reasoner._repr_html_(),
}


@pytest.mark.parametrize("read", READS)
def test_whatever_reads_a_fresh_reasoner_finds_them(read):
    """What follows from them is there too, and the next epoch does not report them again."""
    reasoner = Reasoner.from_rules(RULES)
    found = READS[read](reasoner)

    assert all(found) if isinstance(found, tuple) else found
    diff = reasoner.apply([Update("edge", (2, 3))])
    assert sorted(each.predicate for each in diff.changes) == ["bad", "edge", "path"]
    assert diff.epoch == 1


def test_the_first_epoch_reports_them_if_nothing_was_read():
    """All differences sum to what is present."""
    diff = Reasoner.from_rules(RULES).apply([Update("edge", (2, 3))])

    assert diff.epoch == 0
    assert len(diff.changes) == 9


def test_added_rules_find_them():
    """The change of the program is the first epoch, with all facts."""
    reasoner = Reasoner.from_rules(RULES)
    diff = reasoner.add_rules("edge(2, 3) .\nstep(?x) :- path(?x, _) .")

    assert sorted(each.args for each in diff.changes if each.predicate == "step") == [(1,), (2,)]
    assert len(diff.changes) == 6 + 3 + 2
