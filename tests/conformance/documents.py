"""Documents of RDF: what a file says, and what a message with the same content says."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import rdflib
from pyoxigraph import parse, serialize

from conformance.datasets import FORMATS, QUADS, quad_row, quads_of_rdflib, quads_of_reasoner
from conformance.manifest import MF, base_of, entries
from conformance.outcome import MESSAGES, OURS, Case, WrongError, refuses
from conformance.results import Expected
from streamreasoner import Reasoner
from streamreasoner.cli.offline.closure import print_closure, printed
from streamreasoner.errors import StreamReasonerError
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.registry import of_suffix
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from conformance.manifest import Entry
    from conformance.rows import Row

_MEDIA_TYPES = {
    ".nt": "application/n-triples",
    ".nq": "application/n-quads",
    ".ttl": "text/turtle",
    ".trig": "application/trig",
    ".rdf": "application/rdf+xml",
    ".jsonld": "application/ld+json",
}
_RDFLIB = {
    ".nt": "nt",
    ".nq": "nquads",
    ".ttl": "turtle",
    ".trig": "trig",
    ".rdf": "xml",
    ".jsonld": "json-ld",
}
_ARITIES = {"triple": 3, "quad": 4}
_LONGEST = (1 << 31) - 1
_TOPIC = "in"
_JSON_LD = ".jsonld"
_NOT_READ = ("expandContext", "rdfDirection", "produceGeneralizedRdf")


def cases(suite: str, manifest: Path) -> Iterator[Case]:
    """The cases of a format, of RDF 1.1 or 1.2; those of 1.2 include those of 1.1."""
    for entry in entries(manifest):
        path = entry.file(MF + "action")
        if path is None:
            continue
        name = _suite_name(suite, path.suffix)
        base = base_of(entry.path)
        # The assumed base is that of the folder of the manifest.
        below = path.relative_to(entry.path.parent).as_posix()
        iri = f"{base}{below}" if base else path.as_uri()
        result = entry.file(MF + "result")
        if entry.kind.endswith("C14N"):
            assert result is not None
            yield _canonical_case(f"{name}, canonical", entry, path, result)
            continue
        is_valid = "Negative" not in entry.kind
        yield _case(name, entry.name, path, iri, result, is_valid=is_valid, test=entry.test)


def json_ld_cases(suite: str, manifest: Path) -> Iterator[Case]:
    """The cases of JSON-LD 1.1 to RDF, but those with options that no system here has."""
    content = json.loads(manifest.read_text(encoding="utf-8"))
    for each in content["sequence"]:
        options = each.get("option", {})
        if options.get("specVersion") == "json-ld-1.0" or options.get("normative") is False:
            continue
        if any(name in options for name in _NOT_READ):
            continue
        path = manifest.parent / each["input"]
        if not path.is_file():  # of another suite, to which the manifest points
            continue
        iri = options.get("base", content["baseIri"] + each["input"])
        result = manifest.parent / each["expect"] if "expect" in each else None
        is_valid = "jld:NegativeEvaluationTest" not in each["@type"]
        name = f"toRdf/{each['@id'].removeprefix('#')}"
        test = f"{manifest.with_suffix('').as_uri()}{each['@id']}"
        named = f"{suite}: JSON-LD"
        yield _case(named, name, path, iri, result, is_valid=is_valid, test=test)


def _suite_name(suite: str, suffix: str) -> str:
    names = {".nt": "N-Triples", ".nq": "N-Quads", ".ttl": "Turtle", ".trig": "TriG"}
    return f"{suite}: {names.get(suffix, 'RDF/XML')}"


def _case(
    suite: str, name: str, path: Path, iri: str, result: Path | None, *, is_valid: bool, test: str
) -> Case:
    systems: Mapping[str, Callable[[Path, str], Iterable[Row]]] = {
        OURS: _file,
        MESSAGES: _message,
        "pyoxigraph": _pyoxigraph,
        "rdflib": _rdflib,
    }
    checks = {
        system: partial(_check, read, path, iri, result)
        if is_valid
        else partial(refuses, partial(read, path, iri), _REFUSALS[system])
        for system, read in systems.items()
    }
    return Case(suite, name, checks, test)


def _canonical_case(suite: str, entry: Entry, path: Path, result: Path) -> Case:
    """A document that is written again; only the texts of canonical documents are all one."""
    writers: Mapping[str, Callable[[Path], bytes]] = {
        OURS: _written,
        "pyoxigraph": _serialized,
    }
    return Case(
        suite,
        entry.name,
        {system: partial(_check_text, write, path, result) for system, write in writers.items()},
        entry.test,
    )


def _check_text(write: Callable[[Path], bytes], path: Path, result: Path) -> None:
    # The order of lines is left open.
    expected, found = (sorted(text.splitlines()) for text in (result.read_bytes(), write(path)))
    if expected != found:
        raise WrongError(f"{expected!r} expected, {found!r} found")


def _written(path: Path) -> bytes:
    reasoner = Reasoner.from_rules(QUADS)
    reasoner.load(path)
    format_ = of_suffix(path)
    assert format_ is not None
    predicates = printed(reasoner.program, hidden=False)
    stream = io.BytesIO()
    print_closure(reasoner.session, predicates, format_, stream, {}, inferred=False)
    return stream.getvalue()


def _serialized(path: Path) -> bytes:
    format_ = FORMATS[path.suffix]
    return serialize(parse(path=path, format=format_), format=format_) or b""


def _check(
    read: Callable[[Path, str], Iterable[Row]], path: Path, iri: str, result: Path | None
) -> None:
    found = Expected(rows=tuple(read(path, iri)))
    if result is None:
        return
    quads = parse(path=result, format=FORMATS[result.suffix])
    expected = Expected(rows=tuple({*map(quad_row, quads)}))
    if read in {_file, _message}:
        expected.check(found)
    else:
        expected.by_value().check(found.by_value())


def _file(path: Path, iri: str) -> list[Row]:
    reasoner = Reasoner.from_rules(QUADS)
    reasoner.load(path, base=iri)
    return quads_of_reasoner(reasoner)


def _message(path: Path, iri: str) -> list[Row]:
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    media_type = _MEDIA_TYPES[path.suffix].encode()
    headers = pa.array([[{"key": "content-type", "value": media_type}]], header)
    sent = pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    content = {
        "topic": [_TOPIC],
        "partition": [0],
        "offset": [0],
        "key": pa.nulls(1, pa.binary()),
        "value": pa.array([path.read_bytes()], pa.binary()),
        "timestamp": sent,
        "headers": headers,
    }
    options = InputOptions(max_message_bytes=_LONGEST, max_term_bytes=_LONGEST, bases={_TOPIC: iri})
    dictionary = Dictionary()
    decoded = Codec(dictionary, _ARITIES, options).decode(pa.table(content))
    for rejected in decoded.rejected:
        raise _RejectedError(rejected.detail)
    rows: set[Row] = set()
    for updates in decoded.updates:
        rows.update(tuple(dictionary.decode(row).to_pylist()) for row in updates.args)
    return [*rows]


class _RejectedError(StreamReasonerError):
    """A message that is rejected."""


def _pyoxigraph(path: Path, iri: str) -> list[Row]:
    quads = parse(path=path, format=FORMATS[path.suffix], base_iri=iri)
    return [*{*map(quad_row, quads)}]


def _rdflib(path: Path, iri: str) -> list[Row]:
    found = rdflib.Dataset()
    found.parse(path, format=_RDFLIB[path.suffix], publicID=iri)
    return quads_of_rdflib(found)


_REFUSALS: Mapping[str, type[Exception]] = {
    OURS: StreamReasonerError,
    MESSAGES: StreamReasonerError,
    "pyoxigraph": SyntaxError,
    "rdflib": Exception,
}
