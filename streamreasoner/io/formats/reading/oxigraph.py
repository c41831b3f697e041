"""Turtle, TriG and JSON-LD through pyoxigraph. Invariant: no network access.

The label of a blank node is kept as it is written. A node without a label gets one: a random one in
a document; in a message one made of its place in the cluster, so that a replay gives the same node.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import IO, TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyoxigraph

from streamreasoner.errors import DataError, TermError
from streamreasoner.io.formats.reading.diff_header import diff_headers
from streamreasoner.io.formats.reading.document import opened, reading
from streamreasoner.io.formats.reading.format import Facts, UpdateRows
from streamreasoner.io.formats.reading.timestamps import EventTimes
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.lang.ast import bracketed
from streamreasoner.rdf import nesting
from streamreasoner.rdf.terms import canonical

if TYPE_CHECKING:
    import io
    from collections.abc import Iterable, Iterator

    from streamreasoner.io.formats.reading.document import Document
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary

TRIPLE_PART = "Triple"
"""What the parts of such messages are called."""
_BATCH = 1 << 16
_LIKE_RANDOM = re.compile(rb"_:[0-9a-f]+")
"""A label such as pyoxigraph makes for a node without one."""


def read_document(
    document: Document, dictionary: Dictionary, syntax: pyoxigraph.RdfFormat
) -> Iterator[Facts]:
    """Triples and quads of a document; see `FactReader`."""
    count = 0
    stream, name = opened(document.source, document.name)
    with stream, reading(name):
        try:
            parser = parse(stream, syntax, name)
            while quads := list(islice(parser, _BATCH)):
                for arity, numbered in _by_arity(quads).items():
                    terms = [str(term) for _, terms in numbered for term in terms]
                    ids = dictionary.encode_validated(pa.array(terms, type=pa.large_string()))
                    bad = np.flatnonzero(ids < 0)
                    if len(bad):
                        number = count + numbered[int(bad[0]) // arity][0]
                        reason = _reason(terms[bad[0]])
                        raise DataError(
                            f"{name}: triple {number} of the file is not RDF 1.1: {reason}"
                        )
                    yield Facts(bracketed(arity), ids.reshape(-1, arity))
                count += len(quads)
        except SyntaxError as error:
            line = "" if error.lineno is None else f":{error.lineno}"
            raise DataError(f"{name}{line}: {error.msg}.") from None


def read_values(
    messages: Messages,
    dictionary: Dictionary,
    rejected: Rejections,
    syntax: pyoxigraph.RdfFormat,
) -> Iterator[UpdateRows]:
    """Triples and quads of messages, as their `diff` header says; see `MessageReader`."""
    del dictionary
    diff = diff_headers(messages, rejected)
    groups: dict[int, list[tuple[int, int, tuple[str, ...]]]] = {}
    for number, value in enumerate(messages.values()):
        try:
            quads = list(parse(value, syntax))
        except SyntaxError as error:
            error_ = RejectedError(Reason.MALFORMED_DOCUMENT, f"{error.msg}.")
            rejected.setdefault(int(messages.rows[number]), error_)
            continue
        text = _Labelled(value, messages, number)
        for arity, numbered in _by_arity(quads).items():
            groups.setdefault(arity, []).extend(
                (number, place, tuple(map(text, terms))) for place, terms in numbered
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
    source: bytes | io.RawIOBase, syntax: pyoxigraph.RdfFormat, name: str = "<input>"
) -> pyoxigraph.QuadParser:
    """The quads of a text; a mistake, or a remote context, raises a SyntaxError.

    Args:
        source: The text, or a stream of it.
        syntax: Its format.
        name: The name of the stream in errors.

    Raises:
        SyntaxError: The text is nested too deeply.
        DataError: The stream is, which is noticed while it is read.
    """
    is_json = syntax == pyoxigraph.RdfFormat.JSON_LD
    tokens = nesting.JSON if is_json else nesting.TRIPLE_TERMS
    if not isinstance(source, bytes):
        source = nesting.Shallow(source, tokens, name)
    elif nesting.Nesting(tokens).is_too_deep(source):
        raise SyntaxError(f"The value cannot be read: {nesting.TOO_DEEP}")
    return pyoxigraph.parse(cast("IO[bytes]", source), format=syntax)


class _Labelled:
    """The text of the terms of a message."""

    def __init__(self, value: bytes, messages: Messages, number: int) -> None:
        self._written = frozenset(_LIKE_RANDOM.findall(value))
        self._messages = messages
        self._number = number
        self._labels: dict[str, str] = {}

    def __call__(self, term: object) -> str:
        text = str(term)
        if not isinstance(term, pyoxigraph.BlankNode):
            return text
        label = text.encode()
        if label in self._written or not _LIKE_RANDOM.fullmatch(label):
            return text
        if text not in self._labels:
            place = self._messages.place(self._number)
            self._labels[text] = f"_:message-{place}-{len(self._labels) + 1}"
        return self._labels[text]


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
