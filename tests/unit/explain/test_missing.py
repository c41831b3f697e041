"""Explanations of absent facts: every kind of failure."""

from __future__ import annotations

import pytest
from rdflib import Namespace

from streamreasoner import Reasoner, Update
from streamreasoner.explain import missing
from streamreasoner.explain.proof import FailureKind

EX = Namespace("http://example.org/")
HEADER = "@prefix ex: <http://example.org/> .\n"


def explained(rules, facts, fact):
    """The explanation of a fact, for rules that start at line 2."""
    reasoner = Reasoner.from_rules(HEADER + rules)
    reasoner.apply([Update(predicate, args) for predicate, *args in map(tuple, facts)])
    return reasoner.explain(fact)


@pytest.mark.parametrize(
    ("rule", "facts", "kind", "told"),
    [
        ("p(?x) :- q(?x, 2) .", [("q", 1, 3), ("q", 5, 2)], FailureKind.MISSING,
         "✗ q(1, 2) is missing; there is q(1, 3), q(5, 2)"),
        ("p(?x) :- q(?x, ?y), q(?y, ?x) .", [("q", 1, 2)], FailureKind.MISSING,
         "✗ q(2, 1) is missing; there is q(1, 2)"),
        ("p(?x) :- q(?x) .", [], FailureKind.MISSING, "✗ q(1) is missing; there is none"),
        ("p(?x) :- q(?x + 1, ?x) .", [("q", 3, 1)], FailureKind.MISSING,
         "✗ q(2, 1) is missing; there is q(3, 1)"),
        ("p(?x) :- q(?x, ?y + 1), r(?y) .", [("q", 1, 3), ("r", 1)], FailureKind.MISSING,
         "✗ q(1, 2) is missing; there is q(1, 3)"),
        ("p(?x) :- q(?x), not r(?x, _) .", [("q", 1), ("r", 1, 2)], FailureKind.PRESENT,
         "✗ not r(1, _) does not hold: there is r(1, 2)"),
        ("p(?x) :- q(?x, ?y), ?y + 1 < 3 .", [("q", 1, 4)], FailureKind.FALSE,
         "✗ 5 < 3 does not hold"),
        ('p(?x) :- q(?x, ?y), contains(?y, "z") .', [("q", 1, "a")], FailureKind.FALSE,
         '✗ contains("a", "z") does not hold'),
        ("p(?v) :- q(?x), ?v = ?x + 1 .", [("q", 3)], FailureKind.OTHER_FACT,
         "├── 3 + 1 = 4\n└── ✗ the rule derives p(4)"),
        ("p(?v) :- q(?x), ?v = ?x - 1.0 .", [("q", 2)], FailureKind.OTHER_FACT,
         '└── ✗ the rule derives p("1"^^<http://www.w3.org/2001/XMLSchema#decimal>)'),
        ("p(?v) :- q(?x), ?v = 1 / (?x - 2) .", [("q", 2)], FailureKind.NO_VALUE,
         "✗ 1 / (2 - 2) has no value"),
        ("p(?x) :- q(?x, ?y), ?y / (?x - 1) < 3 .", [("q", 1, 4)], FailureKind.NO_VALUE,
         "✗ 4 / (1 - 1) has no value"),
        ("p(?x) :- q(?x, ?y), not contains(?y, str(?y)) .", [("q", 1, 4)], FailureKind.NO_VALUE,
         "✗ contains(4, str(4)) has no value"),
        ("p(?x) :- q(?x), r(if(?x < 3, ?x, 1 / (?x - 1))) .", [("q", 1), ("r", 4)],
         FailureKind.MISSING, "├── if(1 < 3, 1, 1 / (1 - 1)) = 1\n└── ✗ r(1) is missing"),
        ("p(?x) :- q(?x), r(if(?x > 3, ?x, 1 / (?x - 1))) .", [("q", 1), ("r", 4)],
         FailureKind.NO_VALUE, "✗ if(1 > 3, 1, 1 / (1 - 1)) has no value"),
        ('p(?x) :- q(?x, if(is_number(?y * 2), "x", ?y), ?y) .', [("q", 2, "x", 3)],
         FailureKind.MISSING, '✗ q(1, if(is_number(?y * 2), "x", ?y), ?y) is missing'),
        ("p(?x * 2) :- q(?x) .", [("q", 3)], FailureKind.OTHER_FACT,
         "✗ 3 * 2 = 6: the rule derives p(6)"),
        ("p(count(?x)) :- q(?x) .", [("q", 3), ("q", 4)], FailureKind.OTHER_RESULT,
         "✗ the group has another value: p(2)"),
        ("p(max(?x)) :- q(?x) .", [("q", 1), ("q", 4)], FailureKind.BEATEN,
         "✗ it is derived, but p(4) is the better candidate"),
    ],
)  # fmt: skip
def test_each_kind_of_failure(rule, facts, kind, told):
    """The failing literal is named with its bindings, and with similar facts."""
    explanation = explained(rule, facts, "p(1)")
    (attempt,) = explanation.content.attempts

    assert attempt.failure.kind is kind
    assert told in explanation.text()


