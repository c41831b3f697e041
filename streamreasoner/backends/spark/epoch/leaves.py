"""The leaves of plan evaluation as queries. Invariant: every leaf is linear in its rows.

Transitions are differences, in the state and in the epoch alike: rows of one fact and iteration
need not be summed before a join, because the derived rows are summed at the end. A condition
without a value does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    MULTIPLICITY,
    PREDICATE,
    RIGHT,
    SIGN,
    STRATUM,
    TRANSITION,
    argument,
    arguments,
    fact,
    repeated,
    schema,
)
from streamreasoner.backends.spark.queries.patterns import encode, match_table, matches, places
from streamreasoner.backends.spark.tables.places import primary
from streamreasoner.plan.algebra import Arrangement
from streamreasoner.plan.operands import COPY, Column, Comparison, Test, Value
from streamreasoner.values import builtins
from streamreasoner.values.comparison import compare
from streamreasoner.values.formula import compute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from streamreasoner.backends.spark.epoch.term_lookup import TermLookup
    from streamreasoner.backends.spark.queries.spark_rows import QueryRunner, SparkRows
    from streamreasoner.backends.spark.tables.committed import CommittedState
    from streamreasoner.plan.algebra import Age, Delta, Scan
    from streamreasoner.plan.operands import Computation, Operand, Pattern
    from streamreasoner.values.formula import Function


_TEXT = "text"
_VALUE = "value"


class Overlay(Protocol):
    """Reads the transitions that the epoch has changed so far."""

    def __call__(self, age: Age) -> SparkRows:
        """Changed transitions visible to a join of an age: facts, stratum, iteration."""
        ...


@dataclass(frozen=True, slots=True)
class BoundRows:
    """Rows of a plan: variables, an iteration and a sign.

    Attributes:
        rows: Columns `v0`, `v1`, ..., the iteration and the sign.
        columns: Column name by variable.
    """

    rows: SparkRows
    columns: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return (*self.columns.values(), ITERATION, SIGN)


@dataclass(frozen=True, slots=True)
class QueryLeaves:
    """Evaluates delta plans of a stratum at an iteration.

    Attributes:
        runner: Runs the queries.
        state: The committed state.
        terms: Terms of ids.
        delta_rows: The transitions that changed at the iteration.
        overlay: The transitions that changed in this epoch.
        stratum: The stratum.
        stratum_of: SQL for the stratum of a fact of the state.
        iteration: The iteration.
        width: Number of argument columns.
    """

    runner: QueryRunner
    state: CommittedState
    terms: TermLookup
    delta_rows: SparkRows
    overlay: Overlay
    stratum: int
    stratum_of: str
    iteration: int
    width: int

    def delta(self, node: Delta) -> BoundRows:
        """The changed transitions that match, with the opposite sign for a negated atom."""
        pattern = node.pattern
        constants = encode(pattern, self.terms.intern)
        columns = {name: f"v{i}" for i, name in enumerate(places(pattern))}
        sources = {columns[name]: argument(p) for name, p in places(pattern).items()}
        factor = -1 if node.negated else 1
        if (table := self.delta_rows.table) is not None:
            matching = match_table(table, pattern, constants)
            data = {name: matching[column] for name, column in sources.items()}
            data[ITERATION] = repeated(self.iteration, matching.num_rows, pa.int32())
            data[SIGN] = pc.multiply(matching[TRANSITION], factor)
            return BoundRows(self.runner.from_table(pa.table(data)), columns)
        frame = self.delta_rows.frame.filter(matches(pattern, constants)).selectExpr(
            *(f"{column} AS {name}" for name, column in sources.items()),
            f"{self.iteration} AS {ITERATION}",
            f"{TRANSITION} * {factor} AS {SIGN}",
        )
        return BoundRows(self.runner.from_frame(frame), columns)

    def join(self, scan: Scan, left: BoundRows) -> BoundRows:
        """Join bindings with transitions of matching facts: maximum iteration, product of signs."""
        pattern = scan.pattern
        fresh = [name for name in places(pattern) if name not in left.columns]
        columns = {**left.columns}
        columns |= {name: f"v{len(columns) + i}" for i, name in enumerate(fresh)}
        left = self._in_driver(left)
        if left.rows.empty:
            form = schema((*columns.values(), ITERATION, SIGN))
            return BoundRows(self.runner.from_table(form.empty_table()), columns)
        right = self._transitions(scan, left)
        added = {columns[name]: argument(places(pattern)[name]) for name in fresh}
        rows = self.runner.query(
            sql.joined(tuple(left.columns.values()), added, _equal(pattern, left)),
            left_=left.rows,
            right_=right,
        )
        return BoundRows(rows, columns)

    def antijoin(self, scan: Scan, left: BoundRows) -> BoundRows:
        """Antijoin bindings with present facts: each takes back what its absence allows."""
        left = self._in_driver(left)
        if left.rows.empty:
            return left
        right = self._transitions(scan, left)
        rows = self.runner.query(
            sql.antijoin(tuple(left.columns.values()), _equal(scan.pattern, left)),
            left_=left.rows,
            right_=right,
        )
        return BoundRows(rows, left.columns)

    def select(self, condition: Comparison | Test, left: BoundRows) -> BoundRows:
        """The bindings for which a comparison or a test holds."""
        operands = (
            (condition.left, condition.right)
            if isinstance(condition, Comparison)
            else condition.arguments
        )
        verdict = holds(condition)
        left = self._in_driver(left, always=True)
        if left.rows.table is not None:
            table = left.rows.table
            passing = [verdict(*texts) for texts in self._texts(operands, left, table)]
            return replace(
                left, rows=self.runner.from_table(table.filter(pa.array(passing, pa.bool_())))
            )
        frame, names = self._with_texts(operands, left)
        rows = frame.filter(F.udf(verdict, "boolean")(*names)).select(*left.names)
        return replace(left, rows=self.runner.from_frame(rows))

    def extend(self, computation: Computation, left: BoundRows) -> BoundRows:
        """The bindings with a computed value: added as a column, or equal to the one bound."""
        value = value_of(computation.function, self.terms.overflowed)
        columns = {**left.columns}
        target = columns.setdefault(computation.column, f"v{len(columns)}")
        left = self._in_driver(left, always=True)
        if left.rows.table is not None:
            table = left.rows.table
            texts = [value(*terms) for terms in self._texts(computation.arguments, left, table)]
            known = self.terms.intern_all(text for text in texts if text is not None)
            ids = pa.array([known.get(text or "") for text in texts], pa.int64())
            if computation.column in left.columns:
                table = table.filter(pc.fill_null(pc.equal(ids, table[target]), False))  # noqa: FBT003
            else:
                table = table.append_column(target, ids).filter(pc.is_valid(ids))
            return BoundRows(self.runner.from_table(table), columns)
        return self._extend_frame(computation.arguments, value, left, columns, target)

    def project(self, left: BoundRows, head: Pattern) -> SparkRows:
        """The head facts, one iteration later."""
        names = (PREDICATE, *arguments(self.width), ITERATION, MULTIPLICITY)
        sources: list[str | int] = [0] * self.width
        for position, operand in enumerate(head.arguments):
            match operand:
                case Column(name):
                    sources[position] = left.columns[name]
                case Value(term):
                    sources[position] = self.terms.intern(term)
        if (table := left.rows.table) is not None:
            rows = table.num_rows
            later = pc.cast(pc.add(table[ITERATION], 1), pa.int32())
            cells = [
                table[source] if isinstance(source, str) else repeated(source, rows, pa.int64())
                for source in sources
            ]
            names_of = repeated(head.predicate, rows, pa.string())
            data = [names_of, *cells, later, table[SIGN]]
            return self.runner.from_table(pa.table(dict(zip(names, data, strict=True))))
        frame = left.rows.frame.selectExpr(
            f"{sql.quoted(head.predicate)} AS {PREDICATE}",
            *(
                f"CAST({source} AS BIGINT) AS {name}"
                for source, name in zip(sources, arguments(self.width), strict=True)
            ),
            f"{ITERATION} + 1 AS {ITERATION}",
            f"{SIGN} AS {MULTIPLICITY}",
        )
        return self.runner.from_frame(frame)

    def _in_driver(self, left: BoundRows, *, always: bool = False) -> BoundRows:
        """Bindings in the driver if they are few, so that their keys limit what is read."""
        if left.rows.table is not None or self.delta_rows.table is None:
            return left
        if self.state.empty and not always:
            return left
        return replace(left, rows=self.runner.materialize(left.rows))

    def _transitions(self, scan: Scan, left: BoundRows) -> SparkRows:
        """Transitions of matching facts, in the state and in the epoch."""
        pattern = scan.pattern
        constants = encode(pattern, self.terms.intern)
        arity = len(pattern.arguments)
        names = {
            position: left.columns[operand.name]
            for position, operand in enumerate(pattern.arguments)
            if isinstance(operand, Column) and operand.name in left.columns
        }
        table = left.rows.table
        arrangement = Arrangement.of(pattern, left.columns.keys())
        if arrangement is None:
            arrangement = primary(pattern.predicate, arity)
            if table is not None and arity > 0:
                table, names = self._with_constants(table, constants, names)
        committed = self.runner.gather(
            self.state.read(arrangement, table, names), (*fact(self.width), ITERATION, TRANSITION)
        )
        columns = (*arguments(self.width), TRANSITION)
        test = matches(pattern, constants)
        parts = [
            self.runner.query(sql.visible(columns, stratum, self.stratum, test), rows=rows)
            for rows, stratum in ((self.overlay(scan.age), STRATUM), (committed, self.stratum_of))
            if not rows.empty
        ]
        return self.runner.union(parts, [f"{RIGHT}{name}" for name in (*columns, ITERATION)])

    @staticmethod
    def _with_constants(
        table: pa.Table, constants: Sequence[tuple[int, int]], names: Mapping[int, str]
    ) -> tuple[pa.Table, dict[int, str]]:
        """Keys of whole facts: constants are added as columns."""
        names = dict(names)
        for position, value in constants:
            names[position] = f"c{position}"
            column = repeated(value, table.num_rows, pa.int64())
            table = table.append_column(names[position], column)
        return table, names

    def _texts(
        self, operands: Iterable[Operand], left: BoundRows, table: pa.Table
    ) -> Iterable[tuple[str, ...]]:
        """The terms of operands, row by row."""
        columns = []
        for operand in operands:
            match operand:
                case Value(term):
                    columns.append([term] * table.num_rows)
                case Column(name):
                    ids = table[left.columns[name]].to_pylist()
                    known = self.terms.texts(ids)
                    columns.append([known[term_id] for term_id in ids])
        return zip(*columns, strict=True)

    def _with_texts(
        self, operands: Iterable[Operand], left: BoundRows
    ) -> tuple[DataFrame, list[str]]:
        """A frame with columns of the terms of operands, and the names of these columns."""
        frame, names = left.rows.frame, []
        for i, operand in enumerate(operands):
            names.append(f"{_TEXT}{i}")
            match operand:
                case Value(term):
                    frame = frame.withColumn(names[-1], F.lit(term))
                case Column(name):
                    frame = self.terms.attach(frame, left.columns[name], names[-1])
        return frame, names

    def _extend_frame(
        self,
        operands: Iterable[Operand],
        value: Callable[..., str | None],
        left: BoundRows,
        columns: dict[str, str],
        target: str,
    ) -> BoundRows:
        """`extend` for many rows."""
        frame, names = self._with_texts(operands, left)
        computed = self.runner.materialize(
            self.runner.from_frame(
                frame.withColumn(_TEXT, F.udf(value, "string")(*names))
                .filter(F.col(_TEXT).isNotNull())
                .select(*left.names, _TEXT)
            )
        )
        rows = self.terms.identify(computed, _TEXT, _VALUE).frame
        if target in left.columns.values():
            rows = rows.filter(F.col(target) == F.col(_VALUE))
        else:
            rows = rows.withColumnRenamed(_VALUE, target)
        extended = BoundRows(left.rows, columns)
        return replace(extended, rows=self.runner.from_frame(rows.select(*extended.names)))


def _equal(pattern: Pattern, left: BoundRows) -> list[tuple[str, str]]:
    """Pairs of equal columns of bindings and matching facts."""
    return [
        (left.columns[operand.name], argument(p))
        for p, operand in enumerate(pattern.arguments)
        if isinstance(operand, Column) and operand.name in left.columns
    ]


def holds(condition: Comparison | Test) -> Callable[..., bool]:
    """A predicate on canonical terms that tells whether a condition holds."""
    if isinstance(condition, Test):
        function = condition.function
        expected = not condition.negated
        return lambda *terms: builtins.test(function, terms) is expected
    accepts = condition.operator.accepts
    return lambda left, right: accepts(compare(left, right))


def value_of(function: Function, overflowed: Callable[[], object]) -> Callable[..., str | None]:
    """A function of canonical terms that computes a value, and calls *overflowed* on overflow."""
    if function == COPY:
        return lambda term: term
    return lambda *terms: compute(function, terms, overflowed)
