"""Types: what can be inferred about values without data."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import holds
from oracle.expressions import term
from strategies import DOMAIN

from streamreasoner.analysis.expression_kinds import kind_of, kinds_of
from streamreasoner.analysis.types import families, type_errors
from streamreasoner.errors import ProgramError
from streamreasoner.lang.parser import parse
from streamreasoner.program.checked import check_text
from streamreasoner.values.builtins import FUNCTIONS, TESTS
from streamreasoner.values.kinds import ANYTHING, LITERALS, NUMBERS, TEXTS, Kind, described

EX = "@prefix ex: <http://example.org/> .\n"
XSD = "http://www.w3.org/2001/XMLSchema#"


def found(body, head="p(?x, ?n)"):
    """Codes of the errors and warnings of a rule."""
    text = f"{EX}{head} :- a(?x, ?n), {body} ."
    try:
        return [item.code for item in check_text(text).warnings]
    except ProgramError as error:
        return [item.code for item in error.diagnostics]


@pytest.mark.parametrize(
    ("term", "kind"),
    [
        ("<http://example.org/a>", Kind.IRI),
        ("_:b", Kind.BLANK_NODE),
        (f'"1"^^<{XSD}integer>', Kind.INTEGER),
        (f'"1"^^<{XSD}byte>', Kind.INTEGER),
        (f'"1"^^<{XSD}decimal>', Kind.DECIMAL),
        (f'"1"^^<{XSD}float>', Kind.DOUBLE),
        (f'"{10**30}"^^<{XSD}integer>', Kind.DOUBLE),
        ('"x"', Kind.STRING),
        ('"x"@en', Kind.TAGGED),
        (f'"1"^^<{XSD}boolean>', Kind.BOOLEAN),
        (f'"2026-01-01"^^<{XSD}date>', Kind.INSTANT),
        (f'"one"^^<{XSD}integer>', Kind.OTHER),
        ('"x"^^<http://example.org/type>', Kind.OTHER),
    ],
)
def test_every_constant_is_of_one_kind(term, kind):
    """Literals have the kind of their value; ill-typed ones have a kind without values."""
    assert kind_of(term) is kind


@pytest.mark.parametrize(
    ("expression", "kinds"),
    [
        ("?x", ANYTHING),
        ("1 + 2", {Kind.INTEGER}),
        ("1 + 2.5", {Kind.DECIMAL}),
        ("1 * 2e0", {Kind.DOUBLE}),
        ("1 / 2", {Kind.DECIMAL}),
        ("2 ** 2", {Kind.INTEGER, Kind.DOUBLE}),
        ("2.5 ** 2", {Kind.DOUBLE}),
        ("-?x", NUMBERS),
        ("?x % 2", NUMBERS),
        ("?x / ?y", {Kind.DECIMAL, Kind.DOUBLE}),
        ("abs(-5)", {Kind.INTEGER}),
        ("length(?x) + 1", {Kind.INTEGER}),
        ("min(1, 2.5)", {Kind.INTEGER, Kind.DECIMAL}),
        ("concat(?x, ?y)", TEXTS),
        ("str(?x)", {Kind.STRING}),
        ("datatype(?x)", {Kind.IRI}),
        ("skolem(?x)", {Kind.BLANK_NODE}),
        ("count(?x)", {Kind.INTEGER}),
        ("unknown(?x)", ANYTHING),
    ],
)
def test_expressions_have_the_kinds_that_arithmetic_and_builtins_give(expression, kinds):
    """Operands are promoted to the wider of their types, as in evaluation."""
    argument = parse(f"p({expression}) .").rules[0].head.arguments[0]

    assert kinds_of(argument, {}) == kinds


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (ANYTHING, "a term"),
        (LITERALS, "a literal"),
        (NUMBERS | TEXTS, "a number or a string"),
        (frozenset({Kind.IRI, Kind.BLANK_NODE}), "an IRI or a blank node"),
        (frozenset({Kind.TAGGED}), "a string with a language"),
        (frozenset({Kind.DECIMAL, Kind.DOUBLE}), "a decimal or a double"),
    ],
)
def test_sets_of_kinds_have_words(kinds, words):
    """The widest names are used first, and each kind occurs once."""
    assert described(kinds) == words


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("length(5) > 1", "SR244"),
        ("length(ex:a) > 1", "SR244"),
        ('contains(ex:a, "x")', "SR244"),
        ('not contains("x", ex:a)', "SR244"),
        ('starts_with(?n + 1, "1")', "SR244"),
        ('?l = length(?n), contains(?l, "1")', "SR244"),
        ("[?x, ?p, _], length(?p) > 3", "SR244"),
        ("[?x, _, _, ?g], lang(?g) = ?n", "SR244"),
        ('substring("abc", 1.5) = ?n', "SR244"),
        ('substring("abc", 1, "2") = ?n', "SR244"),
        ("abs(true) = ?n", "SR244"),
        ("str(_:b) = ?n", "SR244"),
        ("datatype(ex:a) = ?n", "SR244"),
        ("to_number(true) = ?n", "SR244"),
        ('?n + "1" > 2', "SR241"),
        ("-ex:a = ?n", "SR241"),
        ("[?x, ?p, _], ?p * 2 > 3", "SR241"),
        ('"a" < 5', "SR240"),
        ("str(?x) < 5", "SR240"),
        ('"a"@en < ?n', "SR240"),
        ("max(?x, 1, true) = ?n", "SR240"),
        ("min(ex:a, ?x) = ?n", "SR240"),
        ("?n / 0 = 1", "SR245"),
        ("?n % -0.0 = 1", "SR245"),
        ('[?x, "p", ?n]', "SR242"),
        ("[?x, ?n + 1, ?n]", "SR242"),
        ("[?x, ?n, ?x, 5]", "SR242"),
        ("[?x, _:b, ?x, ex:g]", "SR242"),
        ('matches(?n, "a(")', "SR243"),
        ('matches(?n, "a{99999}")', "SR243"),
        ('not matches(?n, "*")', "SR243"),
        ("1 = 2", "SR506"),
        ("1 != 1.0", "SR506"),
        ("?n != ?n", "SR506"),
        ("?x < ?n, ?x >= ?n", "SR506"),
        ("?x < ?n, ?n < ?x", "SR506"),
        ("?x < 3, 5 < ?x", "SR506"),
        ("?x < 3, ?x > 3.0", "SR506"),
        ("?x <= 3, ?x > 3", "SR506"),
        ("?x = 1, ?x = 2", "SR506"),
        ("?x = ex:a, ?x = ex:b", "SR506"),
        ("?x = 1, ?x != 1", "SR506"),
        ('?n > 1, ?n > "a"', "SR506"),
        ('length(?x) = "a"', "SR506"),
        ("skolem(?x) = ex:a", "SR506"),
        ("not a(?x, ?n)", "SR506"),
        ("not a(?x, _)", "SR506"),
        ("not a(_, _)", "SR506"),
        ("is_iri(?x), not is_iri(?x)", "SR506"),
    ],
)
def test_what_can_never_match_is_found(body, code):
    """No value is an error, an always false condition is a warning; each is reported once."""
    assert found(body) == [code]


@pytest.mark.parametrize(
    "body",
    [
        "?n / 0e0 > 1",
        "?n / ?x > 1",
        'length("x"@en) = ?n',
        'to_number("5") < ?n',
        "min(?n, 1.5, 2e0) < 3",
        "[?x, ?p, _], contains(str(?p), ?n)",
        "[?x, ?p, _, _:g], ?p != ?n",
        'matches(?n, "[[a]")',
        "?x <= 3, ?x >= 3",
        "?x < 3, ?x < 5",
        "?x > 3, ?x < 5",
        "?x != 1, ?x != 2",
        "?x = 1, ?x != 2",
        "1 < 2",
        "?n = ?n",
        "?x <= ?n, ?n <= ?x",
        '?n != "a", ?n < 5',
        "not a(?n, ?x)",
        "not a(?x, 1)",
        "is_iri(?x), not is_iri(?n)",
        "substring(?n, length(?n) - 1) != ?x",
    ],
)
def test_what_may_match_is_not_reported(body):
    """Errors that depend on the data are not reported."""
    assert found(body) == []


@pytest.mark.parametrize(
    ("head", "codes"),
    [
        ('p(?x, sum("a"))', ["SR244"]),
        ("p(?x, avg(str(?n)))", ["SR244"]),
        ('p(?x, min("a"))', []),
        ("p(?x, count(ex:a))", []),
        ("[?x, ?n * 2, ?n]", ["SR242"]),
        ("[?x, skolem(?n), ?n]", ["SR242"]),
        ("[?x, ?n, ?n, skolem(?x)]", []),
        ('[?x, ?n, ?n, "g"]', ["SR242"]),
    ],
)
def test_heads_are_checked_as_well(head, codes):
    """Aggregates need numbers to sum; predicates and graphs must be nodes."""
    assert found("b(?x, ?n)", head) == codes


def test_a_pattern_is_marked_where_it_is_wrong():
    """The caret is under the wrong character, unless the string has escapes."""
    with pytest.raises(ProgramError) as caught:
        check_text('p(?x) :- a(?x), matches(?x, "ab[c"), matches(?x, "\\\\d[") .')

    assert [item.span.column for item in caught.value.diagnostics] == [32, 50]


def call(row):
    """A call of a built-in, with places for its arguments."""
    name, builtin = row
    return f"{name}({', '.join(['{}'] * builtin.min_args)})"


VALUES = ("{} + {}", "{} / {}", "{} % {}", "{} ** {}", "-{}", "min({}, {})", "max({}, {})")
CONDITIONS = ("{} < {}", "{} <= {}", "{} > {}", "{} >= {}", "not contains({}, {})")
RULES = (
    *(f"p({form}) :- e(1) ." for form in (*VALUES, *map(call, FUNCTIONS.items()))),
    *(f"p(1) :- e(1), {form} ." for form in (*CONDITIONS, *map(call, TESTS.items()))),
)


@given(
    st.lists(st.sampled_from(DOMAIN), min_size=3, max_size=3, unique=True),
    st.lists(st.sampled_from(RULES), min_size=1, max_size=6),
)
@example([f'"2.5E0"^^<{XSD}double>', f'"0"^^<{XSD}integer>', '"x"'], ["p({} / {}) :- e(1) ."])
def test_what_is_reported_never_matches(terms, forms):
    """An expression of different constants that is refused has no value, a condition is not met."""
    program = parse("\n".join(form.format(*terms) for form in forms))
    reported = {item.span.line for item in type_errors(program)}

    for rule in program.rules:
        if rule.span.line in reported:
            conditions = [holds(literal, {}) for literal in rule.body[1:]]
            assert conditions == [False] or term(rule.head.arguments[0], {}) is None


def test_numbers_are_one_family():
    """Values of different families are never equal, and all numbers can be."""
    assert len(families(NUMBERS)) == 1
    assert families(ANYTHING) - families(NUMBERS) == ANYTHING - NUMBERS
