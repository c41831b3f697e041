"""Queries over Arrow tables in the driver. Invariant: a query is planned once, whatever its rows.

An epoch of few rows is some hundred queries, and DuckDB plans one for longer than it runs.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

MAX_STATEMENTS = 2_000
"""Plans kept, of some 33 kB each: more than the queries of most programs."""


class _Input:
    """A table of prepared statements: its rows differ from run to run, its schema does not.

    DuckDB scans what has these two methods, the Arrow PyCapsule interface.
    """

    def __init__(self, name: str, schema: pa.Schema) -> None:
        self.name = name
        self.table: pa.Table | None = None
        self._schema = schema

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        assert self.table is not None  # noqa: S101 - `run` has set it
        return self.table.__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A prepared statement.

    Attributes:
        name: Its name in DuckDB.
        inputs: What it scans, by the names of tables in the query.
    """

    name: str
    inputs: Mapping[str, _Input]


class PreparedQueries:
    """Runs queries in a database of its own."""

    def __init__(self) -> None:
        self._database = duckdb.connect(config={"threads": 1})
        self._prepared = 0
        self._statements: dict[object, _Statement] = {}
        self._inputs: dict[tuple[str, str], _Input] = {}

    def run(self, text: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        """The rows of a result.

        Args:
            text: A query.
            tables: Those that the query reads, by name.
        """
        statement = self._statement(text, {name: table.schema for name, table in tables.items()})
        for name, input_ in statement.inputs.items():
            input_.table = tables[name]
        # `sql` instead of `execute` would bind the statement once more for the types of its result,
        # and that costs more than a copy of few rows.
        result = self._database.execute(f"EXECUTE {statement.name}")
        for input_ in statement.inputs.values():
            input_.table = None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)
            return result.to_arrow_table()

    def _statement(self, text: str, schemas: Mapping[str, pa.Schema]) -> _Statement:
        """The plan of a query over tables with these schemas."""
        key = (text, *((name, str(schema)) for name, schema in schemas.items()))
        statement = self._statements.pop(key, None)
        if statement is None:
            if len(self._statements) == MAX_STATEMENTS:
                oldest = self._statements.pop(next(iter(self._statements)))
                self._database.execute(f"DEALLOCATE {oldest.name}")
            statement = self._prepare(text, schemas)
        # The last one used is the last one of the dict.
        self._statements[key] = statement
        return statement

    def _prepare(self, text: str, schemas: Mapping[str, pa.Schema]) -> _Statement:
        """Plan a query."""
        self._prepared += 1
        inputs = {name: self._input(name, schema) for name, schema in schemas.items()}
        sources = ", ".join(
            f"{name} AS NOT MATERIALIZED (FROM {input_.name})" for name, input_ in inputs.items()
        )
        statement = _Statement(f"query_{self._prepared}", inputs)
        self._database.execute(f"PREPARE {statement.name} AS WITH {sources} {text}")
        return statement

    def _input(self, name: str, schema: pa.Schema) -> _Input:
        """The input that all queries share in which a table has this name and schema."""
        key = name, str(schema)
        if key not in self._inputs:
            # A new view makes DuckDB bind all statements again, so there are few.
            self._inputs[key] = input_ = _Input(f"input_{len(self._inputs)}", schema)
            self._database.register(input_.name, input_)
        return self._inputs[key]
