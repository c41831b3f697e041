"""Turtle, TriG, JSON-LD and RDF/XML through pyoxigraph. Invariant: no network access."""

from __future__ import annotations

import io
from codecs import BOM_UTF8
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyoxigraph

from streamreasoner.errors import DataError, TermError
from streamreasoner.io.formats.reading.diff_header import diff_headers
from streamreasoner.io.formats.reading.document import ChunkStream, open_bytes, opened, reading
from streamreasoner.io.formats.reading.format import Facts, UpdateRows
from streamreasoner.io.formats.reading.graphs import json_ld_text, mistakes
from streamreasoner.io.formats.reading.graphs.labels import (
    DocumentLabels,
    MessageLabels,
    WatchedStream,
)
from streamreasoner.io.formats.reading.graphs.mistakes import MalformedError
from streamreasoner.io.formats.reading.graphs.xml import (
    NO_LANGUAGE,
    MalformedXmlError,
    PlainXml,
)
from streamreasoner.io.formats.reading.timestamps import EventTimes
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.lang.ast import bracketed
from streamreasoner.lang.printer import PREFIX_NAME
from streamreasoner.rdf import nesting
from streamreasoner.rdf.terms import canonical, of_oxigraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import TypeAlias

    from streamreasoner.io.formats.reading.document import Document
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary

    _Term: TypeAlias = (
        "pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal | pyoxigraph.Triple"
    )

TRIPLE_PART = "Triple"
"""What the parts of such messages are called."""
NO_BASE = "relative-iri-without-base:"
"""The scheme of what JSON-LD without a base is read against: pyoxigraph drops relative IRIs."""
_BATCH = 1 << 16
_READ_BYTES = 1 << 16


def read_document(
    document: Document, dictionary: Dictionary, syntax: pyoxigraph.RdfFormat
) -> Iterator[Facts]:
    """Triples and quads of a document; see `FactReader`."""
    count = 0
    stream, name = opened(document.source, document.name)
    with stream, reading(name):
        watched = WatchedStream(stream)
        labels = DocumentLabels(watched.written)
        try:
            parser = parse(watched, syntax, document.base_iri, name)
            while quads := list(islice(parser, _BATCH)):
                for arity, numbered in _by_arity(quads).items():
                    terms = labels.of_block(
                        [of_oxigraph(term) for _, terms in numbered for term in terms]
                    )
                    ids = dictionary.encode_validated(pa.array(terms, type=pa.large_string()))
                    bad = np.flatnonzero(ids < 0)
                    if len(bad):
                        row, column = divmod(int(bad[0]), arity)
                        number, of_row = numbered[row]
                        reason = _reason(of_oxigraph(of_row[column]))
                        raise DataError(
                            f"{name}: triple {count + number} of the file is not RDF: {reason}"
                        )
                    yield Facts(bracketed(arity), ids.reshape(-1, arity))
                count += len(quads)
        except MalformedError as error:
            advice = mistakes.FILE_BASE if error.is_relative else ""
            raise DataError(f"{name}{error.after_name}: {error.reason}{advice}") from None


def read_values(
    messages: Messages,
    dictionary: Dictionary,
    rejected: Rejections,
    syntax: pyoxigraph.RdfFormat,
) -> Iterator[UpdateRows]:
    """The set of triples and quads of each message, as its `diff` header says."""
    del dictionary
    diff = diff_headers(messages, rejected)
    groups: dict[int, list[tuple[int, int, tuple[str, ...]]]] = {}
    for number, value in enumerate(messages.values()):
        try:
            quads = dict.fromkeys(parse(value, syntax, messages.base(number)))
        except MalformedError as error:
            advice = mistakes.MESSAGE_BASE if error.is_relative else ""
            detail = f"{error.sentence_place}{error.reason}{advice}"
            error_ = RejectedError(Reason.MALFORMED_DOCUMENT, detail)
            rejected.setdefault(int(messages.rows[number]), error_)
            continue
        labels = MessageLabels(value, partial(messages.place, number))
        for arity, numbered in _by_arity(quads).items():
            groups.setdefault(arity, []).extend(
                (number, place, tuple(labels(of_oxigraph(term)) for term in terms))
                for place, terms in numbered
            )
    for arity, updates in sorted(groups.items()):
        numbers = np.array([number for number, _, _ in updates])
        yield UpdateRows(
            bracketed(arity),
            messages.rows[numbers],
            [*zip(*(terms for _, _, terms in updates), strict=True)],
            diff[numbers],
            EventTimes.of([None] * len(updates)),
            TRIPLE_PART,
            np.array([place for _, place, _ in updates], dtype=np.int32),
        )


