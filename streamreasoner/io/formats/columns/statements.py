"""Columns of terms as triples and quads. Invariant: a row is taken as a whole, or refused.

The columns `s`, `p` and `o` are subject, predicate and object, and `g`, which may be missing, is
the graph: texts in N-Triples syntax. A row whose graph is null, or that has none, is a triple.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.errors import DataError, TermError
from streamreasoner.io.formats.reading.format import Facts
from streamreasoner.lang.ast import COLUMNS, QUAD, TRIPLE
from streamreasoner.rdf.terms import canonical

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from streamreasoner.rdf.dictionary import Dictionary

REQUIRED = COLUMNS[TRIPLE]
GRAPH = COLUMNS[QUAD][-1]
_ROLES = {"s": "subject", "p": "predicate", "o": "object", GRAPH: "graph"}
ROWS = 1 << 16
"""Rows in memory at a time."""


def columns_of(names: Collection[str], name: str) -> list[str]:
    """The columns to read, of those that a source has.

    Raises:
        DataError: One is missing.
    """
    missing = [each for each in REQUIRED if each not in names]
    if missing:
        raise DataError(
            f"{name}: has no column {' and '.join(missing)}; its columns are {', '.join(names)}. "
            "Facts are in the columns s, p and o, and g for the graph, in N-Triples syntax."
        )
    return [*REQUIRED, *((GRAPH,) if GRAPH in names else ())]


def facts_of(rows: pa.Table, dictionary: Dictionary, name: str, first: int) -> Iterator[Facts]:
    """The triples and the quads of rows.

    Args:
        rows: The columns of `columns_of`.
        dictionary: Encodes the terms.
        name: Of the source, in errors.
        first: Number of the first row.

    Raises:
        DataError: A row is neither; has its number.
    """
    ids = np.empty((len(rows), rows.num_columns), np.int32)
    is_triple = np.ones(len(rows), np.bool_)
    for position, column in enumerate(rows.column_names):
        texts = texts_of(rows.column(column), f"{name}: the column {column}")
        ids[:, position] = dictionary.encode_validated(texts)
        wrong = ids[:, position] < 0
        if column == GRAPH:
            is_triple = texts.is_null().to_numpy()
            wrong &= ~is_triple
        for row in np.flatnonzero(wrong)[:1].tolist():
            text = texts[row].as_py()
            reason = "it is null; only the graph may be." if text is None else not_a_term(text)
            raise DataError(f"{name}: row {first + row}: the {_ROLES[column]}: {reason}")
    check_roles(ids, is_triple, dictionary, f"{name}: row ", first)
    for predicate, chosen, arity in ((TRIPLE, is_triple, 3), (QUAD, ~is_triple, 4)):
        if chosen.any():
            yield Facts(predicate, ids[chosen, :arity])


def texts_of(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """A column as texts.

    Raises:
        DataError: It has another type; begins with *what*.
    """
    text = pa.large_string()
    try:
        if pa.types.is_dictionary(column.type):
            # Arrow does not cast all kinds of texts out of a dictionary.
            parts = [each.dictionary.cast(text).take(each.indices) for each in column.chunks]
            return pa.chunked_array(parts, text)
        return column.cast(text)
    except pa.ArrowException:
        raise DataError(
            f"{what} has the type {column.type}; terms are texts in N-Triples syntax."
        ) from None


def check_roles(
    ids: np.ndarray, is_triple: np.ndarray, dictionary: Dictionary, where: str, first: int
) -> None:
    """Check that terms are where RDF allows them.

    Args:
        ids: Term ids of shape (n, 3), or (n, 4) with quads.
        is_triple: Which rows are triples.
        dictionary: Has the terms.
        where: Begins the message, before the number of the row.
        first: Number of the first row.

    Raises:
        DataError: A row is not a triple or quad.
    """
    for wrong, what in misplaced(ids, is_triple, dictionary):
        for row in np.flatnonzero(wrong)[:1].tolist():
            raise DataError(f"{where}{first + row}: {what}")


def misplaced(
    ids: np.ndarray, is_triple: np.ndarray, dictionary: Dictionary
) -> list[tuple[NDArray[np.bool_], str]]:
    """Which rows have a term where RDF does not allow it, with a sentence for each place.

    Args:
        ids: Term ids of shape (n, 3), or (n, 4) with quads.
        is_triple: Which rows are triples.
        dictionary: Has the terms.
    """
    checks = [
        (~dictionary.is_resource(ids[:, 0]), "the subject is a literal or a triple term."),
        (~dictionary.is_iri(ids[:, 1]), "the predicate is not an IRI."),
    ]
    if not is_triple.all():
        is_wrong = np.zeros(len(ids), np.bool_)
        is_wrong[~is_triple] = ~dictionary.is_resource(ids[~is_triple, 3])
        checks.append((is_wrong, "the graph is a literal or a triple term."))
    return checks


def not_a_term(text: str) -> str:
    """Why a text is not a term."""
    try:
        canonical(text)
    except TermError as error:
        return str(error)
    return f"{text[:80]!r} is not a term in N-Triples syntax."
