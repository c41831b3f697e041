"""The tables of values cover the language, and each row says something of its own."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from values.executors import Kernels
from values.tables import (
    AGGREGATIONS,
    APPLICATIONS,
    COMPARISONS,
    EDGE_TERMS,
    FALSE,
    HOLDING,
    KIND_TESTS,
    TRUE,
)

from streamreasoner import lang
from streamreasoner.plan.operands import COPY, NEGATE
from streamreasoner.rdf.vocabulary import (
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DATE_TIME_STAMP,
    XSD_STRING,
)
from streamreasoner.values.builtins import AGGREGATES, FUNCTIONS, TESTS
from streamreasoner.values.comparison import Operator
from streamreasoner.values.kernels import functions
from streamreasoner.values.kinds import ANYTHING, Kind
from streamreasoner.values.literal import literal
from streamreasoner.values.numbers import NUMERIC

GRAMMAR = (Path(lang.__file__).parent / "datalog.lark").read_text("utf-8")
ARITHMETIC = set(re.findall(r'^[A-Z]+(?:\.\d)?: "([^"]+)"$', GRAMMAR, re.MULTILINE))
COMPARATORS = set(
    re.findall('"([^"]+)"', re.search("^COMPARATOR: (.+)$", GRAMMAR, re.MULTILINE)[1])
)
SIGNATURES = {**FUNCTIONS, **TESTS}
CALLS = (*APPLICATIONS, *KIND_TESTS)


@pytest.mark.parametrize(
    "table", [EDGE_TERMS, COMPARISONS, APPLICATIONS, AGGREGATIONS], ids=lambda table: str(table[0])
)
def test_rows_are_different(table):
    """No row is there twice."""
    seen = Counter(map(str, table))

    assert [text for text, times in seen.items() if times > 1] == []


def test_every_kind_of_term_is_ordered():
    """The edge terms are of every kind, and of every datatype whose values compare."""
    datatypes = {literal(each.term).datatype for each in EDGE_TERMS if each.term[0] == '"'}
    comparable = {XSD_STRING, XSD_BOOLEAN, XSD_DATE, XSD_DATE_TIME, XSD_DATE_TIME_STAMP}

    assert {each.kind for each in EDGE_TERMS} == {kind.name.lower() for kind in Kind}
    assert (NUMERIC | comparable) - datatypes == set()


def test_every_comparison_is_made():
    """The operators of the grammar are those of plans, and every relation between terms occurs."""
    assert {operator.value for operator in Operator} == COMPARATORS
    assert frozenset().union(*HOLDING.values()) == COMPARATORS
    assert {row.value for row in COMPARISONS} == set(HOLDING.values())


def test_every_function_is_applied():
    """The tables have every built-in and every operator of the grammar, and no other."""
    assert {row.function for row in CALLS} == {*SIGNATURES, *ARITHMETIC, NEGATE}


@pytest.mark.parametrize("function", SIGNATURES)
def test_every_number_of_arguments(function):
    """A built-in is called with all numbers of arguments; a variadic one with the first two."""
    signature = SIGNATURES[function]
    least, most = signature.min_args, signature.max_args
    counts = set(range(least, (least + 1 if most is None else most) + 1))

    assert counts <= {len(row.arguments) for row in CALLS if row.function == function}


def test_every_function_has_a_value_and_none():
    """Each is called with a value and without; each test is true, false, and without a value."""
    outcomes = defaultdict(set)
    for row in CALLS:
        judged = row.value is None or row.function in TESTS
        outcomes[row.function].add(row.value if judged else "a value")
    takes_anything = {
        name for name, signature in SIGNATURES.items() if set(signature.parameters) == {ANYTHING}
    }

    for function, found in outcomes.items():
        truths = {TRUE, FALSE} if function in TESTS else {"a value"}
        assert found >= truths | (set() if function in takes_anything else {None}), function


def test_kernels_compute_what_they_have():
    """The tables have a value that a kernel computes of each built-in it has; of tests, both."""
    kernels = Kernels()
    kernels.apply([(row.function, row.arguments) for row in CALLS])

    for function in set(functions.NAMES) - {COPY}:
        found = {value for name, value in kernels.computed if name == function}
        assert found >= {TRUE, FALSE} if function in TESTS else found - {None}, function


def test_every_aggregate_is_computed():
    """Each has a value and none, of terms matched once, more often, and less than never."""
    times, values = defaultdict(set), defaultdict(set)
    known = {*AGGREGATES, "count distinct"}
    for row in AGGREGATIONS:
        name = row.function if row.function in known else row.function.partition(" ")[0]
        times[name] |= {1 if n == 1 else "more" if n > 1 else "less" for _, n in row.members}
        values[name].add(row.value is None)

    assert set(times) == known
    for function in times:
        assert times[function] == {1, "more", "less"}, function
        assert values[function] == {True, False}, function


def test_a_group_has_a_term_once():
    """The members of a group are different terms, as what matches twice says so."""
    assert [str(row) for row in AGGREGATIONS if len(dict(row.members)) < len(row.members)] == []