def parse(
    source: bytes | io.RawIOBase,
    syntax: pyoxigraph.RdfFormat,
    base: str | None,
    name: str = "<input>",
) -> Iterator[pyoxigraph.Quad]:
    """The quads of a text.

    Args:
        source: The text, or a stream of it.
        syntax: Its format.
        base: What relative IRIs are resolved against; without one they are mistakes.
        name: The name of the stream in errors.

    Raises:
        MalformedError: The text has a mistake.
        DataError: The stream is nested too deeply, which is noticed while it is read.
    """
    if syntax == pyoxigraph.RdfFormat.JSON_LD:
        yield from _json_ld(source if isinstance(source, bytes) else source.readall(), base)
    elif syntax == pyoxigraph.RdfFormat.RDF_XML:
        yield from _rdf_xml(io.BytesIO(source) if isinstance(source, bytes) else source, base)
    else:
        try:
            yield from turtle_parser(source, syntax, base, name)
        except SyntaxError as error:
            raise mistakes.of_parser(error) from None


def turtle_parser(
    source: bytes | io.RawIOBase,
    syntax: pyoxigraph.RdfFormat,
    base: str | None,
    name: str = "<input>",
) -> pyoxigraph.QuadParser:
    """The quads of Turtle or TriG; see `parse`. A mistake is a SyntaxError."""
    tokens = nesting.TRIPLE_TERMS
    if not isinstance(source, bytes):
        source = nesting.Shallow(_unmarked(source), tokens, name)
    elif nesting.Nesting(tokens).is_too_deep(source):
        raise MalformedError(f"It cannot be read: {nesting.TOO_DEEP}.")
    return pyoxigraph.parse(cast("IO[bytes]", source), format=syntax, base_iri=base)


def _unmarked(stream: io.RawIOBase) -> io.RawIOBase:
    """A stream without a byte order mark."""
    head = b""
    while len(head) < len(BOM_UTF8) and (more := stream.read(len(BOM_UTF8) - len(head))):
        head += more
    rest = iter(lambda: stream.read(_READ_BYTES), b"")
    return ChunkStream(chain([head.removeprefix(BOM_UTF8)], rest))


def declared_prefixes(path: Path, syntax: pyoxigraph.RdfFormat) -> dict[str, str]:
    """Prefixes that a file declares before its first triple; none if it cannot be read."""
    wrong = (SyntaxError, MalformedError, MalformedXmlError, DataError)
    with suppress(*wrong), open_bytes(path) as stream, reading(str(path)):
        base = path.absolute().as_uri()
        if syntax == pyoxigraph.RdfFormat.RDF_XML:
            parser = rdf_xml_parser(PlainXml(stream, base), base)
        else:
            parser = turtle_parser(stream, syntax, base)
        next(parser, None)
        return {k: v for k, v in parser.prefixes.items() if PREFIX_NAME.fullmatch(k)}
    return {}


def _json_ld(text: bytes, base: str | None) -> Iterator[pyoxigraph.Quad]:
    if nesting.Nesting(nesting.JSON).is_too_deep(text):
        raise MalformedError(f"It cannot be read: {nesting.TOO_DEEP}.")
    prepared = json_ld_text.prepared(text)
    try:
        for quad in _json_ld_parser(prepared.text, base):
            if base is None:
                _check_absolute(quad)
            yield _in_rdf(quad, prepared)
    except SyntaxError as error:
        raise mistakes.of_parser(error, json_ld_text.remote_context(text)) from None
    _check_keywords(text, base)


def _json_ld_parser(text: bytes, base: str | None) -> pyoxigraph.QuadParser:
    syntax = pyoxigraph.RdfFormat.JSON_LD
    return pyoxigraph.parse(text, format=syntax, base_iri=base or f"{NO_BASE}//x/")


