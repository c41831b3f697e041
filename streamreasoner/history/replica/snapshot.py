"""One whole epoch of a replica, for one reader. Invariant: its answers do not change.

A snapshot is a transaction that reads: it does not see later writes, and neither side waits.
Memory of rows that are deleted meanwhile is held until it is closed, so close it soon.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Self

import duckdb

from streamreasoner.engine.ports import LAST_ITERATION, Selection
from streamreasoner.errors import LimitError
from streamreasoner.facts import having
from streamreasoner.history.programs import in_effect
from streamreasoner.history.replica.selection import selection
from streamreasoner.history.replica.store import arrow, columns, rows_of
from streamreasoner.lang.ast import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from streamreasoner.facts import FactPattern
    from streamreasoner.history.programs import InEffect
    from streamreasoner.history.replica.replica_terms import ReplicaTerms
    from streamreasoner.history.replica.store import FactStore


class Snapshot:
    """The present facts at the end of an epoch; used by one thread at a time.

    What reads raises InterruptedError after `interrupt`.

    Attributes:
        epoch: The epoch.
        time: Its time, in milliseconds since 1970; None if it published nothing.
        cursor: A connection of DuckDB in a transaction that sees this epoch; use it to read only.
        terms: The terms of the ids; it may know terms of later epochs too.
        program: The program in effect.
    """

    def __init__(self, store: FactStore) -> None:
        self._store = store
        self._interrupted = False
        self.cursor: duckdb.DuckDBPyConnection = store.cursor()
        with store.committing:
            # The transaction sees what is committed when it first reads.
            self.cursor.execute("BEGIN TRANSACTION")
            rows = self.cursor.execute("SELECT epoch, time FROM epochs").fetchall()
            self._traces = store.traces
        epoch, time = rows[0]
        self.epoch: int = epoch
        self.time: int | None = time
        self.terms: ReplicaTerms = store.terms
        self.program: InEffect = in_effect(store.programs, epoch)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the transaction."""
        self.cursor.close()

    def interrupt(self) -> None:
        """Make the reader's question fail with InterruptedError; may be called by any thread."""
        self._interrupted = True
        with suppress(duckdb.Error):  # closed in the meantime
            self.cursor.interrupt()

    def query(self, sql: str) -> pa.Table:
        """The rows of a query of the tables.

        Raises:
            InterruptedError: The question was interrupted.
            LimitError: There is not enough memory.
        """
        try:
            if not self._interrupted:
                return arrow(self.cursor, sql)
        except duckdb.OutOfMemoryException:
            raise LimitError(
                "The answer needs more memory than there is. Ask for less, or raise "
                "server.max_memory."
            ) from None
        except duckdb.InterruptException:
            pass
        raise InterruptedError

    def table(self, predicate: str) -> str | None:
        """The table of a predicate's present facts; None if the program does not have it.

        Its columns are the ids of the arguments, `a0`, `a1` and so on, of type INTEGER. A predicate
        without arguments has the column `a0`.
        """
        has_it = predicate in self.program.checked.arities
        return self._store.facts_table(predicate) if has_it else None

    @property
    def nbytes(self) -> int:
        """Bytes that all facts and their trace take."""
        used = self.query("SELECT sum(memory_usage_bytes)::BIGINT AS bytes FROM duckdb_memory()")
        traces = sum(trace.nbytes for trace in self._traces.values())
        return int(used["bytes"][0].as_py()) + traces

    def count(self, predicate: str) -> int:
        """The number of present facts of a predicate of the program."""
        table = self._store.facts_table(predicate)
        return int(self.query(f"SELECT count(*) AS number FROM {table}")["number"][0].as_py())

    def facts(
        self, pattern: FactPattern, after: Sequence[int] | None = None, limit: int | None = None
    ) -> NDArray[np.int32]:
        """The present facts that match, in the order of their ids, which never change.

        Args:
            pattern: A predicate of the program, and what its facts must have.
            after: Return the facts that follow this one only: its ids.
            limit: The most facts to return; None for all.

        Returns:
            Their ids, int32 of shape (n, arity).
        """
        arity = self.program.checked.arities[pattern.predicate]
        names = columns(arity)
        tests = [*self._tests(pattern)]
        if after is not None and arity:
            ids = ", ".join(map(str, after))
            tests.append(f"row({', '.join(names)}) > row({ids})")
        where = f"WHERE {' AND '.join(tests)}" if tests else ""
        most = "" if limit is None else f"LIMIT {limit}"
        listed = ", ".join(names)
        query = (
            f"SELECT {listed} FROM {self._store.facts_table(pattern.predicate)} {where} "
            f"ORDER BY {listed} {most}"
        )
        return rows_of(self.query(query))[:, :arity]

    def select(
        self, predicate: str, bound: Mapping[int, int], iteration: int = LAST_ITERATION
    ) -> Selection:
        """Facts of a predicate with these ids at these positions, present or not."""
        if self._interrupted:
            raise InterruptedError
        compared = {lattice.position for lattice in self.program.lattices(predicate)}
        # A fact of a lattice is present if no competitor is better, whatever its value.
        known = {at: value for at, value in bound.items() if at not in compared}
        trace = self._traces[predicate].having(known)
        found = selection(predicate, trace, self.program.plan, self.terms, iteration)
        left = tuple((position, bound[position]) for position in compared & bound.keys())
        return found.take(having(found.args, left))

    def _tests(self, pattern: FactPattern) -> Iterable[str]:
        """What the facts of a pattern fulfil, in SQL."""
        first: dict[str, int] = {}
        for position, argument in enumerate(pattern.arguments or ()):
            match argument:
                case Constant(term):
                    found = self.terms.find(term)
                    yield f"a{position} = {-1 if found is None else found}"
                case Variable(name) if first.setdefault(name, position) != position:
                    yield f"a{position} = a{first[name]}"
                case _:
                    pass
