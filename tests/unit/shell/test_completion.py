"""Completion of commands, predicates, prefixes and IRIs."""

from __future__ import annotations

import pytest

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.program import check_text
from streamreasoner.shell.completion import MAX_CANDIDATES, Completions
from streamreasoner.shell.execute import Session

RULES = """@prefix ex: <http://example.org/> .
path(?x, ?y) :- edge(?x, ?y) .
edge(ex:ada, ex:alan), edge(ex:alan, "text"), edge(ex:alan, <http://other/x>) .
"""


@pytest.fixture
def completions():
    """Completions of a session with a few terms."""
    session = Session(Reasoner(check_text(RULES)))
    session.start(())
    return Completions(session)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("co", ("commit", "count")),
        ("why", ("why-not", "why")),
        ("@p", ("@prefix",)),
        ("help st", ("stats",)),
        ("list p", ("path",)),
        ("list edge(?x, ?y), p", ("path",)),
        ("insert p", ("path(",)),
        ("insert ", ("edge(", "path(", "triple(", "ex:")),
        ("rule path(?x, ?y) :- e", ("edge(", "ex:", "ex:ada", "ex:alan")),
        ("insert edge(ex:al", ("ex:alan",)),
        ("insert [ex:ad", ("ex:ada",)),
        ("insert edge(?e", ()),
        ("nonsense p", ()),
        ("commit p", ()),
    ],
)
def test_candidates_fit_the_place(completions, before, expected):
    """Commands come first, then matching names of the program and the dictionary."""
    assert completions.at(before).texts == expected


def test_an_empty_line_offers_every_command(completions):
    """All commands are offered, in the order of `help`."""
    assert completions.at("").texts[:2] == ("insert", "remove")


def test_new_terms_are_offered():
    """Terms and prefixes that are added later are offered too."""
    session = Session(Reasoner(check_text(RULES)))
    completions = Completions(session)
    assert completions.at("list edge(ex:b").texts == ()
    session.execute("insert edge(ex:bob, <http://other/y>).")
    session.execute("commit")
    assert completions.at("list edge(ex:b").texts == ("ex:bob",)
    session.execute("@prefix o: <http://other/> .")

    assert completions.at("list edge(o").texts == ("o:", "o:x", "o:y")


def test_there_are_not_too_many():
    """A long list is shortened."""
    session = Session(Reasoner(check_text(RULES)))
    facts = ", ".join(f"edge(ex:n{i}, 1)" for i in range(100))
    session.execute(f"insert {facts}.")
    session.execute("commit")

    assert len(Completions(session).at("list edge(ex:n").texts) == MAX_CANDIDATES
