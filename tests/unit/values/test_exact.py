"""Arithmetic of kernels on integers and decimals: what they compute is what Python does."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values import builtins
from streamreasoner.values.kernels import decimals, exact, functions
from streamreasoner.values.value_columns import Values

XSD = "http://www.w3.org/2001/XMLSchema#"
LEAST, MOST = -(2**63), 2**63 - 1
UNITS = 10**18
EDGES = (0, 1, -1, 9, 10, 2**31, -(2**31), 2**53, 2**53 + 1, 2**59, LEAST + 1, MOST)
WHOLES = st.one_of(st.sampled_from((*EDGES, LEAST)), st.integers(LEAST, MOST), st.integers(-99, 99))
FRACTIONS = st.one_of(
    st.sampled_from((0, 1, UNITS // 2, UNITS // 4, UNITS - 1, 10**9, 123 * 10**12)),
    st.integers(0, UNITS - 1),
)
INTEGERS = WHOLES.map(f'"{{}}"^^<{XSD}integer>'.format)


def decimal(whole, fraction):
    """The canonical term of a decimal."""
    units = whole * UNITS + fraction
    text = f"{abs(units) // UNITS}.{abs(units) % UNITS:018}".rstrip("0").rstrip(".")
    return f'"{"-" if units < 0 else ""}{text}"^^<{XSD}decimal>'


NUMBERS = st.one_of(INTEGERS, st.builds(decimal, WHOLES, FRACTIONS))
SIMPLE = st.one_of(
    st.integers(-(10**6), 10**6).map(f'"{{}}"^^<{XSD}integer>'.format),
    st.builds(decimal, st.integers(-999, 999), st.integers(0, 999).map((10**15).__mul__)),
)
FUNCTIONS = ("+", "-", "*", "/", "%", "negate", "abs")
DELEGATED = "delegated"


@given(WHOLES.filter(LEAST.__ne__), FRACTIONS)
@example(LEAST + 1, UNITS - 1)
def test_the_id_is_that_of_the_literal(whole, fraction):
    """A decimal gets the text that Python gives it, and the value of that text."""
    values = Values(dictionary := Dictionary())
    found = decimals.intern_decimal(values.table, whole, fraction)

    assert dictionary.terms(0, 1).to_pylist() == [decimal(whole, fraction)]
    other = Values(dictionary)
    other.extend()
    for name in ("kind", "whole", "fraction", "double"):
        assert getattr(values, name).tolist() == getattr(other, name).tolist()
    assert decimals.intern_decimal(values.table, whole, fraction) == found == 0
    assert len(dictionary) == 1


@given(st.integers(0, MOST), FRACTIONS)
@example(2**53, UNITS // 2)
@example(2**53 + 1, UNITS // 2)
@example(2**54 + 2, 0)
@example(2**54 + 2, 1)
@example(0, 1)
def test_a_double_is_the_nearest(whole, fraction):
    """Ties go to the even mantissa, and what is just above them up."""
    # Python divides integers with one rounding.
    assert decimals.nearest_double(whole, fraction) == (whole * UNITS + fraction) / UNITS


@pytest.mark.parametrize("function", FUNCTIONS)
@given(left=NUMBERS, right=NUMBERS)
def test_a_result_is_that_of_python(function, left, right):
    """A kernel finds the same term, or the same to be missing, or leaves it to Python."""
    found = computed(function, left, right)

    assert found in (DELEGATED, builtins.apply(function, [left, right][: arguments(function)]))


@pytest.mark.parametrize("function", FUNCTIONS)
@given(left=SIMPLE, right=SIMPLE)
def test_simple_numbers_need_no_python(function, left, right):
    """Kernels compute with numbers of few digits, whatever the result is."""
    expected = builtins.apply(function, [left, right][: arguments(function)])

    assert computed(function, left, right) == expected


def arguments(function):
    """How many arguments a function takes."""
    return 1 if function in {"negate", "abs"} else 2


def computed(function, *terms):
    """What kernels compute of terms, as many as the function takes: a term, None or DELEGATED."""
    values = Values(dictionary := Dictionary())
    ids = dictionary.encode(pa.array(terms[: arguments(function)]))
    values.extend()
    code = functions.NAMES.index(function)
    found = functions.apply(values.table, code, ids, len(ids))
    if found == exact.DELEGATED:
        return DELEGATED
    return None if found == exact.NO_VALUE else dictionary.decode(np.array([found]))[0].as_py()
