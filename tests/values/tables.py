"""The tables of values, with terms in canonical syntax. Invariant: a row is a sentence that holds.

A table is a text file of lines with cells between tabs. Terms are written in N-Triples, with `xsd:`
for the namespace of XSD, or as the numbers and booleans of Turtle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from streamreasoner.rdf.terms import canonical
from streamreasoner.values.builtins import FUNCTIONS, TESTS
from streamreasoner.values.kinds import NUMBERS, Kind

XSD = "http://www.w3.org/2001/XMLSchema#"
TRUE, FALSE = (f'"{truth}"^^<{XSD}boolean>' for truth in ("true", "false"))

NO_VALUE = "no value"
INCOMPARABLE = "incomparable"
HOLDING = {
    "<": frozenset({"<", "<=", "!="}),
    "=": frozenset({"=", "<=", ">="}),
    ">": frozenset({">", ">=", "!="}),
    INCOMPARABLE: frozenset({"!="}),
}
"""The comparisons that hold between two terms, by their relation."""
MIRRORED = {"<": ">", "=": "=", INCOMPARABLE: INCOMPARABLE}

_LITERALS = frozenset(kind.name.lower() for kind in Kind) - {"iri", "blank_node", "triple"}
_KINDS = {
    "is_iri": {"iri"},
    "is_blank": {"blank_node"},
    "is_literal": _LITERALS,
    "has_lang": {"tagged"},
    "is_triple": {"triple"},
    "is_string": {"string", "tagged"},
    "is_number": {"integer", "decimal", "double"},
    "is_integer": {"integer"},
    "is_decimal": {"decimal"},
    "is_double": {"double"},
    "is_boolean": {"boolean"},
    "is_instant": {"instant"},
}
"""The kinds of terms for which a test of kind holds."""

_FORMS = {
    "integer": re.compile(r"[+-]?[0-9]+"),
    "decimal": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    "double": re.compile(r"[+-]?[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+"),
    "boolean": re.compile("true|false"),
}
_TIMES = re.compile(r"(.*) x(-?[0-9]+)")


class Row:
    """A row of a table, which writes it as `text`."""

    def __str__(self):
        return self.text


@dataclass(frozen=True)
class EdgeTerm(Row):
    """A term and its kind."""

    kind: str
    term: str
    text: str


@dataclass(frozen=True)
class Comparison(Row):
    """Two terms, and as value the comparisons that hold between them."""

    left: str
    right: str
    value: frozenset[str]
    text: str


@dataclass(frozen=True)
class Application(Row):
    """A call of a built-in or an operator, and its value; None if it has none."""

    function: str
    arguments: tuple[str, ...]
    value: str | None
    text: str


@dataclass(frozen=True)
class Aggregation(Row):
    """An aggregate of terms with multiplicities, and its value; None if it has none."""

    function: str
    members: tuple[tuple[str, int], ...]
    value: str | None
    text: str


def term(text):
    """The canonical term of a cell."""
    for datatype, form in _FORMS.items():
        if form.fullmatch(text):
            return f'"{text}"^^<{XSD}{datatype}>'
    if text.startswith("xsd:"):
        return f"<{XSD}{text[4:]}>"
    literal, marker, name = text.rpartition('"^^xsd:')
    return canonical(f'{literal}"^^<{XSD}{name}>' if marker else text)


def _edge_terms():
    """The terms of order.tsv, in the total order."""
    for kind, text in _rows("order.tsv"):
        yield EdgeTerm(kind, term(text), text)


def _comparisons():
    """The rows of comparison.tsv, each as it is and the other way round."""
    for left, relation, right in _rows("comparison.tsv"):
        yield _comparison(left, relation, right)
        if left != right:
            yield _comparison(right, MIRRORED[relation], left)


def _applications():
    """The rows of functions.tsv."""
    for function, *arguments, value in _rows("functions.tsv"):
        text = f"{function}({', '.join(arguments)}) = {value}"
        yield Application(function, tuple(map(term, arguments)), _value(value), text)


def _aggregations():
    """The rows of aggregates.tsv."""
    for function, *members, value in _rows("aggregates.tsv"):
        text = f"{function} of {', '.join(members)} = {value}"
        yield Aggregation(function, tuple(map(_member, members)), _value(value), text)


def _kind_tests():
    """What the tests of kinds say about each edge term."""
    for each in EDGE_TERMS:
        for function, kinds in _KINDS.items():
            truth = TRUE if each.kind in kinds else FALSE
            yield Application(function, (each.term,), truth, f"{function}({each})")


def _wrong_kinds():
    """Calls that have a value in functions.tsv, with an argument of a kind without one."""
    representatives = {each.kind: each for each in reversed(EDGE_TERMS)}
    known = {(row.function, len(row.arguments)): row for row in APPLICATIONS if row.value}
    for (function, count), row in known.items():
        for position, kinds in enumerate(parameters(function, count)):
            for kind in set(Kind) - kinds:
                wrong = representatives[kind.name.lower()]
                arguments = list(row.arguments)
                arguments[position] = wrong.term
                text = f"{function} with {wrong} as argument {position + 1} of {count}"
                yield Application(function, tuple(arguments), None, text)


def _neighbours():
    """The least and the greatest of any two neighbours in order.tsv."""
    for less, more in pairwise(EDGE_TERMS):
        for function, best in (("min", less), ("max", more)):
            members = ((more.term, 1), (less.term, 1))
            yield Aggregation(function, members, best.term, f"{function} of {more}, {less}")


def parameters(function, count):
    """The kinds of terms for which a function or an operator has a value, by argument."""
    builtin = FUNCTIONS.get(function) or TESTS.get(function)
    if builtin is None:
        return (NUMBERS,) * count
    return (*builtin.parameters, *builtin.parameters[-1:] * count)[:count]


def wrong(rows, found):
    """The values found that are not those of their rows, by the text of the row."""
    return {str(row): value for row, value in zip(rows, found, strict=True) if value != row.value}


def _comparison(left, relation, right):
    return Comparison(term(left), term(right), HOLDING[relation], f"{left} {relation} {right}")


def _value(text):
    return None if text == NO_VALUE else term(text)


def _member(text):
    times = _TIMES.fullmatch(text)
    return (term(times[1]), int(times[2])) if times else (term(text), 1)


def _rows(name):
    lines = (Path(__file__).parent / name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


EDGE_TERMS = tuple(_edge_terms())
COMPARISONS = tuple(_comparisons())
APPLICATIONS = tuple(_applications())
AGGREGATIONS = tuple(_aggregations())
# What follows from the tables.
KIND_TESTS = tuple(_kind_tests())
WRONG_KINDS = tuple(_wrong_kinds())
NEIGHBOURS = tuple(_neighbours())
