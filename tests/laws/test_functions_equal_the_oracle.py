"""Every built-in equals the oracle's, on terms of every kind and on edge cases."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from oracle.arithmetic import arithmetic
from oracle.builtins import call
from oracle.builtins import test as holds
from oracle.terms import string
from strategies import DOMAIN, XSD

from streamreasoner.values.builtins import FUNCTIONS, TESTS, apply
from streamreasoner.values.builtins import test as judge

SPECIAL = (
    *(f'"{form}"^^<{XSD}integer>' for form in ("-0", "+7", "007", 2**63, -(2**63), 2**63 - 1, "x")),
    *(f'"{form}"^^<{XSD}decimal>' for form in (".5", "5.", "-0.0", "0.1234567890123456789", "1e1")),
    *(
        f'"{form}"^^<{XSD}double>'
        for form in ("INF", "-INF", "NaN", "-0", "1e400", "5e-324", ".e1")
    ),
    *(f'"{form}"^^<{XSD}float>' for form in ("0.1", "1e39", "INF")),
    *(f'"{form}"^^<{XSD}byte>' for form in ("127", "128", "-128")),
    *(f'"{form}"^^<{XSD}unsignedInt>' for form in ("4294967295", "-1")),
    *(f'"{form}"^^<{XSD}boolean>' for form in ("0", "true", "yes")),
    *(
        f'"{form}"^^<{XSD}dateTime>'
        for form in ("2020-01-01T00:00:00+01:00", "2020-02-30T00:00:00Z")
    ),
    *map(
        string,
        ("", "+1", "-.5", "1.", "1e5", "NaN", "İß", "a\nb", '"\\', "[", "^a", "\u007f\uffff"),
    ),
    *(string(text, "en") for text in ("", "12", "Ab")),
    *map(string, ("$1", "en-GB", "*", "urn:x", "(.)b?")),
    '"x"^^<urn:unit>',
    *(f'"{form}"^^<{XSD}dayTimeDuration>' for form in ("P1DT0.5S", "-PT36H", "PT0S", "P1M")),
    *(f'"{form}"^^<{XSD}yearMonthDuration>' for form in ("P14M", "-P1Y", "P1D")),
    f'"2020-02-29T23:59:59.25"^^<{XSD}dateTime>',
    f'"2020-03-31-05:30"^^<{XSD}date>',
    *(f"<{XSD}{name}>" for name in ("integer", "decimal", "short", "string", "double", "dateTime")),
    f"_:sk15.{'0' * 32}",
    f"_:sk16.{'0' * 32}",
    "<urn:é>",
)
NUMBERS = (
    st.integers(-40, 40).map(lambda n: f'"{n}"^^<{XSD}integer>')
    | st.integers(-(2**63), 2**63 - 1).map(lambda n: f'"{n}"^^<{XSD}integer>')
    | st.decimals(allow_nan=False, allow_infinity=False, places=9).map(
        lambda n: f'"{n:f}"^^<{XSD}decimal>'
    )
    | st.floats().map(
        lambda n: f'"{n!r}"^^<{XSD}double>'.replace("inf", "INF").replace("nan", "NaN")
    )
)
TERMS = st.sampled_from(DOMAIN + SPECIAL) | NUMBERS | st.text(max_size=5).map(string)


@st.composite
def calls(draw, names):
    """A built-in with a permitted number of arguments."""
    name = draw(st.sampled_from(sorted(names)))
    most = names[name].max_args or names[name].min_args + 2
    return name, draw(st.lists(TERMS, min_size=names[name].min_args, max_size=most))


@given(calls(FUNCTIONS))
def test_functions(drawn_call):
    """Functions return the same value, or both return none."""
    assert apply(*drawn_call) == call(*drawn_call)


@given(calls(TESTS))
def test_tests(drawn_call):
    """Tests agree on true, false and no value."""
    assert judge(*drawn_call) == holds(*drawn_call)


@given(
    st.sampled_from(("+", "-", "*", "/", "%", "**")), st.tuples(NUMBERS | TERMS, NUMBERS | TERMS)
)
def test_operations(operator, terms):
    """Arithmetic returns the same value, or both return none."""
    assert apply(operator, terms) == arithmetic(operator, terms)


@given(TERMS)
def test_unary_minus(term):
    """Unary minus returns the same value, or both return none."""
    assert apply("negate", [term]) == arithmetic("-", [term])
