"""A change of program: what removed rules derive goes, what added rules derive comes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from model.state import difference
from strategies import checked
from unit.backends.spark.in_driver import CHANGES, FEW, PROGRAM, Steps, counted

from streamreasoner.backends.spark.epoch.full_evaluation import in_full
from streamreasoner.backends.spark.epoch.settling import regroup, retract
from streamreasoner.backends.spark.queries.columns import ITERATION, MULTIPLICITY, TRANSITION
from streamreasoner.backends.spark.queries.encoded_program import EncodedProgram
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.program_change import program_change

RULES = PROGRAM.strip().splitlines()
OTHERS = (
    "",
    "\n".join(RULES[:1] + RULES[2:]),
    "\n".join(RULES[:5]),
    f"{PROGRAM}q(?x, ?x) :- p(_, ?x) .\nwide(?x, ?y, ?z) :- p(?x, ?y), d(?y, ?z) .",
    PROGRAM.replace("min(", "max("),
)
"""Programs without rules, without recursion, without aggregates, with more, with other lattices."""


@FEW
@given(st.sampled_from(OTHERS), CHANGES)
def test_multiplicities_change_as_those_of_the_model(other, changes):
    """Rules are evaluated on all present facts, and removed reductions take their results along."""
    steps, former, change = _changed(other)
    state = steps.state([(number, at, abs(count)) for number, at, count in changes])
    model = steps.model
    model.state = state.copy()
    for reduction in change.before.reductions:
        model.state.results[reduction] = model._reduced(reduction)  # noqa: SLF001 - see `restore`
    model.migrate(change)
    model.evaluate(change.evaluations)
    differences = steps.differences(state, [])
    derived = in_full(differences, steps.terms, former.stratum_of, change.evaluations)
    found = [row for rows in derived for row in steps.read(rows, ITERATION, MULTIPLICITY)]

    assert counted(found) == difference(model.state.multiplicities, state.multiplicities)

    for reduction in change.reductions:
        model.retract(reduction)
        retract(differences, steps.terms, reduction)
    found += steps.read(differences.multiplicities.everything(), ITERATION, MULTIPLICITY)

    assert counted(found) == difference(model.state.multiplicities, state.multiplicities)


@FEW
@given(st.sampled_from((OTHERS[0], OTHERS[-1])), CHANGES)
def test_the_candidates_of_changed_lattices_are_settled_again(other, changes):
    """The rows of their facts are read once, whatever lattice they were or are of."""
    steps, _, change = _changed(other)
    state = steps.state(changes)
    patterns = [lattice.pattern for lattice in change.lattices]
    differences = steps.differences(state, [])
    regroup(differences, steps.terms, change.lattices)
    names = (ITERATION, MULTIPLICITY, TRANSITION)

    assert sorted(steps.read(differences.known.everything(), *names)) == sorted(
        row
        for row in steps.read(steps.rows_of(state), *names)
        if any(steps.model.program.matches(row[0], pattern) for pattern in patterns)
    )


def _changed(other):
    """The steps of another program with a model of the former one, that one, and the change."""
    steps = Steps()
    former = steps.program
    change = program_change(former.plan, lower(checked(other)))
    steps.program = EncodedProgram.of(change.after, steps.terms.intern)
    return steps, former, change
