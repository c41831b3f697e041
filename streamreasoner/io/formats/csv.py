"""CSV (RFC 4180), in documents and messages. Invariant: memory holds one batch of records.

In a document each record is a fact, each cell an argument (see `cell_term`); a fact without
arguments is the cell `()`. The predicate is the name of the file, up to its first dot. In a message
each record is a row of a table, whose columns the first line names; an empty cell is NULL, as in
https://www.w3.org/TR/tabular-data-model/.
"""

from __future__ import annotations

import csv
import io
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.errors import DataError, TermError
from streamreasoner.io.formats.reading.document import opened, reading
from streamreasoner.io.formats.reading.format import LINE, Facts, place
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.io.formats.rows.mapped import updates, values_of
from streamreasoner.io.formats.rows.tables import rows_of_topics
from streamreasoner.lang.ast import ARITIES, QUAD
from streamreasoner.rdf.term_kind import TermKind, begins_term
from streamreasoner.rdf.terms import Term, canonical
from streamreasoner.rdf.vocabulary import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER, XSD_STRING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from streamreasoner.config.rows import RowMapping
    from streamreasoner.io.formats.reading.document import Document
    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.io.formats.rows.mapped import Values
    from streamreasoner.io.formats.rows.tables import Numbered
    from streamreasoner.rdf.dictionary import Dictionary

NO_ARGUMENTS = "()"
"""The record of a fact without arguments: of no cells, it would be an empty line."""
_BATCH = 1 << 16
_GRAPH = 3
_CACHED_CELLS = 1 << 16

_INTEGER_CELL = re.compile(r"[+-]?[0-9]+")
_DECIMAL_CELL = re.compile(r"[+-]?[0-9]*\.[0-9]+")
_DOUBLE_CELL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+")


@lru_cache(maxsize=_CACHED_CELLS)
def cell_term(cell: str) -> str:
    """Canonical term of a CSV cell.

    A cell in N-Triples syntax is that term. Digits are an xsd:integer, digits with a point an
    xsd:decimal, digits with an exponent an xsd:double, with the cell's text as lexical form.
    Anything else, including white space and the empty cell, is a plain string.
    """
    if begins_term(cell):
        try:
            return canonical(cell)
        except TermError:
            return str(Term(TermKind.LITERAL, cell, datatype=XSD_STRING))
    return cell_literal(cell)


def cell_literal(cell: str) -> str:
    """The same as `cell_term` for a cell that is not a term itself."""
    datatype = XSD_STRING
    if _INTEGER_CELL.fullmatch(cell):
        datatype = XSD_INTEGER
    elif _DECIMAL_CELL.fullmatch(cell):
        datatype = XSD_DECIMAL
    elif _DOUBLE_CELL.fullmatch(cell):
        datatype = XSD_DOUBLE
    return str(Term(TermKind.LITERAL, cell, datatype=datatype))


def read_facts(document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """Facts of a CSV document; see `FactReader`."""
    header = document.header
    stream, name = opened(document.source, document.name)
    predicate = Path(name).name.split(".")[0]
    with stream, reading(name):
        text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8-sig", newline="")
        records = csv.reader(text, strict=True)
        arity: int | None = None
        terms: list[str] = []
        lines: list[int] = []
        try:
            for record in records:
                if not record:
                    continue
                if header:
                    header = False
                    continue
                cells = [] if record == [NO_ARGUMENTS] else record
                arity = len(cells) if arity is None else arity
                if len(cells) != arity:
                    raise DataError(
                        f"{name}:{records.line_num}: the record has {len(cells)} cells, but the"
                        f" first one has {arity}; all facts of a predicate have one arity."
                    )
                terms.extend(map(cell_term, cells))
                lines.append(records.line_num)
                if len(lines) == _BATCH:
                    yield _facts(name, predicate, dictionary, terms, lines)
                    terms, lines = [], []
        except csv.Error as error:
            raise DataError(f"{name}:{records.line_num}: not RFC 4180 ({error}).") from None
        except UnicodeDecodeError as error:
            raise DataError(f"{name}:{records.line_num + 1}: not UTF-8 ({error.reason}).") from None
    if lines:
        yield _facts(name, predicate, dictionary, terms, lines)


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> Iterator[UpdateRows]:
    """Facts of rows, as their `diff` header says; see `MessageReader`."""
    del dictionary
    for rows in rows_of_topics(messages, _row_reader, rejected):
        yield from updates(rows, LINE, cell_literal)


def _row_reader(mapping: RowMapping) -> Callable[[bytes], Numbered]:
    def read(value: bytes) -> Numbered:
        try:
            text = value.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            detail = f"The value is not UTF-8: {error.reason} at byte {error.start}."
            raise RejectedError(Reason.NOT_UTF8, detail) from None
        records = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows: list[Values] = []
        numbers: list[int] = []
        try:
            header = next(filter(None, records), [])
            chosen = _chosen(header, mapping)
            for record in filter(None, records):
                if len(record) != len(header):
                    raise _bad_line(
                        records.line_num,
                        f"The record has {len(record)} cells, but the header has {len(header)}.",
                    )
                rows.append(tuple([record[at] or None for at in chosen]))
                numbers.append(records.line_num)
        except csv.Error as error:
            raise _bad_line(records.line_num, f"Not RFC 4180: {error}.") from None
        return rows, numbers

    return read


def _chosen(header: list[str], mapping: RowMapping) -> list[int]:
    """Where the columns of a mapping are in each record."""
    values_of(dict.fromkeys(header), mapping)
    for name in mapping.columns:
        if header.count(name) > 1:
            raise _bad_line(1, f"The header has two columns {name!r}.")
    return [header.index(name) for name in mapping.columns]


def _bad_line(number: int, detail: str) -> RejectedError:
    return RejectedError(Reason.MALFORMED_LINE, place(LINE, number) + detail)


def _facts(
    name: str, predicate: str, dictionary: Dictionary, terms: list[str], lines: list[int]
) -> Facts:
    ids = dictionary.encode(pa.array(terms, type=pa.large_string()))
    args = ids.reshape(len(lines), len(terms) // len(lines))
    if predicate in ARITIES:
        _check_rdf(name, predicate, dictionary, args, lines)
    return Facts(predicate, args)


def _check_rdf(
    name: str, predicate: str, dictionary: Dictionary, args: NDArray[np.int32], lines: list[int]
) -> None:
    """Check that subjects and graphs are IRIs or blank nodes, and predicates IRIs."""
    arity = ARITIES[predicate]
    if args.shape[1] != arity:
        raise DataError(f"{name}:{lines[0]}: a {predicate} has {arity} cells, not {args.shape[1]}.")
    wrong = ~dictionary.is_resource(args[:, 0]) | ~dictionary.is_iri(args[:, 1])
    graph = ""
    if predicate == QUAD:
        wrong |= ~dictionary.is_resource(args[:, _GRAPH])
        graph = ", its graph an <IRI> or a _:blankNode"
    bad = np.flatnonzero(wrong)
    if len(bad):
        raise DataError(
            f"{name}:{lines[bad[0]]}: the subject of a {predicate} is an <IRI> or a _:blankNode,"
            f" its predicate an <IRI>{graph}."
        )
