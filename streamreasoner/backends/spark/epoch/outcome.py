"""The changes of an epoch, fact by fact. Invariant: the driver has one block of them at a time.

The epoch has loaded the committed rows of every fact it touches. A fact's previous state is the sum
of these rows; its current state adds the differences.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from streamreasoner.backends.spark.epoch import arrow_tables
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    MULTIPLICITY,
    PREDICATE,
    TRANSITION,
)
from streamreasoner.backends.spark.queries.patterns import quoted
from streamreasoner.backends.spark.queries.relation import total
from streamreasoner.engine.blocks import Blocks
from streamreasoner.engine.ports import EpochChanges, Statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.backends.spark.queries.relation import QueryRunner, Relation
    from streamreasoner.engine.updates import Changes, TraceRows
    from streamreasoner.plan.program_plan import ProgramPlan

T = TypeVar("T")
_CLOSURE, _DERIVED = "present", "derived"


_OTHERS = frozenset({"bytes", "overflows", "capacity"})
SIZES = tuple(field.name for field in fields(Statistics) if field.name not in _OTHERS)
"""Statistics computed from the rows of a state, in this order."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The changes of an epoch.

    Attributes:
        plan: The program.
        differences: By fact and iteration, of multiplicities and transitions.
        facts: By fact: its current values less the previous ones.
    """

    plan: ProgramPlan
    differences: Relation
    facts: Relation

    @classmethod
    def of(
        cls,
        runner: QueryRunner,
        plan: ProgramPlan,
        fact: Sequence[str],
        differences: Relation,
        known: Relation,
    ) -> Outcome:
        """Compute the changes of an epoch.

        Args:
            runner: Runs the queries.
            plan: The program.
            fact: Columns that identify a fact.
            differences: By fact and iteration, of multiplicities and transitions.
            known: Committed rows, in the same columns, of these facts and possibly of others.
        """
        if differences.empty:
            return cls(plan, differences, differences)
        place, names = ", ".join((*fact, ITERATION)), ", ".join(fact)
        summed = runner.query(
            f"SELECT {place}, {total('m')}, {total('t')}, {total('dm')}, {total('dt')},"
            f" max(own) AS own FROM (SELECT {place}, {MULTIPLICITY} AS m, {TRANSITION} AS t,"
            f" 0 AS dm, 0 AS dt, 0 AS own FROM known UNION ALL SELECT {place}, 0 AS m, 0 AS t,"
            f" {MULTIPLICITY} AS dm, {TRANSITION} AS dt, 1 AS own FROM differences)"
            f" GROUP BY {place}",
            known=known,
            differences=differences,
        )
        facts = runner.query(
            f"SELECT {names}, {_state('m', 't', 'was_')}, {_state('m + dm', 't + dt', '')},"
            f" max(own) AS own FROM summed GROUP BY {names}",
            summed=summed,
        )
        shown = (
            " AND ".join(f"{PREDICATE} != {quoted(name)}" for name in sorted(plan.hidden)) or "true"
        )
        changed = runner.query(
            f"SELECT {names}, IF({shown}, IF(asserted > 0, 0, present)"
            f" - IF(was_asserted > 0, 0, was_present), 0) AS {_DERIVED},"
            f" IF({shown}, present - was_present, 0) AS {_CLOSURE},"
            " held - was_held AS facts,"
            " CAST(asserted > 0 AS INT) - CAST(was_asserted > 0 AS INT) AS asserted,"
            " CAST(total < 0 AS INT) - CAST(was_total < 0 AS INT) AS below_zero,"
            " trace_rows - was_trace_rows AS trace_rows FROM facts WHERE own = 1",
            facts=facts,
        )
        return cls(plan, differences, runner.materialize(changed))

    def changes(self) -> EpochChanges:
        """The changes, in the form of the port."""
        return EpochChanges(
            _blocks(self.facts, lambda: self._changes(_DERIVED)),
            _blocks(self.facts, lambda: self._changes(_CLOSURE)),
            _blocks(self.differences, self._trace),
        )

    def sizes(self) -> NDArray[np.int64]:
        """By how much the state has grown, in the order of `SIZES`."""
        if self.facts.empty:
            return np.zeros(len(SIZES), np.int64)
        if self.facts.table is not None:
            return np.array([pc.sum(self.facts.table[name]).as_py() for name in SIZES])
        return np.array(self.facts.frame.agg(*map(F.sum, SIZES)).first())

    def _changes(self, sign: str) -> Iterator[Changes]:
        for block in self.facts.blocks():
            yield from arrow_tables.changes(block, sign, self.plan.arities)

    def _trace(self) -> Iterator[TraceRows]:
        for block in self.differences.blocks():
            yield from arrow_tables.traces(block, self.plan.arities)


def _state(multiplicity: str, transition: str, prefix: str) -> str:
    """SQL for the state of a fact, from multiplicities and transitions by iteration."""
    sums = {
        "asserted": f"IF({ITERATION} = 0, {multiplicity}, 0)",
        "present": transition,
        "total": multiplicity,
        "trace_rows": f"CAST({multiplicity} != 0 AS INT)",
    }
    totals = [total(expression, f"{prefix}{name}") for name, expression in sums.items()]
    held = f"max(CAST({multiplicity} != 0 OR {transition} != 0 AS INT)) AS {prefix}held"
    return ", ".join((*totals, held))


def _blocks(relation: Relation, make: Callable[[], Iterator[T]]) -> Iterable[T]:
    """A tuple if rows are few; if many, an iterable that makes one block at a time."""
    if relation.empty:
        return ()
    return Blocks(make) if relation.table is None else tuple(make())
