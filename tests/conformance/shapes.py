"""SHACL: a shapes graph and a data graph give a validation report, or a failure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyshacl
import rdflib
from pyoxigraph import BlankNode, Dataset, NamedNode, RdfFormat, parse

from conformance.datasets import FORMATS, text
from conformance.manifest import MF, entries
from conformance.outcome import OURS, Case, refuses
from conformance.results import Expected
from streamreasoner import Reasoner
from streamreasoner.errors import StreamReasonerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conformance.manifest import Entry
    from conformance.rows import Row

_SH = "http://www.w3.org/ns/shacl#"
_SHT = "http://www.w3.org/ns/shacl-test#"
_RESULT = (
    *("focusNode", "resultSeverity", "sourceConstraint"),
    *("sourceConstraintComponent", "sourceShape", "value"),
)


def cases(suite: str, manifest: Path) -> Iterator[Case]:
    """The cases of the test suite of SHACL."""
    for entry in entries(manifest):
        action = entry.part(MF + "action")
        if entry.kind != "Validate" or action is None:
            continue
        data, shapes = action.file(_SHT + "dataGraph"), action.file(_SHT + "shapesGraph")
        assert data is not None
        assert shapes is not None
        part = manifest.parent.name
        folder = entry.path.parent.name
        checks = {
            name: partial(_check, partial(validate, data, shapes), entry)
            for name, validate in _SYSTEMS.items()
        }
        yield Case(f"{suite}: {part}", f"{folder}/{entry.path.stem}", checks, entry.test)


def _check(validate: Callable[[], Dataset], entry: Entry) -> None:
    if entry.text(MF + "result") == _SHT + "Failure":
        refuses(validate, (StreamReasonerError, pyshacl.errors.ValidationFailure))
        return
    expected, actual = _graph(entry.path), validate()
    report = next(
        each.object
        for each in expected.quads_for_subject(entry.node)
        if each.predicate == NamedNode(MF + "result")
    )
    message = NamedNode(_SH + "resultMessage")
    has_messages = any(each.predicate == message for each in expected)
    found = next(iter(actual.quads_for_object(NamedNode(_SH + "ValidationReport")))).subject
    rows = _rows(expected, report, has_messages=has_messages)
    answer = _rows(actual, found, has_messages=has_messages)
    Expected(rows=rows).by_value().check(Expected(rows=answer).by_value())


def _rows(graph: Dataset, report: object, *, has_messages: bool) -> tuple[Row, ...]:
    """The triples of a report that the suite compares."""
    rows: list[Row] = []

    def take(subject: object, names: tuple[str, ...]) -> list[object]:
        known = {NamedNode(_SH + name) for name in names}
        found = [each for each in graph.quads_for_subject(subject) if each.predicate in known]
        rows.extend((text(subject), text(each.predicate), text(each.object)) for each in found)
        return [each.object for each in found]

    take(report, ("conforms",))
    for result in take(report, ("result",)):
        take(result, (*_RESULT, "resultMessage") if has_messages else _RESULT)
        rows.extend(
            (text(result), "path", _path(graph, each.object))
            for each in graph.quads_for_subject(result)
            if each.predicate == NamedNode(_SH + "resultPath")
        )
    return tuple(rows)


def _path(graph: Dataset, node: object) -> str:
    """A path as one text, as results may share its blank nodes, or each have their own."""
    if not isinstance(node, BlankNode):
        return text(node)
    parts = (
        f"{text(each.predicate)} {_path(graph, each.object)}"
        for each in graph.quads_for_subject(node)
    )
    return f"[{' ; '.join(sorted(parts))}]"


def _graph(path: Path) -> Dataset:
    return Dataset(parse(path=path, format=FORMATS[path.suffix], base_iri=path.as_uri()))


def _pyshacl(data: Path, shapes: Path) -> Dataset:
    # With another lexical form, a literal can be in another value space.
    rdflib.NORMALIZE_LITERALS = False
    graphs = [rdflib.Graph().parse(each, publicID=each.as_uri()) for each in (data, shapes)]
    _, report, _ = pyshacl.validate(graphs[0], shacl_graph=graphs[1], inference="none")
    rdflib.NORMALIZE_LITERALS = True
    if isinstance(report, pyshacl.errors.ValidationFailure):
        raise report
    return Dataset(parse(report.serialize(format="nt").encode(), format=RdfFormat.N_TRIPLES))


def _ours(data: Path, shapes: Path) -> Dataset:
    reasoner = Reasoner.from_rules(shapes)
    reasoner.load(data)
    report = reasoner.validate().graph.serialize(format="nt").encode()
    return Dataset(parse(report, format=RdfFormat.N_TRIPLES))


_SYSTEMS = {OURS: _ours, "pySHACL": _pyshacl}
