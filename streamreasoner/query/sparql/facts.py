"""What a query reads: the triples and quads of one epoch, and their terms.

Invariant: it is one whole epoch, however long the query runs. Few triples are found in an index;
what reads many is asked of DuckDB, whose copy is made when it is first needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from streamreasoner.lang.ast import COLUMNS, QUAD, TRIPLE
from streamreasoner.rdf.triple_index import TripleIndex

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.history.replica import Snapshot
    from streamreasoner.query.indexed_triples import IndexedTriples
    from streamreasoner.rdf.triple_index import DenseTerms

_BY_PREDICATE = ("p", "o", "s", "g")
_SETTINGS = {"threads": 1, "enable_external_access": False, "preserve_insertion_order": False}


@dataclass(frozen=True, slots=True)
class FactsOfEpoch:
    """The default graph and the named graphs of queries, which any thread may ask.

    Attributes:
        connect: Gives a connection that runs one query. Its tables do not change under it: they are
            private, or it is in a transaction.
        terms: The terms of the ids.
        triples: A table or a query in parentheses with the columns s, p and o of int32.
        quads: The same with the column g.
        triple_terms: Those of the terms.
        index: The triples once more, for patterns that few of them match; None: there is no index.
    """

    connect: Callable[[], duckdb.DuckDBPyConnection]
    terms: DenseTerms
    triples: str
    quads: str
    triple_terms: TripleIndex = field(default_factory=TripleIndex)
    index: IndexedTriples | None = None


class _Tables:
    """Tables of DuckDB, made when someone first connects."""

    def __init__(self, triples: IndexedTriples, quads: NDArray[np.int32]) -> None:
        self._triples = triples
        self._quads = quads
        self._making = Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own."""
        with self._making:
            if self._connection is None:
                self._connection = self._made()
        return self._connection.cursor()

    def _made(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(config=dict(_SETTINGS))
        # In this order, DuckDB skips most rows where a pattern has a constant predicate.
        order = ", ".join(sorted(COLUMNS[QUAD], key=_BY_PREDICATE.index))
        for name, names, columns, rest in (
            ("triples", COLUMNS[TRIPLE], self._triples.columns, ""),
            ("quads", COLUMNS[QUAD], self._quads.T, f"order by {order}"),
        ):
            table = pa.table([pa.array(column) for column in columns], names=list(names))
            connection.register("given", table)
            connection.execute(f"create table {name} as select * from given {rest}")
            connection.unregister("given")
        return connection


def facts_of_arrays(
    terms: DenseTerms,
    triples: IndexedTriples,
    quads: NDArray[np.int32],
    triple_terms: TripleIndex | None = None,
) -> FactsOfEpoch:
    """The facts of triples and of rows of ids, int32 of shape (n, 4), in memory."""
    connect = _Tables(triples, quads).connect
    return FactsOfEpoch(connect, terms, "triples", "quads", triple_terms or TripleIndex(), triples)


def facts_of_snapshot(snapshot: Snapshot) -> FactsOfEpoch:
    """The facts of a snapshot, as long as it is open."""
    views = []
    for predicate, names in ((TRIPLE, COLUMNS[TRIPLE]), (QUAD, COLUMNS[QUAD])):
        table = snapshot.table(predicate)
        if table is None:  # the program does not have it
            views.append(f"(select {', '.join(f'0 as {name}' for name in names)} where false)")
        else:
            columns = ", ".join(f"a{place} as {name}" for place, name in enumerate(names))
            views.append(f"(select {columns} from {table})")
    triples, quads = views
    terms = snapshot.terms
    return FactsOfEpoch(lambda: snapshot.cursor, terms, triples, quads, terms.triple_terms)
