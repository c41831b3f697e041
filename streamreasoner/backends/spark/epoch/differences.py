"""The differences that an epoch makes. Invariant: the state committed before it is only read.

There are two logs of differences: of multiplicities, and of the transitions that follow from them,
both by fact and iteration. A third log has the committed rows of the facts that the epoch touches,
and of their groups in lattices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamreasoner.backends.spark.epoch import groups
from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    LATTICE,
    MULTIPLICITY,
    PLAIN,
    PREDICATE,
    STRATUM,
    TRANSITION,
    argument,
)
from streamreasoner.backends.spark.queries.spark_rows import DifferenceLog
from streamreasoner.backends.spark.tables.places import primary
from streamreasoner.engine.ports import LAST_ITERATION
from streamreasoner.errors import MultiplicityOverflowError
from streamreasoner.plan.algebra import Age

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.backends.spark.queries.encoded_program import EncodedProgram
    from streamreasoner.backends.spark.queries.spark_rows import QueryRunner, SparkRows
    from streamreasoner.backends.spark.tables.committed import CommittedState
    from streamreasoner.plan.algebra import Arrangement

ALL_ITERATIONS = range(LAST_ITERATION)


@dataclass(slots=True)
class Differences:
    """The differences of one epoch.

    Attributes:
        runner: Runs the queries.
        state: The committed state.
        program: The program of the epoch.
        multiplicities: Their differences.
        transitions: Their differences.
        known: Committed rows.
    """

    runner: QueryRunner
    state: CommittedState
    program: EncodedProgram
    multiplicities: DifferenceLog = field(init=False)
    transitions: DifferenceLog = field(init=False)
    known: DifferenceLog = field(init=False)

    def __post_init__(self) -> None:
        place = (*self.program.fact, STRATUM, LATTICE, ITERATION)
        self.multiplicities = DifferenceLog(self.runner, (*place, MULTIPLICITY))
        self.transitions = DifferenceLog(self.runner, (*place, TRANSITION))
        self.known = DifferenceLog(self.runner, (*place, MULTIPLICITY, TRANSITION))

    @property
    def logs(self) -> dict[str, DifferenceLog]:
        """The logs by their names in notes of progress."""
        return {
            "counts": self.multiplicities,
            "transitions": self.transitions,
            "known": self.known,
        }

    def add(self, rows: SparkRows) -> None:
        """Sum differences of multiplicities by fact and iteration, and log them.

        Raises:
            MultiplicityOverflowError: A sum leaves the range of a multiplicity.
        """
        if rows.empty:
            return
        program = self.program
        place = (*program.fact, ITERATION)
        summed = self.runner.materialize(
            self.runner.query(
                sql.multiplicities(place, program.stratum_of, program.lattice_of), rows=rows
            )
        )
        check_overflow(summed)
        self.multiplicities.add(summed)

    def remember(self, rows: SparkRows) -> None:
        """Log committed rows of facts and groups."""
        if rows.empty:
            return
        place = (*self.program.fact, LATTICE, ITERATION)
        known = self.runner.query(
            sql.consolidated_in_strata(place, self.program.stratum_of), rows=rows
        )
        self.known.add(self.runner.materialize(known))

    def load(self, touched: SparkRows) -> None:
        """Log the committed rows of touched facts, or of their groups, unless they are already."""
        if self.state.empty or touched.empty:
            return
        parts: list[SparkRows] = []
        known = self.known.everything()
        kinds = touched.distinct((PREDICATE, LATTICE)).table
        present = None if kinds is None else set(zip(*kinds.to_pydict().values(), strict=True))
        for arrangement, lattice in self._groupings():
            if present is not None and (arrangement.predicate, lattice) not in present:
                continue
            positions = arrangement.key if lattice != PLAIN else range(self.program.width)
            names = {position: argument(position) for position in positions}
            on = (PREDICATE, *names.values())
            of = {PREDICATE: arrangement.predicate, LATTICE: lattice}
            fresh = touched.where(**of).distinct(on)
            read = known.where(**of).distinct(on)
            if not fresh.empty and not read.empty:
                fresh = self.runner.query(sql.antijoined(on), rows=fresh, keys=read)
            if fresh.empty:
                continue
            for part in self.state.read(arrangement, fresh.table, names):
                # Given few keys, Spark reads rows with these keys only.
                exact = part.table is None and fresh.table is not None
                if not exact:
                    part = self.runner.query(sql.semijoined(on), rows=part, keys=fresh)  # noqa: PLW2901 - its rows
                parts.append(self.runner.query(sql.extended(str(lattice), LATTICE), rows=part))
        columns = (*self.program.fact, LATTICE, ITERATION, MULTIPLICITY, TRANSITION)
        self.remember(self.runner.gather(parts, columns))

    def visible(self, age: Age, stratum: int, iteration: int) -> SparkRows:
        """The changed transitions that a join at an iteration reads, in the old or new state."""
        upto = iteration + (age is Age.NEW)
        parts = [self.transitions.select(range(stratum, stratum + 1), range(upto))]
        if upto > 0:
            parts.append(self.transitions.select(range(stratum), ALL_ITERATIONS))
        return self.runner.union(parts, (*self.program.fact, STRATUM, ITERATION, TRANSITION))

    def next_touched(self, stratum: int, iteration: int) -> int:
        """The next iteration of a stratum with touched facts, or -1."""
        logs = (self.multiplicities, self.known)
        later = [log.following(stratum, iteration) for log in logs]
        return min((found for found in later if found >= 0), default=-1)

    def everything(self) -> SparkRows:
        """All differences, by fact and iteration."""
        both = self.runner.query(
            sql.both((*self.program.fact, ITERATION)),
            multiplicities=self.multiplicities.everything(),
            transitions=self.transitions.everything(),
        )
        return self.runner.materialize(both)

    def _groupings(self) -> Iterator[tuple[Arrangement, int]]:
        """Arrangements to look up facts in, or groups of lattices, with the lattice's number."""
        plan = self.program.plan
        for predicate, arity in plan.arities.items():
            yield primary(predicate, arity), PLAIN
        for number, lattice in enumerate(plan.lattices):
            yield groups.group_of_lattice(lattice), number


def check_overflow(rows: SparkRows) -> None:
    """Refuse rows of which one has overflowed.

    Raises:
        MultiplicityOverflowError: There is such a row.
    """
    if rows.overflowed:
        raise MultiplicityOverflowError
