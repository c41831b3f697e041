"""Datatypes: their lexical spaces, and which values are one."""

from __future__ import annotations

from itertools import combinations

import pytest

from streamreasoner.rdf.term_kind import TermKind
from streamreasoner.rdf.terms import Term
from streamreasoner.values.datatypes.spaces import canonical, in_datatype

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

FORMS = {
    "string": (("", "a\tb", "\U0001f600"), ("\x00", "\x1f", "\ufffe")),
    "normalizedString": (("", " a  b "), ("a\tb", "a\nb", "\r")),
    "token": (("", "a b"), (" a", "a ", "a  b", "a\tb")),
    "language": (("en", "en-GB", "x-a-1"), ("", "e_n", "toolonglanguage", "en-")),
    "NMTOKEN": (("-a", ":.1", "é"), ("", "a b", "a/b")),
    "Name": (("a", ":a", "_a-1.b"), ("", "-a", "1", "a b")),
    "NCName": (("a", "_é"), ("", ":a", "a:b", "·a")),
    "boolean": (("true", "0"), ("True", "", " true")),
    "decimal": (("1", "+1.", ".5", "-0", "1" * 50), ("", ".", "1e0", "+", "INF", "1 ")),
    "integer": (("1", "+01", "-0", "9" * 50), ("1.0", "", "-", "1e0", "\u0661")),
    "nonNegativeInteger": (("0", "-0", "9" * 50), ("-1", "-" + "9" * 50)),
    "positiveInteger": (("1",), ("0",)),
    "nonPositiveInteger": (("0", "-" + "9" * 50), ("1", "9" * 50)),
    "negativeInteger": (("-1",), ("0",)),
    "long": (("-9223372036854775808",), ("9223372036854775808", "9" * 50)),
    "int": (("2147483647",), ("2147483648",)),
    "short": (("-32768",), ("-32769",)),
    "byte": (("127", "0" * 50 + "7"), ("128",)),
    "unsignedLong": (("18446744073709551615",), ("18446744073709551616", "-1")),
    "unsignedInt": (("4294967295",), ("4294967296",)),
    "unsignedShort": (("65535",), ("65536",)),
    "unsignedByte": (("255", "+0"), ("256", "-1")),
    "double": (("1", "-1.5e-3", "INF", "+INF", "NaN", ".5E1"), ("inf", "", "1e", "+NaN", "1 ")),
    "float": (("1e400", "-0"), ("Infinity",)),
    "hexBinary": (("", "0aF0"), ("0", "0g", "0 0a")),
    "base64Binary": (("", "YWJj", "YQ==", "Y Q = =", "YWI="), ("YQ=", "YR==", "Y", " YQ==", "*")),
    "anyURI": (("", "http://example.org/", "a b", "é"), (" a", "a  b", "a\n")),
    "dateTime": (
        ("2020-02-29T24:00:00", "-0001-01-01T00:00:00Z", "12020-01-01T00:00:00.123456789+14:00"),
        (
            "2019-02-29T00:00:00", "2020-01-01T24:00:01", "2020-01-01", "2020-01-01T00:00",
            "02020-01-01T00:00:00", "2020-01-01T00:00:60", "2020-01-01T00:00:00+14:01",
        ),
    ),
    "dateTimeStamp": (("2020-01-01T24:00:00Z", "2020-01-01T00:00:00-14:00"),
        ("2020-01-01T00:00:00",)),
    "date": (("2020-02-29", "0000-01-01Z"), ("2020-02-30", "20-01-01", "2020-01-01T00:00:00")),
    "time": (("24:00:00", "23:59:59.5-05:00"), ("24:00:01", "1:00:00", "00:00")),
    "gYear": (("2020", "-0044Z"), ("20", "02020", "2020-01")),
    "gYearMonth": (("2020-12+01:00",), ("2020-13", "2020")),
    "gMonth": (("--01",), ("--13", "01", "--01--")),
    "gMonthDay": (("--02-29", "--12-31Z"), ("--02-30", "--04-31", "02-29")),
    "gDay": (("---31",), ("---32", "--31")),
    "duration": (
        ("P1Y2M3DT4H5M6.7S", "-PT0S", "P0Y", "PT0.5S"),
        ("P", "PT", "P1YT", "1Y", "P1S", "P-1Y", "P1.5Y", "PT.5S", "PT1.S"),
    ),
    "dayTimeDuration": (("P1DT5M", "PT5M", "P1D"), ("P1M", "P1Y", "P", "P1MT5M")),
    "yearMonthDuration": (("P1Y2M", "-P0M"), ("P1D", "PT1M", "P1YT1S", "P")),
}  # fmt: skip
SAME = (
    ("1 integer", "+01 byte", "1.0 decimal", "1 unsignedLong"),
    ("a string", "a token", "a NCName"),
    ("0.5 float", "5e-1 float", "0.50 float"),
    ("0.5 double", "5E-1 double"),
    ("0.5 decimal", ".50 decimal"),
    ("0 double", "0.0e5 double"),
    ("-0 double", "-0.0 double"),
    ("NaN double", "NaN double"),
    ("P1Y duration", "P12M yearMonthDuration"),
    ("PT0S duration", "-P0D dayTimeDuration", "P0M yearMonthDuration"),
    ("P1D duration", "PT24H dayTimeDuration", "PT86400.0S dayTimeDuration"),
    ("2020-01-01T00:00:00Z dateTime", "2019-12-31T24:00:00+00:00 dateTimeStamp"),
    ("2020-01-01T00:00:00 dateTime", "2020-01-01T00:00:00.000 dateTime"),
    ("2020-01-01T01:00:00+01:00 dateTime",),
    ("2020-01-01 date",),
    ("0a hexBinary", "0A hexBinary"),
    ("Cg== base64Binary", "C g = = base64Binary"),
    ("a anyURI",),
    ("00:00:00Z time", "24:00:00-00:00 time"),
    ("-0000 gYear", "0000 gYear"),
)
"""Literals in groups: those of a group have one value, those of two groups have two."""