def test_the_longest_partial_match_is_shown():
    """Literals that hold come before the one that fails, in the order of the text."""
    rules = "path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\npath(?x, ?y) :- edge(?x, ?y) ."
    edges = [("edge", EX.a, EX.b), ("edge", EX.a, EX.c), ("edge", EX.d, EX.e)]
    text = explained(rules, edges, "path(ex:a, ex:e)").text()

    assert text == (
        "path(ex:a, ex:e) is absent: it is not asserted, and no rule makes it present.\n"
        "\n"
        "<rules>:2: path(?x, ?z) :- path(?x, ?y), edge(?y, ?z)\n"
        "│ the first of 2 partial matches that end here\n"
        "├── path(ex:a, ex:b)\n"
        "└── ✗ edge(ex:b, ex:e) is missing; there is edge(ex:d, ex:e)\n"
        "\n"
        "<rules>:3: path(?x, ?y) :- edge(?x, ?y)\n"
        "└── ✗ edge(ex:a, ex:e) is missing;"
        " there is edge(ex:a, ex:b), edge(ex:a, ex:c), edge(ex:d, ex:e)\n"
    )


def test_facts_that_no_rule_derives():
    """An absent input fact is not asserted; similar facts are named."""
    rules = "path(?x, ?y) :- edge(?x, ?y), node(ex:a) ."
    text = explained(rules, [("edge", EX.a, EX.b), ("edge", EX.c, EX.d)], "edge(ex:a, ex:d)").text()

    assert text == (
        "edge(ex:a, ex:d) is absent: it is not asserted, and no rule derives such facts.\n"
        "Close to it: edge(ex:a, ex:b), edge(ex:c, ex:d).\n"
    )


def test_a_head_with_other_constants_is_no_reason():
    """Only rules whose head unifies with the fact are considered."""
    rules = "[?x, a, ex:A] :- n(?x) .\n[?x, a, ex:B] :- m(?x) .\n[?x, ex:same, ?x] :- n(?x) ."
    explanation = explained(rules, [], "[ex:x, a, ex:B]")
    other = explained(rules, [], "[ex:x, ex:same, ex:y]")

    assert [attempt.rule.span.line for attempt in explanation.content.attempts] == [3]
    assert other.content.attempts == ()


def test_retractions_are_told():
    """It is reported if a fact is retracted more than asserted, or as often as it is derived."""
    reasoner = Reasoner.from_rules("p(?x) :- q(?x) .\np(7) .")
    reasoner.apply([Update("p", (1,), -1), Update("q", (1,)), Update("p", (7,), -1)])

    assert reasoner.explain("p", 1).text() == (
        "p(1) is absent: it is retracted 1 time more than asserted, and no rule makes it present.\n"
        "\n"
        "<rules>:1: p(?x) :- q(?x)\n"
        "├── q(1)\n"
        "└── ✗ it is derived, but retracted at least as often\n"
    )
    assert "it is stated in <rules>:2, but retracted" in reasoner.explain("p", 7).text()


def test_a_search_among_too_many_matches_ends(monkeypatch):
    """The search of the rule is reported as incomplete."""
    monkeypatch.setattr(missing, "MAX_ATTEMPTS", 50)
    facts = [*(("q", i) for i in range(10)), *(("r", i) for i in range(10))]
    explanation = explained("p(?z) :- q(?x), r(?y), s(?z, ?x, ?y) .", facts, "p(1)")
    (attempt,) = explanation.content.attempts

    assert attempt.failure.kind is FailureKind.UNFINISHED
    assert "too many partial matches" in explanation.text()
