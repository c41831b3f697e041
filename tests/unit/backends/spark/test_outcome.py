"""The outcome of an epoch: how the state after it differs from the state before."""

from __future__ import annotations

from hypothesis import given
from model.state import difference
from unit.backends.spark.in_driver import CHANGES, FEW, Steps, counted

from streamreasoner.backends.spark.epoch.outcome import SIZES, Outcome

STEPS = Steps()


@FEW
@given(CHANGES, CHANGES)
def test_an_outcome_is_how_two_states_differ(committed, changes):
    """Derived facts are present and not asserted; trace and sizes have hidden predicates too."""
    before = STEPS.state(committed)
    after = STEPS.changed(before, changes)
    after.settle_all(STEPS.model.program)
    found = outcome(before, changes)
    blocks = found.changes()

    assert _signed(blocks.closure) == _gained(before.present, after.present)
    assert _signed(blocks.derived) == _gained(
        before.present - before.asserted, after.present - after.asserted
    )
    assert counted(row for block in blocks.trace for row in _rows(block, "iteration")) == (
        difference(after.multiplicities, before.multiplicities)
    )
    assert found.sizes().tolist() == [
        getattr(_statistics(after), name) - getattr(_statistics(before), name) for name in SIZES
    ]


def test_an_epoch_without_changes_has_no_blocks():
    """Nothing is computed of what is in the state."""
    found = outcome(STEPS.state([(0, 0, 1)]), [])
    blocks = found.changes()

    assert [*blocks.derived, *blocks.closure, *blocks.trace] == []
    assert found.sizes().tolist() == [0] * len(SIZES)


def outcome(state, changes):
    """The outcome of an epoch that adds multiplicities to a state."""
    differences = STEPS.differences(state, changes)
    list(STEPS.settled(differences))
    return Outcome.of(
        STEPS.runner, STEPS.program, differences.everything(), differences.known.everything()
    )


def _gained(before, after):
    hidden = STEPS.program.plan.hidden
    return {fact: 1 if fact in after else -1 for fact in before ^ after if fact[0] not in hidden}


def _signed(blocks):
    rows = [row for block in blocks for row in _rows(block)]
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def _rows(block, *columns):
    values = [getattr(block, name).tolist() for name in (*columns, "multiplicity")]
    for args, *rest in zip(block.args.tolist(), *values, strict=True):
        yield (block.predicate, tuple(args)), *rest


def _statistics(state):
    STEPS.model.state = state
    return STEPS.model.statistics()