def literal(text, name):
    """A literal of a datatype of XSD."""
    return str(Term(TermKind.LITERAL, text, datatype=XSD + name))


@pytest.mark.parametrize("name", FORMS)
def test_lexical_spaces(name):
    """The forms in the lexical space of a datatype have a value of it, and the others have none."""
    valid, invalid = FORMS[name]

    assert [each for each in valid if not in_datatype(literal(each, name), f"<{XSD}{name}>")] == []
    assert [each for each in invalid if in_datatype(literal(each, name), f"<{XSD}{name}>")] == []
    assert [each for each in invalid if canonical(literal(each, name)) != literal(each, name)] == []


@pytest.mark.parametrize("name", FORMS)
def test_a_canonical_literal_is_its_own(name):
    """It has the value of the literal, and it is what it makes of itself."""
    for each in FORMS[name][0]:
        found = canonical(literal(each, name))

        assert canonical(found) == found
        assert in_datatype(found, f"<{XSD}{name}>") is True


def test_equal_values_have_one_literal():
    """Literals have the same canonical literal if and only if their values are identical."""
    groups = [
        {canonical(literal(*each.rsplit(" ", 1))) for each in group if each} for group in SAME
    ]

    assert [group for group in groups if len(group) > 1] == []
    assert [(a, b) for a, b in combinations(groups, 2) if a & b] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a b='1' a=\"2\"/>", '<a a="2" b="1"></a>'),
        ("x &amp; y", "x &amp; y"),
        ("", ""),
        ("<a>", None),
        ("</x><x>", None),
        ("<!DOCTYPE a><a/>", None),
        ("&undefined;", None),
        ("\x00", None),
    ],
)
def test_xml_literals(text, expected):
    """An rdf:XMLLiteral has a value if its text is the content of an element."""
    term = str(Term(TermKind.LITERAL, text, datatype=RDF + "XMLLiteral"))
    found = str(Term(TermKind.LITERAL, expected or text, datatype=RDF + "XMLLiteral"))

    assert in_datatype(term, f"<{RDF}XMLLiteral>") is (expected is not None)
    assert canonical(term) == found


def test_many_digits_take_no_time():
    """A number of a million digits is compared and written without converting it."""
    digits = literal("9" * 1_000_000, "integer")

    assert in_datatype(digits, f"<{XSD}unsignedLong>") is False
    assert canonical(digits) == digits
    assert in_datatype(literal("9" * 1_000_000 + "-01-01", "date"), f"<{XSD}date>") is False
