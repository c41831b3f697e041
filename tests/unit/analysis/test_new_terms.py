"""Rules that make terms without end are found, and those that have a bound are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamreasoner import Reasoner, Update, rulesets
from streamreasoner.errors import NewTermsError, ProgramError
from streamreasoner.program import check_text, load_program
from streamreasoner.program.checked import check_query

EXAMPLES = Path(__file__).parents[3] / "examples"


def found(rules):
    """What is reported, without the cycle."""
    prefixed = f"@prefix ex: <http://example.org/> .\n{rules}"
    messages = (each.message for each in check_text(prefixed).warnings if each.code == "SR511")
    return [message.partition("`")[2].partition("`")[0] for message in messages]


@pytest.mark.parametrize(
    ("rules", "made"),
    [
        ("n(?m) :- n(?n), ?m = ?n + 1 .", "?n + 1"),
        ("n(?n + 1) :- n(?n), ?n > 5 .", "?n + 1"),
        ("n(?n - 1) :- n(?n), ?n < 5 .", "?n - 1"),
        ("n(?n * ?m) :- n(?n), k(?m) .", "?n * ?m"),
        ('s(concat(?x, "a")) :- s(?x) .', 'concat(?x, "a")'),
        ("s(sha1(?x)) :- s(?x) .", "sha1(?x)"),
        ("a(?n + 1) :- b(?n) . b(upper(?n)) :- a(?n) .", "?n + 1"),
        ("level(?y, ?n + 1) :- level(?x, ?n), part(?x, ?y) .", "?n + 1"),
        ("[?x, ex:p, ?y] :- [_, ex:p, ?x], ?y = skolem(?x) .", "skolem(?x)"),
        ("[?y, ?p, ?s] :- [?s, ?p, _], ?y = skolem(?s) .", "skolem(?s)"),
        ("[?s, ?q, ?n + 1] :- [?s, ?p, ?n], [?p, ex:next, ?q] .", "?n + 1"),
    ],
)  # fmt: skip
def test_cycles_that_make_terms_are_found(rules, made):
    """By the expression that grows the terms."""
    assert found(rules) == [made]


@pytest.mark.parametrize(
    "rules",
    [
        "n(?m) :- n(?n), ?m = ?n + 1, ?m < 5 .",
        "n(?n + 1) :- n(?n), 5 > ?n .",
        "n(?n - 1) :- n(?n), ?n > 5 .",
        "n(?n + 1) :- n(?n), most(?m), ?n < ?m .",
        "a(?n + 1) :- b(?n) . b(?n) :- a(?n), ?n <= 9 .",
        "n(?n + 1) :- n(?n), allowed(?n) .",
        "n(?m) :- n(?n), ?m = ?n + 1, asserted n(?m) .",
        "s(lower(?x)) :- s(?x) .",
        "s(lang(?x)) :- s(?x) .",
        "m(?n + 1) :- n(?n) .",
        "dist(?y, min(?d + ?w)) :- dist(?x, ?d), edge(?x, ?y, ?w) .",
        "[?x, ex:p, ?y] :- [_, ex:q, ?x], ?y = skolem(?x) .",
        "[?y, a, ex:B] :- [?x, a, ex:A], ?y = skolem(?x) .",
        's(concat(?x, "a")) :- s(?x), length(?x) < 9 .',
        "path(?z, skolem(?p, ?z)) :- path(?y, ?p), part(?y, ?z) .",
    ],
)
def test_what_has_a_bound_is_not_reported(rules):
    """A test, an atom of few terms, the least or greatest, or constants that do not match."""
    assert found(rules) == []


@pytest.mark.parametrize(
    "rules",
    [*rulesets.names(), *sorted(EXAMPLES.glob("*/*.dl"))],
    ids=lambda rules: rules if isinstance(rules, str) else rules.parent.name,
)
def test_rulesets_and_examples_are_not_reported(rules):
    """Each of their terms has a bound."""
    assert [each for each in load_program(rules).warnings if each.code == "SR511"] == []


def test_a_query_that_reads_what_it_makes_is_refused():
    """Also one that is added, to a program that closes the cycle."""
    made = "CONSTRUCT {{ [ <http://e/of> ?s ] }} WHERE {{ ?s {} ?o }}"
    check_query(made.format("<http://e/p>"), "<query q>", "q")
    with pytest.raises(ProgramError, match="SR303"):
        check_query(made.format("?p"), "<query q>", "q")
    reasoner = Reasoner.from_rules("[?s, <http://e/p>, ?o] :- [?s, <http://e/of>, ?o] .")
    with pytest.raises(ProgramError, match="SR303"):
        reasoner.add_query("q", made.format("<http://e/p>"))


def test_an_epoch_makes_only_so_many_terms():
    """The epoch fails by a name of its own, and the state is as before."""
    reasoner = Reasoner.from_rules("n(?m) :- n(?n), ?m = ?n + 1 .", max_new_terms=1000)
    reasoner.apply([Update("n", ("x",))])
    with pytest.raises(NewTermsError, match=r"'n' by the rules at <rules>:1 made more than 1,000"):
        reasoner.apply([Update("n", (1,))])

    assert reasoner.facts("n") == [("x",)]
    few = Reasoner.from_rules("n(?m) :- n(?n), ?m = ?n + 1, ?n < 900 .", max_new_terms=1000)
    few.apply([Update("n", (1,))])
    assert len(few.facts("n")) == 900
