"""Transitions and aggregates that change. Invariant: they follow from the multiplicities alone.

Iterations are settled once each, in ascending order: multiplicities up to a settled iteration are
final.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.spark.epoch import groups
from streamreasoner.backends.spark.epoch.differences import ALL_ITERATIONS, check_overflow
from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    LATTICE,
    MULTIPLICITY,
    TRANSITION,
    argument,
    arguments,
)
from streamreasoner.backends.spark.queries.patterns import encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.backends.spark.epoch.differences import Differences
    from streamreasoner.backends.spark.epoch.term_lookup import TermLookup
    from streamreasoner.backends.spark.queries.spark_rows import SparkRows
    from streamreasoner.plan.program_plan import Lattice, Reduction


def settled(
    differences: Differences, terms: TermLookup, stratum: int, iteration: int
) -> SparkRows | None:
    """Log the transitions that change at an iteration, and return them; None if nothing is touched.

    Raises:
        MultiplicityOverflowError: A sum leaves the range of a multiplicity.
    """
    runner, program = differences.runner, differences.program
    own = range(stratum, stratum + 1)
    now, upto = range(iteration, iteration + 1), range(iteration + 1)
    touched = differences.multiplicities.select(own, now)
    differences.load(touched)
    place = (*program.fact, LATTICE)
    affected = runner.union((touched, differences.known.select(own, now)), place).distinct(place)
    if affected.empty:
        return None
    multiplicities = differences.multiplicities.select(own, upto)
    multiplicities = _restricted(differences, affected, multiplicities)
    known = differences.known.select(own, upto)
    rows = runner.query(sql.until(place, iteration), multiplicities=multiplicities, known=known)
    changed = [runner.query(sql.appearing(place), rows=rows)]
    for number, lattice in enumerate(program.plan.lattices):
        if any(not log.where(lattice=number).empty for log in (multiplicities, known)):
            candidates = runner.materialize(rows.where(lattice=number))
            changed.append(groups.winning(runner, terms, lattice, candidates, program.fact))
    transitions = runner.materialize(
        runner.query(
            sql.transitions(place, stratum, iteration),
            changed=runner.union(changed, (*place, "upto", "before", TRANSITION)),
        )
    )
    check_overflow(transitions)
    differences.transitions.add(transitions)
    return transitions


def _restricted(
    differences: Differences, affected: SparkRows, multiplicities: SparkRows
) -> SparkRows:
    """Drop multiplicities of facts an iteration cannot change; lattice groups stay whole."""
    if affected.table is None or multiplicities.table is not None:
        return multiplicities
    place = (*differences.program.fact, LATTICE)
    return differences.runner.query(
        sql.restricted(differences.multiplicities.names, place),
        multiplicities=multiplicities,
        affected=affected,
    )


def reduce(differences: Differences, terms: TermLookup, stratum: int, reduction: Reduction) -> None:
    """Log the head facts of a reduction that appear or disappear."""
    runner = differences.runner
    changed = differences.multiplicities.select(range(stratum), ALL_ITERATIONS).where(
        predicate=reduction.candidates
    )
    if changed.empty:
        return
    key = {position: argument(position) for position in reduction.key}
    touched = changed.distinct(tuple(key.values())) if key else changed
    width = differences.program.width
    parts = differences.state.read(groups.group_of_reduction(reduction), touched.table, key)
    members = runner.gather(parts, (*arguments(width), MULTIPLICITY))
    if key:
        members = runner.query(sql.semijoined(tuple(key.values())), rows=members, keys=touched)
    candidates = runner.query(sql.candidates(arguments(width)), changed=changed, members=members)
    candidates = runner.materialize(candidates)
    differences.add(groups.results(runner, terms, reduction, candidates, width))


def retract(differences: Differences, terms: TermLookup, reduction: Reduction) -> None:
    """Log that the head facts of a reduction disappear, whose candidates may be of any number."""
    runner, width = differences.runner, differences.program.width
    cells = arguments(width)
    parts = differences.state.read(groups.group_of_reduction(reduction), None, {})
    rows = runner.union(parts, (*cells, MULTIPLICITY))
    candidates = runner.materialize(runner.query(sql.candidates_of_none(cells), rows=rows))
    differences.add(groups.results(runner, terms, reduction, candidates, width))


def regroup(differences: Differences, terms: TermLookup, lattices: Iterable[Lattice]) -> None:
    """Log the committed rows of the facts of lattices: their transitions may change."""
    runner, program = differences.runner, differences.program
    parts, seen = [], ["false"]
    for lattice in lattices:
        parts += [
            runner.query(sql.filtered(f"NOT ({' OR '.join(seen)})"), rows=rows)
            for rows in differences.state.read(groups.group_of_lattice(lattice), None, {})
        ]
        constants = encode(lattice.pattern, terms.intern)
        seen.append(sql.condition(lattice.pattern.predicate, constants))
    rows = runner.union(parts, (*program.fact, ITERATION, MULTIPLICITY, TRANSITION))
    differences.remember(runner.query(sql.extended(program.lattice_of, LATTICE), rows=rows))
