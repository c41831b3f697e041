"""Functions and tests of strings, compared with Python's."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st
from strategies import DOMAIN

from streamreasoner.api.nodes import from_ntriples, to_ntriples
from streamreasoner.rdf.terms import canonical
from streamreasoner.values import builtins
from streamreasoner.values.builtins import apply
from streamreasoner.values.functions import strings

XSD = "http://www.w3.org/2001/XMLSchema#"
ONE, TWO, THREE = (f'"{i}"^^<{XSD}integer>' for i in (1, 2, 3))
MOST = f'"{(1 << 63) - 1}"^^<{XSD}integer>'
LEAST = f'"{-(1 << 63)}"^^<{XSD}integer>'
BIG = f'"{1 << 63}"^^<{XSD}integer>'
SMILE = "\U0001f600"
IRI = "<http://example.org/a>"

VALUES = [
    ("length", ['""'], f'"0"^^<{XSD}integer>'),
    ("length", [f'"a{SMILE}"'], TWO),
    ("length", ['"a\\n\\u0000"@en'], THREE),
    ("length", [ONE], None),
    ("length", [IRI], None),
    ("length", ["_:b"], None),
    ("length", [f'"x"^^<{XSD}anyURI>'], None),
    ("concat", ['"a"', '"b"'], '"ab"'),
    ("concat", ['"a"'], '"a"'),
    ("concat", ['"a"@en', '"b"@en'], '"ab"@en'),
    ("concat", ['"a"@en'], '"a"@en'),
    ("concat", ['"a"@en', '"b"@en-gb'], '"ab"'),
    ("concat", ['"a"@en', '"b"'], '"ab"'),
    ("concat", ['"\\n"', '"\\""', '"\\\\"', '"\\u0001"'], '"\\n\\"\\\\\\u0001"'),
    ("concat", ['"\\\\"', '"n"'], '"\\\\n"'),
    ("concat", ['"a"', ONE], None),
    ("concat", ['"a"', IRI], None),
    ("substring", ['"metadata"', THREE], '"tadata"'),
    ("substring", ['"metadata"', TWO, THREE], '"eta"'),
    ("substring", [f'"{SMILE}b"@en', TWO], '"b"@en'),
    ("substring", ['"abc"', LEAST], '"abc"'),
    ("substring", ['"abc"', MOST], '""'),
    ("substring", ['"abc"', ONE, MOST], '"abc"'),
    ("substring", ['"abc"', LEAST, MOST], '""'),
    ("substring", ['"abc"', MOST, MOST], '""'),
    ("substring", ['"abc"', f'"-1"^^<{XSD}integer>', THREE], '"a"'),
    ("substring", ['"abc"', TWO, f'"-1"^^<{XSD}integer>'], '""'),
    ("substring", ['"abc"', f'"2"^^<{XSD}unsignedByte>', f'"01"^^<{XSD}long>'], '"b"'),
    ("substring", ['"a\\nb"', TWO, ONE], '"\\n"'),
    ("substring", ['"abc"', f'"1.0"^^<{XSD}decimal>'], None),
    ("substring", ['"abc"', f'"1"^^<{XSD}double>'], None),
    ("substring", ['"abc"', BIG], None),
    ("substring", ['"abc"', ONE, f'"x"^^<{XSD}integer>'], None),
    ("substring", ['"abc"', '"1"'], None),
    ("substring", [ONE, ONE], None),
    ("lower", ['"ÀB"@en'], '"àb"@en'),
    ("lower", ['"A\\tB"'], '"a\\tb"'),
    ("upper", ['"straße"'], '"STRASSE"'),
    ("upper", ['"a\\nb"'], '"A\\nB"'),
    ("upper", [ONE], None),
    ("lower", [IRI], None),
]


@pytest.mark.parametrize(("function", "arguments", "expected"), VALUES)
def test_functions_of_strings(function, arguments, expected):
    """Strings are unescaped, language tags preserved where possible; other terms have no value."""
    assert apply(function, arguments) == expected
    assert expected is None or canonical(expected) == expected


TRUTHS = [
    ("contains", ['"abc"', '"b"'], True),
    ("contains", ['"abc"@en', '"b"@fr'], True),
    ("contains", ['"abc"', '""'], True),
    ("contains", ['"a\\nb"', '"\\n"'], True),
    ("contains", ['"a\\nb"', '"n"'], False),
    ("contains", ['"abc"', ONE], None),
    ("contains", [IRI, '"a"'], None),
    ("starts_with", ['"abc"', '"ab"'], True),
    ("starts_with", ['"abc"', '"b"'], False),
    ("starts_with", ["_:a", '"a"'], None),
    ("ends_with", ['"abc"@en', '"bc"'], True),
    ("ends_with", ['"abc"', '"b"'], False),
    ("ends_with", ['"abc"', f'"c"^^<{XSD}token>'], None),
    ("matches", ['"abc"', '"b."'], True),
    ("matches", ['"abc"', '"^b"'], False),
    ("matches", ['"a\\nb"', '"^a\\\\sb$"'], True),
    ("matches", ['"ABC"@en', '"(?i)abc"'], True),
    ("matches", ['"abc"', '"("'], None),
    ("matches", ['"abc"', '"a{99999}"'], None),
    ("matches", ['"["', '"[[a]"'], True),
    # What RE2 refuses has no value: back-references, look-around, patterns that are too large.
    ("matches", ['"aa"', '"(a)\\\\1"'], None),
    ("matches", ['"ab"', '"a(?=b)"'], None),
    ("matches", ['"a"', '"a{1001}"'], None),
    ("matches", ['"a"', '"(a{100}){100}"'], None),
    ("matches", ['"a"', '"\\\\pL{1000}"'], None),
    # Classes are ASCII-only; case and categories are Unicode; `$` matches the end of the text.
    ("matches", ['"\u00e9"', '"^\\\\w$"'], False),
    ("matches", ['"\u0663"', '"\\\\d"'], False),
    ("matches", ['"\u0663"', '"\\\\p{Nd}"'], True),
    ("matches", ['"\u00e9"', '"^\\\\p{L}$"'], True),
    ("matches", ['"\u00e9"', '"(?i)\u00c9"'], True),
    ("matches", ['"\U0001f600"', '"^.$"'], True),
    ("matches", ['"a\\n"', '"a$"'], False),
    ("matches", ['"a\\nb"', '"(?m)a$"'], True),
    # A backtracking engine does not terminate in reasonable time on these.
    ("matches", [f'"{"a" * 5000}!"', '"(a+)+$"'], False),
    ("matches", [f'"{"a" * 5000}"', '"(a|aa)+b"'], False),
    ("matches", [ONE, '"1"'], None),
    ("matches", ['"1"', ONE], None),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), TRUTHS)
def test_tests_of_strings(name, arguments, expected):
    """Tests read only the text; other terms and invalid patterns have no truth value."""
    assert builtins.test(name, arguments) is expected


texts = st.one_of(
    st.text(max_size=6), st.text('\x00\t\n\x1f A"\\u\x7f\ufffe\U00010000', max_size=4)
)


@given(texts, texts)
def test_strings_are_those_of_python(left, right):
    """Functions of plain literals equal those of Python's strings."""
    a, b = to_ntriples(left), to_ntriples(right)

    assert apply("concat", [a, b]) == to_ntriples(left + right)
    assert apply("length", [a]) == to_ntriples(len(left))
    assert apply("lower", [a]) == to_ntriples(left.lower())
    assert apply("upper", [a]) == to_ntriples(left.upper())
    assert builtins.test("contains", [a, b]) is (right in left)
    assert builtins.test("starts_with", [a, b]) is left.startswith(right)
    assert builtins.test("ends_with", [a, b]) is left.endswith(right)
    assert builtins.test("matches", [a, to_ntriples(re2.escape(right))]) is (right in left)


