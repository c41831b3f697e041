"""Queries of the W3C: their syntax, their answers asked once, and their answers kept up to date."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import pyoxigraph
from rdflib.plugins.sparql import prepareQuery

from conformance.datasets import (
    QUADS,
    Dataset,
    change,
    quads_of_reasoner,
    rdflib_dataset,
    rdflib_rows,
    rdflib_text,
    reasoner,
    store,
)
from conformance.manifest import MF, QT, RDFS, entries
from conformance.outcome import CONTINUOUS, OURS, Case, NotRunError, refuses
from conformance.replay import replay
from conformance.results import Expected, binding_row, cells, of_pyoxigraph, read_expected
from streamreasoner import Reasoner
from streamreasoner.errors import StreamReasonerError
from streamreasoner.program import check_text
from streamreasoner.sparql.parse import parse_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import rdflib

    from conformance.manifest import Entry
    from conformance.rows import Row
    from streamreasoner.engine.session import Store

UNBOUND = "<urn:streamreasoner:unbound>"
_FROM = re.compile(r"\bFROM\s+(?:NAMED\s+)?<([^>]*)>", re.IGNORECASE)
_ANSWER = "answer"
_REPLAYED_SUITE = "SPARQL 1.2"
_TRIPLE = 3
_SD = "http://www.w3.org/ns/sparql-service-description#"


def cases(suite: str, manifest: Path) -> Iterator[Case]:
    """The cases of a suite of queries; updates and protocols are in other modules."""
    for entry in entries(manifest):
        match entry.kind:
            case "QueryEvaluationTest" | "CSVResultFormatTest" if not _regime(entry):
                yield _evaluation(f"{suite}: evaluation", entry)
            case "PositiveSyntaxTest" | "PositiveSyntaxTest11":
                yield _syntax(f"{suite}: syntax", entry, is_valid=True)
            case "NegativeSyntaxTest" | "NegativeSyntaxTest11":
                yield _syntax(f"{suite}: syntax", entry, is_valid=False)


def dataset_of(action: Entry, text: str, query: Path) -> Dataset:
    """The data of a query: what the manifest names, or else what the query does."""
    default = tuple(action.files(QT + "data"))
    named = {path.as_uri(): path for path in action.files(QT + "graphData")}
    for graph in action.parts(QT + "graphData"):
        if (path := graph.file(QT + "graph")) is not None:
            named[graph.text(RDFS + "label") or path.as_uri()] = path
    for name in _FROM.findall(text):
        path = query.parent / name
        if path.is_file():
            named[path.as_uri()] = path
    return Dataset(default, named)


def _regime(entry: Entry) -> bool:
    action = entry.part(MF + "action")
    return action is not None and action.one(_SD + "entailmentRegime") is not None


def _syntax(suite: str, entry: Entry, *, is_valid: bool) -> Case:
    path = entry.file(MF + "action")
    assert path is not None
    text = path.read_bytes().decode()
    base = path.as_uri()
    own = {
        OURS: partial(parse_query, text, base=base),
        "pyoxigraph": partial(pyoxigraph.Store().query, text, base_iri=base),
        "rdflib": partial(prepareQuery, text, base=base),
    }
    if is_valid:
        return Case(
            suite, entry.name, {name: _quietly(check) for name, check in own.items()}, entry.test
        )
    refusals = {OURS: StreamReasonerError, "pyoxigraph": SyntaxError}
    checks = {
        name: partial(refuses, check, refusals.get(name, Exception)) for name, check in own.items()
    }
    return Case(suite, entry.name, checks, entry.test)


def _quietly(check: partial[object]) -> partial[None]:
    def run() -> None:
        check()

    return partial(run)


def _evaluation(suite: str, entry: Entry) -> Case:
    action = entry.part(MF + "action")
    assert action is not None
    query = action.file(QT + "query")
    result = entry.file(MF + "result")
    assert query is not None
    assert result is not None
    text = query.read_bytes().decode()
    data = dataset_of(action, text, query)
    is_lax = "Lax" in entry.text(MF + "resultCardinality")
    if result.suffix == ".csv":
        check = partial(_csv, text, query.as_uri(), data, result)
        return Case(suite, entry.name, {OURS: check}, entry.test)
    base = query.as_uri()
    expected = partial(read_expected, result, is_lax=is_lax)
    checks: dict[str, Callable[[], None]] = {
        name: partial(_ask, ask, text, base, data, expected) for name, ask in _ASKED.items()
    }
    checks[CONTINUOUS] = lambda: _continuous(text, base, data, expected())
    replayed = partial(_replayed, text, base, data, entry.name)
    is_replayed = suite.startswith(_REPLAYED_SUITE)
    return Case(suite, entry.name, checks, entry.test, replayed if is_replayed else None)


def _ask(
    ask: Callable[[str, str, Dataset], Expected],
    text: str,
    base: str,
    data: Dataset,
    expected: Callable[[], Expected],
) -> None:
    expected().by_value().check(ask(text, base, data).by_value())


def _once(text: str, base: str, data: Dataset) -> Expected:
    return reasoner_answer(reasoner(data), text, base)


def reasoner_answer(of: Reasoner, text: str, base: str) -> Expected:
    """The answer of a reasoner."""
    answer = of.query(text, base=base)
    if isinstance(answer, bool):
        return Expected(truth=answer)
    if parse_query(text, base=base).form == "SELECT":
        content, format_ = answer.serialize("json"), pyoxigraph.QueryResultsFormat.JSON
        return of_pyoxigraph(pyoxigraph.parse_query_results(content, format=format_))
    return Expected(rows=tuple(zip(*answer.to_arrow().to_pydict().values(), strict=True)))


def _continuous(text: str, base: str, data: Dataset, expected: Expected) -> None:
    """Add the query to an empty reasoner, then assert, retract and assert the data.

    The answers are a set; those of CONSTRUCT are triples next to the data.
    """
    query = parse_query(text, base=base)
    if query.form == "DESCRIBE":
        raise NotRunError
    asked = _asking(text, base)
    rows = quads_of_reasoner(reasoner(data))
    for sign in (1, -1, 1):
        change(asked, rows, sign)
    if query.form == "CONSTRUCT":
        given = {row for row in rows if len(row) == _TRIPLE}
        # The answer of one question has the labels of the data, by which its triples are known.
        answer = reasoner_answer(reasoner(data), text, base)
        expected.by_value().check(answer.by_value())
        _check_set({*answer.rows} - given, {*_triples(asked)} - given)
        return
    found = asked.facts(_ANSWER)
    if query.form == "ASK":
        expected.check(Expected(truth=len(found) > 0))
        return
    columns = [column.to_pylist() for column in found.to_arrow().columns]
    rows = zip(*columns, strict=True) if columns else [()] * len(found)
    names = [each.name for each in query.select.variables]
    answers = {
        binding_row((name, term) for name, term in zip(names, row, strict=True) if term != UNBOUND)
        for row in rows
    }
    _check_set({*expected.rows}, answers)


def _asking(text: str, base: str, store: Store | None = None) -> Reasoner:
    """A reasoner without data that keeps the answers of a query."""
    asked = Reasoner(check_text(QUADS), store=store)
    asked.add_query(_ANSWER, f"BASE <{base}>\n{text}")
    return asked


def _replayed(
    text: str, base: str, data: Dataset, seed: str, new_store: Callable[[], Store]
) -> None:
    """Whatever is accepted as a continuous query, which the case of that says."""
    try:
        _asking(text, base)
    except StreamReasonerError:
        raise NotRunError from None
    rows = quads_of_reasoner(reasoner(data))
    replay(lambda store: _asking(text, base, store), rows, seed, new_store)


def _check_set(expected: set[Row], found: set[Row]) -> None:
    """Compare two sets of rows, in which forms of a number are one."""
    one, other = (Expected(rows=tuple(rows)).by_value().rows for rows in (expected, found))
    Expected(rows=tuple({*one})).check(Expected(rows=tuple({*other})))


def _triples(of: Reasoner) -> list[Row]:
    return [row for row in quads_of_reasoner(of) if len(row) == _TRIPLE]


def _pyoxigraph(text: str, base: str, data: Dataset) -> Expected:
    return of_pyoxigraph(store(data).query(text, base_iri=base))


def _rdflib(text: str, base: str, data: Dataset) -> Expected:
    return rdflib_answer(rdflib_dataset(data), text, base)


def rdflib_answer(of: rdflib.Dataset, text: str, base: str) -> Expected:
    """The answer of a dataset of rdflib."""
    answer = of.query(text, base=base, initNs={})
    if answer.type == "ASK":
        return Expected(truth=bool(answer.askAnswer))
    if answer.type == "SELECT":
        names = [str(each) for each in answer.vars or ()]
        rows = (binding_row(zip(names, map(rdflib_text, row), strict=True)) for row in answer)
        return Expected(rows=tuple(rows))
    return Expected(rows=tuple(rdflib_rows(answer.graph)))


def _csv(text: str, base: str, data: Dataset, result: Path) -> None:
    """Answers in CSV have texts, not terms."""
    content = reasoner(data).query(text, base=base).serialize("csv")
    Expected(rows=tuple(cells(result.read_bytes()))).check(Expected(rows=tuple(cells(content))))


_ASKED = {
    OURS: _once,
    "pyoxigraph": _pyoxigraph,
    "rdflib": _rdflib,
}
