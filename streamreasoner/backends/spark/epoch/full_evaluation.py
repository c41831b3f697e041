"""Rules evaluated on all facts. Invariant: the rows are the same whichever atom drives a rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from streamreasoner.backends.spark.epoch.leaves import BoundRows, QueryLeaves
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    SIGN,
    STRATUM,
    TRANSITION,
    schema,
)
from streamreasoner.backends.spark.queries.patterns import places
from streamreasoner.engine.evaluate import evaluate
from streamreasoner.plan.algebra import Age, Scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamreasoner.backends.spark.epoch.differences import Differences
    from streamreasoner.backends.spark.epoch.term_lookup import TermLookup
    from streamreasoner.backends.spark.queries.spark_rows import SparkRows
    from streamreasoner.plan.algebra import Delta
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_change import FullEvaluation


@dataclass(frozen=True, slots=True)
class FullLeaves(QueryLeaves):
    """Evaluates plans on all facts, not only on changed ones.

    Attributes:
        sign: 1 or -1, the multiplicity of each derivation.
    """

    sign: int

    def facts(self, pattern: Pattern) -> BoundRows:
        """All transitions of the facts that match."""
        once = pa.table([[0], [self.sign]], schema=schema((ITERATION, SIGN)))
        nothing = BoundRows(self.runner.from_table(once), {})
        facts = self.join(Scan(pattern, Age.NEW), nothing)
        return replace(facts, rows=self.runner.collect_if_small(facts.rows))

    def delta(self, node: Delta) -> BoundRows:
        """All facts of the atom, which `delta_rows` holds."""
        return BoundRows(
            self.delta_rows, {name: f"v{i}" for i, name in enumerate(places(node.pattern))}
        )


def in_full(
    differences: Differences, terms: TermLookup, former: str, rules: Iterable[FullEvaluation]
) -> Iterator[SparkRows]:
    """What rules derive from all facts, each driven by its atom with the fewest facts.

    Args:
        differences: Those of the epoch.
        terms: Terms of ids.
        former: SQL for the stratum of a fact in the former program, which withdrawn rules read.
        rules: The rules.
    """
    runner, program = differences.runner, differences.program
    none = runner.from_table(schema((*program.fact, STRATUM, ITERATION, TRANSITION)).empty_table())
    facts: dict[tuple[int, int, Pattern], BoundRows] = {}
    for each in rules:
        leaves = FullLeaves(
            runner=runner,
            state=differences.state,
            terms=terms,
            delta_rows=none,
            overlay=lambda _age: none,
            stratum=each.stratum,
            stratum_of=program.stratum_of if each.sign > 0 else former,
            iteration=0,
            width=program.width,
            sign=each.sign,
        )
        drivers = []
        for plan in each.rule.plans:
            if plan.delta.negated:
                continue
            place = each.sign, each.stratum, plan.delta.pattern
            if place not in facts:
                facts[place] = leaves.facts(plan.delta.pattern)
            drivers.append((facts[place].rows, plan))
        rows, plan = min(drivers, key=_size)
        yield evaluate(plan, replace(leaves, delta_rows=rows))


def _size(driver: tuple[SparkRows, object]) -> float:
    table = driver[0].table
    return float("inf") if table is None else table.num_rows
