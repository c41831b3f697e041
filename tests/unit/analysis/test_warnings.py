"""Warnings: what is valid but probably a mistake."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from strategies import HEADER, programs
from thorough import THOROUGH

from streamreasoner.analysis.warnings import (
    cartesian_products,
    duplicates,
    misspelt,
    single_use,
    unused,
)
from streamreasoner.lang.parser import parse
from streamreasoner.program.checked import check_text

EX = "@prefix ex: <http://example.org/> .\n"
FEW = settings(max_examples=1000 if THOROUGH else 24)
VARIABLE = re.compile(r"\?\w+")


def warned(text):
    """Code and text of every warning."""
    return [(item.code, item.message, item.help) for item in check_text(EX + text).warnings]


def codes(text):
    """Codes of the warnings."""
    return [code for code, _, _ in warned(text)]


@pytest.mark.parametrize(
    "body",
    [
        "a(?x), b(?x)",
        "a(?x), b(?y), c(?x, ?y)",
        "a(?x), b(?x + 1)",
        "a(?x), ?y = ?x + 1, b(?y * 2)",
        "a(?x), ?y = ?x + 1, ?z = ?y + 1, b(?z * 2)",
        "a(?x), ?k = 5, b(?k + 1)",
        "a(?x), b(1)",
    ],
)
def test_atoms_that_are_joined_are_no_product(body):
    """Expressions and assignments join atoms as variables do; a ground atom is a condition."""
    assert "SR503" not in codes(f"p(?x) :- {body} .")


@pytest.mark.parametrize(
    "body",
    [
        "a(?x), b(?y), ?x < ?y",
        "a(?x), b(?y), ?x = ?y",
        "a(?x), b(?y), ?x = ?y + 1",
        "a(?x), b(?y), not c(?x, ?y)",
        "a(?x), b(?y), ?z = ?x + ?y, ?z > 1",
        "a(?x), b(_), ?y = ?x",
        "a(?x), ?k = 5, b(?k + ?y), c(?y)",
    ],
)
def test_filters_do_not_join(body):
    """Comparisons, assignments from both sides and negations filter a product."""
    assert codes(f"p(?x) :- {body}, ok(?x, ?x) .").count("SR503") == 1


def test_unused_predicates_are_those_that_no_output_can_need():
    """They are reported only if there is an @output, and only for rules of the program itself."""
    rules = "p(?x) :- q(?x) .\nq(?x) :- e(?x) .\nr(?x) :- r(?x), e(?x) .\ns(1), s(2) .\n"

    assert codes(rules) == []
    assert [words for _, words, _ in warned("@output p .\n" + rules)] == [
        "'r' is derived, but no other predicate and no @output needs it",
        "'s' is derived, but no other predicate and no @output needs it",
    ]
    assert codes('@import "rho-df" .\n@output p .\np(?x) :- q(?x) .') == []


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("p(?x) :- parent(?x, _), parnet(_, ?x), parent(?x, ?x) .", ["did you mean 'parent'?"]),
        ("p(?x) :- parnet(?x, _), parent(_, ?x), parent(?x, ?x) .", ["did you mean 'parent'?"]),
        ("p(?x) :- edge1(?x), edge2(?x) .", []),
        ("@input parnet/1, parent/1 .\np(?x) :- parnet(?x), parent(?x) .", []),
        ("p(?x) :- n(?x), startsWith(?x, ?x) .", ["did you mean 'starts_with'?"]),
        ("p(?x) :- n(?x), lower(?x, ?x) .", ["did you mean the function, as in `?v = lower(…)`?"]),
        ("p(?x) :- n(?x), not nn(?x) .\nnm(1) .", []),
    ],
)
def test_misspelt_predicates_look_like_another(text, hints):
    """The less used name is reported; numbered names and declared inputs are not."""
    found = [hint for code, _, hint in warned(text) if code == "SR502"]

    assert [hint.partition(" If not")[0] for hint in found] == hints


def test_names_of_a_generated_program_are_not_compared():
    """The check of thousands of names takes time linear in their number."""
    letters = [a + b + c for a in "abcdefgh" for b in "abcdefgh" for c in "abcdefgh"]

    assert "SR502" not in codes("".join(f"{x}p(?x) :- {x}q(?x) .\n" for x in letters))


def test_a_variable_that_looks_like_another_is_pointed_out():
    """The hint for a variable that is used once names a similar one."""
    (_, _, hint), *_ = warned("p(?name) :- a(?name, ?nmae) .")

    assert hint.startswith("did you mean '?name'?")


def test_rules_and_facts_that_are_written_twice_are_told_apart():
    """A repeated fact is harmless and counts once; a repeated rule derives everything twice."""
    found = check_text("p(1) .\np(1) .\np(?x) :- q(?x) .\np(?x) :- q(?x) .")

    assert [item.message for item in found.warnings] == [
        "this fact repeats line 1",
        "this rule repeats line 3",
    ]
    assert (len(found.facts), len(found.rules)) == (1, 2)


@FEW
@given(programs())
def test_a_warning_never_refuses_a_program(text):
    """Whatever is found in a program that is accepted, or in one that repeats it."""
    once, twice = parse(text), parse(text + text.replace(HEADER, ""))
    found = [
        *(item for check in (single_use, cartesian_products) for item in check(once)),
        *(item for check in (misspelt, duplicates, unused) for item in check([once, twice])),
    ]

    assert all(item.code.startswith("SR5") for item in found)
    assert {item.span.line for item in duplicates([twice])} >= {
        rule.span.line for rule in twice.rules[len(once.rules) :]
    }


@FEW
@given(programs())
def test_variables_that_occur_once_are_counted(text):
    """In each rule, all of them are reported and no other."""
    program = parse(text)
    expected = Counter(
        (rule.span.line, name)
        for rule in program.rules
        for name, uses in Counter(VARIABLE.findall(text[rule.span.start : rule.span.end])).items()
        if uses == 1
    )

    assert expected == Counter(
        (item.span.line, item.message.split("'")[1]) for item in single_use(program)
    )
