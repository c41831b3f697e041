"""What an epoch has changed, fact by fact. Invariant: the driver has one block of it at a time.

The epoch knows everything that the state says of the facts it touches, so that what a fact was and
what it is now follow from the two: differences, and what was known before them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamreasoner.backends.spark import rows
from streamreasoner.backends.spark.columns import ITERATION, MULTIPLICITY, PREDICATE, TRANSITION
from streamreasoner.backends.spark.patterns import quoted
from streamreasoner.backends.spark.relation import total
from streamreasoner.collection.blocks import Blocks
from streamreasoner.engine.ports import EpochChanges, Statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.backends.spark.relation import QueryRunner, Relation
    from streamreasoner.collection.updates import Changes, TraceRows
    from streamreasoner.plan.algebra import ProgramPlan

T = TypeVar("T")
_CLOSURE, _DERIVED = "present", "derived"


_OTHERS = frozenset({"bytes", "overflows", "fill"})
SIZES = tuple(field.name for field in fields(Statistics) if field.name not in _OTHERS)
"""What the rows of a state say of its size, in this order."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The changes of an epoch.

    Attributes:
        plan: The program.
        differences: By fact and iteration, of multiplicities and transitions.
        facts: By fact: what it is now, less what it was.
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
        """What the facts of an epoch come to.

        Args:
            runner: Runs the queries.
            plan: The program.
            fact: Columns that tell facts apart.
            differences: By fact and iteration, of multiplicities and transitions.
            known: The same columns as the state has them, of those facts and maybe of others.
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
            " AND ".join(f"{PREDICATE} != {quoted(one)}" for one in sorted(plan.hidden)) or "true"
        )
        found = runner.query(
            f"SELECT {names}, IF({shown}, IF(asserted > 0, 0, present)"
            f" - IF(was_asserted > 0, 0, was_present), 0) AS {_DERIVED},"
            f" IF({shown}, present - was_present, 0) AS {_CLOSURE},"
            " held - was_held AS facts,"
            " CAST(asserted > 0 AS INT) - CAST(was_asserted > 0 AS INT) AS asserted,"
            " CAST(total < 0 AS INT) - CAST(was_total < 0 AS INT) AS below_zero,"
            " counts - was_counts AS counts FROM facts WHERE own = 1",
            facts=facts,
        )
        return cls(plan, differences, runner.materialize(found))

    def changes(self) -> EpochChanges:
        """The changes as the port has them."""
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
            yield from rows.changes(block, sign, self.plan.arities)

    def _trace(self) -> Iterator[TraceRows]:
        for block in self.differences.blocks():
            yield from rows.traces(block, self.plan.arities)


def _state(multiplicity: str, transition: str, prefix: str) -> str:
    """SQL for what a fact is, from multiplicities and transitions by iteration."""
    sums = {
        "asserted": f"IF({ITERATION} = 0, {multiplicity}, 0)",
        "present": transition,
        "total": multiplicity,
        "counts": f"CAST({multiplicity} != 0 AS INT)",
    }
    found = [total(expression, f"{prefix}{name}") for name, expression in sums.items()]
    held = f"max(CAST({multiplicity} != 0 OR {transition} != 0 AS INT)) AS {prefix}held"
    return ", ".join((*found, held))


def _blocks(relation: Relation, make: Callable[[], Iterator[T]]) -> Iterable[T]:
    """What few rows come to at once; what many do, on the way."""
    if relation.empty:
        return ()
    return Blocks(make) if relation.table is None else tuple(make())
