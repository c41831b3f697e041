"""What a load is expected to take, and how that is explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamreasoner.engine.cost_model import LEAST, CostModel, explained
from streamreasoner.engine.ports import UNLIMITED

LARGE = CostModel(asserted=1_000, derivations=1_000_000, per_derivation=10.0, is_guess=False)
SMALL = CostModel(asserted=10, derivations=20, per_derivation=8.0)


@pytest.mark.parametrize(
    ("model", "gained", "budget"),
    [
        pytest.param(LARGE, 0, 20_000_000, id="two loads"),
        pytest.param(LARGE, -699, 20_000_000, id="two loads of what was there"),
        pytest.param(LARGE, -700, 0, id="nothing where most is lost"),
        pytest.param(LARGE, 500, 45_000_000, id="more where facts are gained"),
        pytest.param(LARGE, 1_000, UNLIMITED, id="any where most is new"),
        pytest.param(SMALL, 0, LEAST, id="at least some milliseconds"),
        pytest.param(SMALL, -10, LEAST, id="also where all is lost"),
        pytest.param(CostModel(0, 9, 8.0), -1, UNLIMITED, id="any where all is below zero"),
    ],
)
def test_the_budget_follows_what_is_gained(model, gained, budget):
    """Two loads, squared by growth; all or nothing at the ends."""
    assert model.budget(gained) == budget


def test_what_is_said_is_what_decides():
    """The bounds that are printed are those at which the budget changes."""
    *_, none, some, half, lost, gained = explained(LARGE)

    assert none == f"budget if 0 facts more are asserted: {LARGE.budget(0):,}"
    assert some == f"budget if 100 facts more are asserted: {LARGE.budget(100):,}"
    assert half == f"budget if 500 facts more are asserted: {LARGE.budget(500):,}"
    assert lost == "anew at once: if 700 facts fewer are asserted"
    assert gained == "never anew: if 1,000 facts more are asserted"
    assert not any("anew at once: if" in line for line in explained(SMALL))
    assert [*explained(None)] == [*explained(CostModel(0, 0, 8.0))] == [*explained(SMALL)][:5]


def test_the_documentation_shows_what_is_printed():
    """The numbers in docs/plans.md are those of Andersen's analysis."""
    model = CostModel(2_001, 7_367_857, 54_749_025 / 7_367_857, is_guess=False)
    text = (Path(__file__).parents[3] / "docs/plans.md").read_text("utf-8")

    assert "\n".join(("```transcript", "== evaluating anew ==", *explained(model), "```")) in text