positions = st.one_of(st.integers(-3, 9), st.integers(-(1 << 63), (1 << 63) - 1))


@given(texts, positions, positions)
def test_substrings_are_those_of_xpath(text, start, count):
    """The result has the characters at positions p with start <= p < start + count."""
    terms = [to_ntriples(text), to_ntriples(start), to_ntriples(count)]
    numbered = list(enumerate(text, start=1))
    rest = "".join(character for p, character in numbered if p >= start)
    part = "".join(character for p, character in numbered if start <= p < start + count)

    assert from_ntriples(apply("substring", terms[:2])) == rest
    assert from_ntriples(apply("substring", terms)) == part


OF_STRINGS = {
    strings.concat: 3, strings.length: 1, strings.lower: 1, strings.upper: 1, strings.contains: 2,
    strings.starts_with: 2, strings.ends_with: 2, strings.matches: 2,
}  # fmt: skip
TERMS = st.sampled_from(DOMAIN)
STRINGS = [each for each in DOMAIN if each[0] == '"' and "^^" not in each]
INTEGERS = [each for each in DOMAIN if each.endswith(("#integer>", "#short>"))]


@given(st.sampled_from([*OF_STRINGS]), st.tuples(TERMS, TERMS, TERMS))
def test_only_strings_have_a_value(function, terms):
    """With or without a language; a single term of another kind leaves no value."""
    arguments = terms[: OF_STRINGS[function]]

    assert (function(*arguments) is not None) == ({*arguments} <= {*STRINGS})


@given(TERMS, TERMS, TERMS)
def test_positions_are_integers(text, start, count):
    """A part of a string has a value for any integers, and for no other numbers."""
    has_start = text in STRINGS and start in INTEGERS

    assert (strings.substring(text, start) is not None) == has_start
    assert (strings.substring(text, start, count) is not None) == (has_start and count in INTEGERS)
