"""Numbers before nouns, in what people read."""

from __future__ import annotations

import pytest

from streamreasoner import Reasoner, Update
from streamreasoner.counts import counted
from streamreasoner.errors import DataError, ProgramError
from streamreasoner.program.checked import check_query


def test_a_noun_agrees_with_its_number():
    """One is singular; none and many are plural, with separators, also of irregular nouns."""
    assert [counted(number, "fact") for number in (0, 1, 2000)] == [
        "0 facts",
        "1 fact",
        "2,000 facts",
    ]
    assert [counted(n, "query", "queries") for n in (1, 2)] == ["1 query", "2 queries"]


def test_one_of_a_kind_is_singular_wherever_it_is_said():
    """Notebooks, errors and diagnostics count alike."""
    reasoner = Reasoner.from_rules("q(?x) :- p(?x), r(?x) .")
    diff = reasoner.apply([Update("p", (1,))])
    assert "Reasoner with 1 rule, after 1 epoch: 1 fact, 0 of them" in reasoner._repr_html_()
    assert "Epoch 0: 1 change." in diff._repr_html_()
    with pytest.raises(DataError, match="'p' has 1 argument in the program, not 2"):
        reasoner.apply([Update("p", (1, 2))])
    with pytest.raises(ProgramError, match="a row of VALUES has 1 value for 2 variables"):
        check_query("SELECT * { VALUES (?x ?y) { (1) } }", "q.rq", "q")
    with pytest.raises(ProgramError, match="`STRLEN` takes 1 argument, not 2"):
        check_query("SELECT * { ?s ?p ?o FILTER(STRLEN(?o, 2) > 1) }", "q.rq", "q")
