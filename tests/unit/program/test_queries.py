"""Queries as parts of programs: in files, added and removed."""

from __future__ import annotations

import pytest

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.errors import ProgramError
from streamreasoner.program import load_program
from streamreasoner.program.checked import check_query, check_text
from streamreasoner.program.text import canonical_text

LATE = """
PREFIX ex: <http://example.org/>
SELECT ?order (COUNT(?mail) AS ?mails) WHERE {
  ?order ex:by ?who .
  OPTIONAL { ?who ex:mail ?mail }
  FILTER NOT EXISTS { ?order ex:shipped true }
} GROUP BY ?order
"""
RULES = "@prefix ex: <http://example.org/> .\n[?x, ex:by, ?y] :- order(?x, ?y) .\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with a query and rules."""
    (tmp_path / "late.rq").write_text(LATE)
    (tmp_path / "rules.dl").write_text(f'{RULES}@query overdue "late.rq" .\n')
    return tmp_path


def test_a_program_names_the_predicate_of_a_query(folder):
    """Rules may read the answers, and hidden parts are not published."""
    checked = load_program(folder / "rules.dl")

    assert checked.published == {"triple", "order", "overdue"}
    assert all(name.startswith("overdue__") for name in checked.hidden)
    assert check_text(canonical_text(checked.programs)).hash == checked.hash


def test_a_file_of_a_query_is_a_program(folder):
    """Its answers are named after it."""
    checked = load_program(folder / "late.rq")

    assert checked.arities["late"] == len(("order", "mails"))
    assert load_program(str(folder / "late.rq")).hash == checked.hash


def test_one_query_may_have_two_names(folder):
    """Each has answers of its own."""
    both = '@query one "late.rq" .\n@query two "late.rq" .\n@query one "late.rq" .\n'
    (folder / "both.dl").write_text(both)

    assert {"one", "two"} <= load_program(folder / "both.dl").arities.keys()


@pytest.mark.parametrize(
    "rules",
    [
        "overdue(?x, ?y) :- order(?x, ?y) .",
        "overdue(1, 2) .",
        "overdue__count1(?x, ?y) :- order(?x, ?y) .",
        "mine(?x) :- overdue__count1(?x, _) .",
        '@query overdue "other.rq" .',
    ],
)
def test_answers_are_apart_from_other_facts(folder, rules):
    """A second meaning of a name would give wrong counts."""
    (folder / "other.rq").write_text("SELECT ?x ?y { ?x ?p ?y }")
    (folder / "more.dl").write_text(f'@query overdue "late.rq" .\n{rules}\n')
    with pytest.raises(ProgramError, match="SR262"):
        load_program(folder / "more.dl")


def test_answers_come_and_go_with_the_query():
    """What is left of a query that is removed is nothing."""
    reasoner = Reasoner(check_text(RULES))
    order = Update("order", ("http://a", "x"))
    reasoner.apply([order])
    before = reasoner.program.hash

    added = reasoner.add_query("overdue", LATE)

    assert [
        (each.predicate, each.args) for each in added.present if "__" not in each.predicate
    ] == [("overdue", ("http://a", 0))]
    assert reasoner.explain("overdue", "http://a", 0)
    removed = reasoner.remove_query("overdue", LATE)
    assert {each.args for each in removed.absent if each.predicate == "overdue"} == {
        ("http://a", 0)
    }
    assert reasoner.program.hash == before
    assert reasoner.program.hidden == ()


def test_a_name_is_given_once():
    """A second query of the name, and one of a predicate of the program, are refused."""
    reasoner = Reasoner(check_text(RULES))
    reasoner.add_query("overdue", LATE)
    before = reasoner.program

    for name in ("overdue", "order", "triple"):
        with pytest.raises(ProgramError, match=name):
            reasoner.add_query(name, LATE)
    with pytest.raises(ProgramError, match="no such rule"):
        reasoner.remove_query("late", LATE)
    assert reasoner.program is before


def test_a_mistake_has_its_place():
    """In the text that was given."""
    with pytest.raises(ProgramError, match=r"query late>:1:\d+: SR261 "):
        Reasoner(check_text(RULES)).add_query("late", "SELECT * { SERVICE <urn:s> { ?x ?p ?y } }")


def test_names_of_variables_that_rules_do_not_have_are_replaced():
    """SPARQL allows digits first, and characters that no name of a rule has."""
    checked = check_query("SELECT ?1 ?a\u00b7b ?v1 { ?1 ?v1 ?a\u00b7b }", "query.rq", "answer")

    assert check_text(canonical_text(checked.programs)).hash == checked.hash
    assert checked.arities["answer"] == len({"1", "a\u00b7b", "v1"})


def test_the_rules_of_a_query_are_those_of_their_text():
    """What a state keeps is read back as the same rules, so that it can be removed."""
    checked = check_query(LATE, "late.rq", "late")

    assert check_text(canonical_text(checked.programs)).rules == checked.rules
