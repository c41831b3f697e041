"""Expected answers of queries. Invariant: a solution is one row, whatever the file."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from pyoxigraph import (
    Dataset,
    Literal,
    NamedNode,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    QueryTriples,
    parse,
    parse_query_results,
)

from conformance.datasets import FORMATS, quad_row, text
from conformance.outcome import WrongError
from conformance.rows import difference, flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from conformance.rows import Row

_RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_NUMBER = re.compile(
    r'"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"'
    r"\^\^<http://www\.w3\.org/2001/XMLSchema#(integer|decimal|double|float)>"
)
_RESULTS = {
    ".srx": QueryResultsFormat.XML,
    ".srj": QueryResultsFormat.JSON,
    ".tsv": QueryResultsFormat.TSV,
}


@dataclass(frozen=True, slots=True)
class Expected:
    """An answer: a truth value, solutions or a graph.

    Attributes:
        truth: Of ASK.
        rows: Solutions, as `binding_row` makes them, or triples.
        is_ordered: Whether the order of the solutions counts.
        is_lax: Whether each solution may come less often.
    """

    truth: bool | None = None
    rows: tuple[Row, ...] = ()
    is_ordered: bool = False
    is_lax: bool = False

    def by_value(self) -> Expected:
        """The same with one lexical form of each number: suites leave open how one is written."""
        return replace(self, rows=tuple(tuple(map(normal, flat(row))) for row in self.rows))

    def check(self, actual: Expected) -> None:
        """Compare an answer.

        Raises:
            WrongError: It is another one.
        """
        if self.truth is not None or actual.truth is not None:
            if self.truth != actual.truth:
                raise WrongError(f"{self.truth} expected, {actual.truth} found")
            return
        expected, found = self.rows, actual.rows
        if self.is_lax:
            if len(found) > len(expected):
                raise WrongError(f"{len(expected)} rows at the most, {len(found)} found")
            expected, found = (tuple(dict.fromkeys(each)) for each in (expected, found))
        if problem := difference(expected, found):
            raise WrongError(problem)
        if self.is_ordered and _grounded(expected) != _grounded(found):
            raise WrongError("the rows are in another order")


def read_expected(path: Path, *, is_lax: bool = False) -> Expected:
    """Read an expected answer, of any of the formats that suites have."""
    if path.suffix in _RESULTS:
        content = path.read_bytes()
        return of_pyoxigraph(parse_query_results(content, format=_RESULTS[path.suffix]), is_lax)
    # A store would write literals in another form.
    graph = Dataset(parse(path=path, format=FORMATS[path.suffix], base_iri=path.as_uri()))
    for quad in graph.quads_for_object(NamedNode(_RS + "ResultSet")):
        return _result_set(graph, quad.subject, is_lax=is_lax)
    return Expected(rows=tuple(map(quad_row, graph)))


def of_pyoxigraph(answer: object, is_lax: bool = False) -> Expected:  # noqa: FBT001, FBT002
    """An answer of pyoxigraph, which is read to its end."""
    match answer:
        case QueryBoolean():
            return Expected(truth=bool(answer))
        case QuerySolutions():
            names = [each.value for each in answer.variables]
            rows = (
                binding_row((name, text(term)) for name, term in zip(names, row, strict=True))
                for row in answer
            )
            return Expected(rows=tuple(rows), is_lax=is_lax)
        case QueryTriples():
            return Expected(rows=tuple({quad_row(each) for each in answer}))
        case _:
            raise TypeError(type(answer).__name__)


def binding_row(bindings: Iterable[tuple[str, str]]) -> Row:
    """The bound variables of a solution with their terms, by name; unbound ones have no part."""
    known = sorted((name, term) for name, term in bindings if term)
    return tuple(part for name, term in known for part in (f"?{name}", term))


def cells(content: bytes) -> list[Row]:
    """The rows of CSV with names of columns, as rows of bindings; blank nodes keep their `_:`."""
    header, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    return [binding_row(zip(header, row, strict=True)) for row in rows if row or not header]


def normal(term: str) -> str:
    """One lexical form for all literals of a number; other terms as they are."""
    match = _NUMBER.fullmatch(term)
    if match is None:
        return term
    lexical, datatype = match.groups()
    number = float(lexical) if datatype in {"double", "float"} else Decimal(lexical).normalize()
    return f'"{number}"^^{datatype}'


def _grounded(rows: Sequence[Row]) -> list[Row]:
    return [tuple("_:" if term.startswith("_:") else term for term in flat(row)) for row in rows]


def _result_set(graph: Dataset, node: object, *, is_lax: bool) -> Expected:
    def values(subject: object, name: str) -> list[object]:
        predicate = NamedNode(_RS + name)
        return [
            each.object for each in graph.quads_for_subject(subject) if each.predicate == predicate
        ]

    for value in values(node, "boolean"):
        return Expected(truth=text(value).startswith('"true"'))
    solutions: list[tuple[int, Row]] = []
    for solution in values(node, "solution"):
        row = binding_row(
            (_value(values(binding, "variable")[0]), text(values(binding, "value")[0]))
            for binding in values(solution, "binding")
        )
        index = values(solution, "index")
        solutions.append((int(_value(index[0])) if index else 0, row))
    is_ordered = any(index for index, _ in solutions)
    rows = tuple(row for _, row in sorted(solutions, key=lambda each: each[0]))
    return Expected(rows=rows, is_ordered=is_ordered, is_lax=is_lax)


def _value(term: object) -> str:
    assert isinstance(term, Literal)
    return term.value