def _check_keywords(text: bytes, base: str | None) -> None:
    """Refuse keywords of proposals for RDF 1.2, which JSON-LD 1.1 leaves out with their values.

    The text is one that can be read. Whether a string is a keyword there depends on contexts, so
    it is read again with an IRI in its place: a keyword is then a property.
    """
    for keyword in json_ld_text.new_keywords(text):
        iri = f"{NO_BASE}{keyword}"
        changed = text.replace(f'"{keyword}"'.encode(), f'"{iri}"'.encode())
        try:
            is_used = any(quad.predicate.value == iri for quad in _json_ld_parser(changed, base))
        except SyntaxError:
            # It stands where a property cannot, such as next to @value.
            is_used = True
        if is_used:
            line = text.count(b"\n", 0, text.index(f'"{keyword}"'.encode())) + 1
            raise MalformedError(
                f"{keyword} is not a keyword of JSON-LD 1.1, which leaves it out with its value."
                " Write triple terms and annotations in Turtle, TriG, N-Triples or N-Quads.",
                line,
            )


def _check_absolute(quad: pyoxigraph.Quad) -> None:
    terms = [*quad.triple, quad.graph_name]
    while terms:
        term = terms.pop()
        if isinstance(term, pyoxigraph.Triple):
            terms.extend(term)
            continue
        iri = term.datatype if isinstance(term, pyoxigraph.Literal) else term
        if isinstance(iri, pyoxigraph.NamedNode) and iri.value.startswith(NO_BASE):
            relative = iri.value.removeprefix(f"{NO_BASE}//x/").removeprefix(NO_BASE)
            raise mistakes.relative_iri(relative)


def _in_rdf(quad: pyoxigraph.Quad, prepared: json_ld_text.JsonLdText) -> pyoxigraph.Quad:
    """A quad with the literal that it means (JSON-LD 1.1 API, section 8.2.2)."""
    literal = quad.object
    if not isinstance(literal, pyoxigraph.Literal) or literal.language or not prepared.meant:
        return quad
    text = prepared.lexical(literal.value, literal.datatype.value)
    meant = pyoxigraph.Literal(text, datatype=literal.datatype)
    return pyoxigraph.Quad(quad.subject, quad.predicate, meant, quad.graph_name)


def _rdf_xml(stream: io.RawIOBase | io.BytesIO, base: str | None) -> Iterator[pyoxigraph.Quad]:
    xml = PlainXml(cast("io.RawIOBase", stream), base)
    try:
        for quad in rdf_xml_parser(xml, base):
            given = quad.object
            value = _with_language(given)
            if value is given:
                yield quad
            else:
                yield pyoxigraph.Quad(quad.subject, quad.predicate, value, quad.graph_name)
    except MalformedXmlError as error:
        raise MalformedError(error.reason, *error.place) from None
    except SyntaxError as error:
        raise mistakes.of_parser(error, place=xml.place) from None


def _with_language(term: _Term) -> _Term:
    """A term, in which literals have a language if the document gives them one."""
    match term:
        case pyoxigraph.Literal(language=language) if language == NO_LANGUAGE:
            return pyoxigraph.Literal(term.value)
        case pyoxigraph.Triple():
            given = term.object
            value = _with_language(given)
            if value is not given:
                return pyoxigraph.Triple(term.subject, term.predicate, value)
    return term


def rdf_xml_parser(xml: PlainXml, base: str | None) -> pyoxigraph.QuadParser:
    """The triples of RDF/XML; see `parse`. A mistake is a SyntaxError or MalformedXmlError."""
    syntax = pyoxigraph.RdfFormat.RDF_XML
    return pyoxigraph.parse(cast("IO[bytes]", xml), format=syntax, base_iri=base)


def _by_arity(
    quads: Iterable[pyoxigraph.Quad],
) -> dict[int, list[tuple[int, tuple[object, ...]]]]:
    """The terms of triples and of quads, with the number of each, from 1."""
    groups: dict[int, list[tuple[int, tuple[object, ...]]]] = {}
    for number, quad in enumerate(quads, start=1):
        terms: tuple[object, ...] = (quad.subject, quad.predicate, quad.object)
        if not isinstance(quad.graph_name, pyoxigraph.DefaultGraph):
            terms += (quad.graph_name,)
        groups.setdefault(len(terms), []).append((number, terms))
    return groups


def _reason(text: str) -> str:
    try:
        canonical(text)
    except TermError as error:
        return str(error)
    raise AssertionError(f"{text!r} was rejected by the dictionary but is a term")
