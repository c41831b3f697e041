"""What a query reads: the triples and quads of one epoch, and their terms.

Invariant: it is one whole epoch, however long the query runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from streamreasoner.lang.ast import COLUMNS, QUAD, TRIPLE
from streamreasoner.rdf.triple_index import TripleIndex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.history.replica import Snapshot
    from streamreasoner.rdf.triple_index import DenseTerms

_BY_PREDICATE = ("p", "o", "s", "g")
_SETTINGS = {"threads": 1, "enable_external_access": False, "preserve_insertion_order": False}


@dataclass(frozen=True, slots=True)
class FactsOfEpoch:
    """The default graph and the named graphs of a query.

    Attributes:
        connection: Runs the query. Its tables do not change under it: they are private, or it is in
            a transaction.
        terms: The terms of the ids.
        triples: A table or a query in parentheses with the columns s, p and o of int32.
        quads: The same with the column g.
        triple_terms: Those of the terms.
    """

    connection: duckdb.DuckDBPyConnection
    terms: DenseTerms
    triples: str
    quads: str
    triple_terms: TripleIndex = field(default_factory=TripleIndex)

    def apart(self) -> FactsOfEpoch:
        """The same facts for one more thread: a connection answers one query at a time."""
        return replace(self, connection=self.connection.cursor())


def facts_of_arrays(
    terms: DenseTerms,
    triples: NDArray[np.int32],
    quads: NDArray[np.int32],
    triple_terms: TripleIndex | None = None,
) -> FactsOfEpoch:
    """The facts of rows of ids, int32 of shape (n, 3) and (n, 4), in memory."""
    connection = duckdb.connect(config=dict(_SETTINGS))
    for name, columns, rows in (
        ("triples", COLUMNS[TRIPLE], triples),
        ("quads", COLUMNS[QUAD], quads),
    ):
        table = pa.table([pa.array(column) for column in rows.T], names=list(columns))
        connection.register("given", table)
        # In this order, DuckDB skips most rows where a pattern has a constant predicate.
        order = ", ".join(sorted(columns, key=_BY_PREDICATE.index))
        connection.execute(f"create table {name} as select * from given order by {order}")
        connection.unregister("given")
    return FactsOfEpoch(connection, terms, "triples", "quads", triple_terms or TripleIndex())


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
    return FactsOfEpoch(snapshot.cursor, terms, triples, quads, terms.triple_terms)
