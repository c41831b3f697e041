"""Steps of a query in memory. Invariant: no step is larger than the limits allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.errors import LimitError
from streamreasoner.facts import ranks
from streamreasoner.query.sparql.query_terms import UNBOUND
from streamreasoner.query.sparql.solving.rows import Rows
from streamreasoner.query.sparql.solving.solutions_query import RANK, SolutionsQuery

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from streamreasoner.query.sparql.limits import Running
    from streamreasoner.query.sparql.query_terms import QueryTerms
    from streamreasoner.query.sparql.solving.solutions_query import Columns


class Memory:
    """Moves solutions between SQL and memory.

    Attributes:
        running: The query.
        terms: The terms of the query.

    Args:
        columns: Names of columns.
    """

    def __init__(self, running: Running, columns: Columns, terms: QueryTerms) -> None:
        self.running = running
        self._columns = columns
        self.terms = terms
        self._tables: list[str] = []
        self._unread: dict[str, dict[str, NDArray[np.int32]]] = {}

    def rows(self, solutions: SolutionsQuery) -> Rows:
        """The solutions in memory, in order if there is one.

        Raises:
            LimitError: They are too many, or took too long.
        """
        found = self._read(solutions) if solutions.rows is None else solutions.rows
        limit = self.running.limits.steps
        if found.count > limit:
            raise LimitError(
                f"A step of the query has more than {limit:,} solutions. Ask for less: name more "
                "terms, or join fewer patterns that share no variable."
            )
        return found

    def _read(self, solutions: SolutionsQuery) -> Rows:
        """The solutions of a query, at most one more than the limit."""
        limit = self.running.limits.steps
        order = f" order by {RANK}" if solutions.is_ordered else ""
        columns = {v: self._columns[v] for v in solutions.variables}
        names = ", ".join(columns.values()) or "1 as one"
        found = self.fetch(f"select {names} from ({solutions.sql}){order} limit {limit + 1}")
        count = len(next(iter(found.values())))
        return Rows({v: found[name] for v, name in columns.items()}, count)

    def solutions(self, rows: Rows, *, is_ordered: bool = False) -> SolutionsQuery:
        """Rows in memory as a query; they become a table when a query reads it."""
        columns = {self._columns[v]: ids for v, ids in rows.columns.items()}
        if is_ordered:
            columns[RANK] = np.arange(rows.count, dtype=np.int32)
        if not rows.columns:
            columns["one"] = np.ones(rows.count, np.int32)
        name = self.table(columns)
        return SolutionsQuery(
            f"select * from {name}", tuple(rows.columns), rows.optional(), is_ordered, rows
        )

    def fetch(self, sql: str) -> dict[str, NDArray[np.int32]]:
        """The columns of a query of ids; see `Running.fetch`."""
        for name, columns in self._unread.items():
            table = pa.table({column: pa.array(ids) for column, ids in columns.items()})
            self.running.connection.register(name, table)
            self._tables.append(name)
        self._unread.clear()
        return self.running.fetch(sql)

    def table(self, columns: dict[str, NDArray[np.int32]]) -> str:
        """The name of a table of arrays."""
        name = f"step{len(self._tables) + len(self._unread)}"
        self._unread[name] = columns
        return name

    def texts(self, columns: Iterable[NDArray[np.int32]]) -> dict[int, str]:
        """The terms of ids."""
        ids = np.unique(np.concatenate([np.empty(0, np.int32), *columns]))
        ids = ids[ids != UNBOUND]
        return dict(zip(ids.tolist(), self.terms.decode(ids).to_pylist(), strict=True))

    def ranks(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """Places in the order of terms; what is unbound is first (section 15.1)."""
        places = np.zeros(len(ids), np.int64)
        is_bound = ids != UNBOUND
        places[is_bound] = ranks(ids[is_bound], self.terms) + 1
        return places

    def close(self) -> None:
        """Free the tables."""
        for name in self._tables:
            self.running.connection.unregister(name)
