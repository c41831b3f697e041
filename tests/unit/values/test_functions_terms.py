"""Parts and kinds of terms, minimum and maximum by value, and skolem terms."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import canonical
from streamreasoner.values import builtins
from streamreasoner.values.builtins import FUNCTIONS, TESTS, apply
from streamreasoner.values.functions.term_functions import SKOLEM_DEPTH
from streamreasoner.values.value_columns import Values

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
IRI = "<http://example.org/\u00e9>"
BLANK = "_:b"
INCOMPARABLE = 2


def typed(lexical, datatype):
    """A literal of an XSD datatype."""
    return f'"{lexical}"^^<{XSD}{datatype}>'


# term: to_string, str, datatype, lang
PARTS = {
    '"a\\n"': ('"a\\n"', '"a\\n"', f"<{XSD}string>", '""'),
    '"a"@en-gb': ('"a"', '"a"', f"<{RDF}langString>", '"en-gb"'),
    typed("01", "integer"): ('"01"', '"01"', f"<{XSD}integer>", '""'),
    typed("abc", "integer"): ('"abc"', '"abc"', f"<{XSD}integer>", '""'),
    '"\\"^^"^^<http://example.org/t>': ('"\\"^^"', '"\\"^^"', "<http://example.org/t>", '""'),
    IRI: (None, '"http://example.org/\u00e9"', None, None),
    BLANK: (None, None, None, None),
}


@pytest.mark.parametrize("term", PARTS)
def test_parts_of_terms(term):
    """Literals have a lexical form, a datatype and a language; IRIs a text; blank nodes none."""
    names = ("to_string", "str", "datatype", "lang")

    assert tuple(apply(name, [term]) for name in names) == PARTS[term]
    assert all(canonical(part) == part for part in PARTS[term] if part is not None)


KINDS = {
    IRI: {"is_iri"},
    BLANK: {"is_blank"},
    '"1"': {"is_literal", "is_string"},
    '"1"@en': {"is_literal", "is_string"},
    typed("1", "integer"): {"is_literal", "is_number", "is_integer"},
    typed("1", "unsignedShort"): {"is_literal", "is_number", "is_integer"},
    typed("9" * 30, "integer"): {"is_literal", "is_number", "is_integer"},
    typed("1", "decimal"): {"is_literal", "is_number", "is_decimal"},
    typed("0." + "1" * 30, "decimal"): {"is_literal", "is_number", "is_decimal"},
    typed("NaN", "double"): {"is_literal", "is_number", "is_double"},
    typed("1", "float"): {"is_literal", "is_number", "is_double"},
    typed("1", "boolean"): {"is_literal", "is_boolean"},
    typed("abc", "integer"): {"is_literal"},
    typed("-1", "unsignedShort"): {"is_literal"},
    typed("1e0", "decimal"): {"is_literal"},
    typed("inf", "double"): {"is_literal"},
    typed("yes", "boolean"): {"is_literal"},
    typed("2020-01-01", "date"): {"is_literal", "is_instant"},
    typed("2020-01-01T00:00:00", "dateTime"): {"is_literal", "is_instant"},
    typed("2020-02-30", "date"): {"is_literal"},
    typed("2020-01-01T00:00:00", "dateTimeStamp"): {"is_literal"},
    typed("12:00:00", "time"): {"is_literal"},
    typed("a", "token"): {"is_literal"},
}


@pytest.mark.parametrize("term", KINDS)
def test_kinds_of_terms(term):
    """Every test of kind is true or false; an ill-typed literal is only a literal."""
    names = {name for name in TESTS if name.startswith("is_")}
    truths = {name: builtins.test(name, [term]) for name in names}

    assert truths == {name: name in KINDS[term] for name in names}


EXTREMES = [
    ([typed("1", "integer"), typed("0.5", "decimal")], 1, 0),
    ([typed("1", "integer"), typed("1.0", "decimal"), typed("01", "byte")], 0, 0),
    ([typed("3", "integer"), typed("1", "double"), typed("2", "float")], 1, 0),
    ([typed("-0.0", "double"), typed("0.0", "double")], 0, 0),
    ([typed("INF", "double"), typed("1", "integer"), typed("-INF", "double")], 2, 0),
    (['"b"', '"a"', '"\\uFFFF"', '"\U0001f600"'], 1, 3),
    ([typed("true", "boolean"), typed("0", "boolean")], 1, 0),
    ([typed("2020-01-02", "date"), typed("2020-01-01T23:00:00-02:00", "dateTime")], 0, 1),
    ([typed("9007199254740993", "integer"), typed("9007199254740992", "double")], 0, 0),
    (['"a"@en', '"a"@en'], 0, 0),
    ([IRI, IRI], 0, 0),
    ([typed("NaN", "double"), typed("NaN", "double")], 0, 0),
    ([typed("NaN", "double"), typed("1", "integer")], None, None),
    ([typed("1", "integer"), '"1"'], None, None),
    ([typed("1", "integer"), typed("2", "integer"), '"1"'], None, None),
    ([typed("1", "integer"), typed("1", "boolean")], None, None),
    (['"a"', '"a"@en'], None, None),
    (['"a"@en', '"b"@en'], None, None),
    ([IRI, BLANK], None, None),
    ([typed("x", "integer"), typed("1", "integer")], None, None),
]


@pytest.mark.parametrize(("arguments", "least", "greatest"), EXTREMES)
def test_extremes(arguments, least, greatest):
    """The result is the first of equal extremes; terms that do not compare have no value."""
    expected = [None if i is None else arguments[i] for i in (least, greatest)]

    assert [apply("min", arguments), apply("max", arguments)] == expected


terms = st.sampled_from(
    [
        *KINDS,
        typed("-0.0", "double"),
        typed("2", "integer"),
        typed("1.0", "double"),
        typed("9007199254740993", "integer"),
        typed("9007199254740992", "double"),
        typed("2020-01-01T00:00:00Z", "dateTime"),
        typed("false", "boolean"),
        '"10"',
        '"\\uFFFF"',
        '"\U0001f600"',
    ]
)


@given(terms, terms)
def test_extremes_of_two_follow_the_comparison(left, right):
    """`min` and `max` order two terms as `<` does, and have no value if they do not compare."""
    dictionary = Dictionary()
    values = Values(dictionary)
    ids = dictionary.intern(left), dictionary.intern(right)
    values.extend()
    order = values.compare(*ids)
    expected = {
        -1: (left, right),
        0: (left, left),
        1: (right, left),
        INCOMPARABLE: (None, None),
    }

    assert (apply("min", [left, right]), apply("max", [left, right])) == expected[order]


def test_a_skolem_term_is_a_blank_node_of_its_arguments():
    """The label is a depth and the first half of a hash of the texts."""
    digest = hashlib.sha256(f'{IRI}\0"a"@en'.encode()).hexdigest()

    made = apply("skolem", [IRI, '"a"@en'])

    assert made == f"_:sk1.{digest[:32]}"
    assert canonical(made) == made
    assert made != apply("skolem", ['"a"@en', IRI])


def test_skolem_terms_of_skolem_terms_end():
    """Each nesting increases the depth, up to a limit without a value."""
    made = BLANK
    for depth in range(1, SKOLEM_DEPTH + 1):
        made = apply("skolem", [made, IRI])
        assert made.startswith(f"_:sk{depth}.")

    assert apply("skolem", [made]) is None
    assert apply("skolem", [IRI, made, BLANK]) is None


@pytest.mark.parametrize(
    ("label", "depth"),
    [
        ("_:sk3." + "0" * 32, 4),
        ("_:sk3." + "0" * 31, 1),
        ("_:sk03." + "0" * 32, 1),
        ("_:sk3." + "G" * 32, 1),
        ("_:sk16." + "0" * 32, None),
        ("_:sk" + "1" * 5000 + "." + "0" * 32, None),
    ],
)
def test_only_nodes_of_this_form_are_deep(label, depth):
    """Blank nodes of the input that only resemble skolem terms have depth 0."""
    made = apply("skolem", [label])

    assert (made is None) if depth is None else made.startswith(f"_:sk{depth}.")


def test_every_built_in_is_known():
    """Every built-in of the language can be called with any terms."""
    for term in KINDS:
        for name, builtin in FUNCTIONS.items():
            found = apply(name, [term] * builtin.min_args)
            assert found is None or canonical(found) == found
        for name, builtin in TESTS.items():
            assert builtins.test(name, [term] * builtin.min_args) in (True, False, None)
