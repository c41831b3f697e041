"""Updates of the W3C: their syntax, and what a dataset has after them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyoxigraph
from rdflib.plugins.sparql import prepareUpdate

from conformance.datasets import (
    Dataset,
    quads_of_rdflib,
    quads_of_reasoner,
    quads_of_store,
    rdflib_dataset,
    reasoner,
    store,
)
from conformance.manifest import MF, RDFS, UT, entries
from conformance.outcome import OURS, Case, refuses
from conformance.results import Expected
from streamreasoner.errors import StreamReasonerError
from streamreasoner.sparql.parse import parse_update

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conformance.manifest import Entry
    from conformance.rows import Row


def cases(suite: str, manifest: Path) -> Iterator[Case]:
    """The cases of updates in a suite."""
    for entry in entries(manifest):
        match entry.kind:
            case "UpdateEvaluationTest":
                yield _evaluation(f"{suite}: update", entry)
            case "PositiveUpdateSyntaxTest" | "PositiveUpdateSyntaxTest11":
                yield _syntax(f"{suite}: update syntax", entry, is_valid=True)
            case "NegativeUpdateSyntaxTest" | "NegativeUpdateSyntaxTest11":
                yield _syntax(f"{suite}: update syntax", entry, is_valid=False)


def _syntax(suite: str, entry: Entry, *, is_valid: bool) -> Case:
    path = entry.file(MF + "action")
    assert path is not None
    text, base = path.read_bytes().decode(), path.as_uri()
    checks: dict[str, Callable[[], object]] = {
        OURS: partial(parse_update, text, base=base),
        "pyoxigraph": partial(pyoxigraph.Store().update, text, base_iri=base),
        "rdflib": partial(prepareUpdate, text, base=base),
    }
    if is_valid:
        return Case(suite, entry.name, checks, entry.test)
    own = {OURS: StreamReasonerError, "pyoxigraph": SyntaxError}
    return Case(
        suite,
        entry.name,
        {name: partial(refuses, do, own.get(name, Exception)) for name, do in checks.items()},
        entry.test,
    )


def _evaluation(suite: str, entry: Entry) -> Case:
    action, result = entry.part(MF + "action"), entry.part(MF + "result")
    assert action is not None
    assert result is not None
    request = action.file(UT + "request")
    assert request is not None
    text, base = request.read_bytes().decode(), request.as_uri()
    before, after = _dataset(action), _dataset(result)
    return Case(
        suite,
        entry.name,
        {name: partial(_compare, do, text, base, before, after) for name, do in _SYSTEMS.items()},
        entry.test,
    )


def _compare(
    do: Callable[[str, str, Dataset], list[Row]],
    text: str,
    base: str,
    before: Dataset,
    after: Dataset,
) -> None:
    # Reading a store back gives all systems the lexical forms of one of them.
    expected = Expected(rows=tuple(quads_of_store(store(after)))).by_value()
    expected.check(Expected(rows=tuple(do(text, base, before))).by_value())


def _dataset(node: Entry) -> Dataset:
    named = {}
    for graph in node.parts(UT + "graphData"):
        path = graph.file(UT + "graph")
        if path is not None:
            named[graph.text(RDFS + "label")] = path
    return Dataset(tuple(node.files(UT + "data")), named)


def _ours(text: str, base: str, data: Dataset) -> list[Row]:
    updated = reasoner(data)
    updated.update(text, base=base)
    return quads_of_reasoner(updated)


def _pyoxigraph(text: str, base: str, data: Dataset) -> list[Row]:
    updated = store(data)
    updated.update(text, base_iri=base)
    return quads_of_store(updated)


def _rdflib(text: str, base: str, data: Dataset) -> list[Row]:
    updated = rdflib_dataset(data)
    updated.update(prepareUpdate(text, base=base))
    return quads_of_rdflib(updated)


_SYSTEMS = {OURS: _ours, "pyoxigraph": _pyoxigraph, "rdflib": _rdflib}
