"""What is expected of epochs: how much work one is worth, and whether hierarchies are encoded.

Invariant: what is explained is computed by what decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.engine.ports import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterator

LOADS = 2.0
"""The budget, in expected loads: to evaluate anew takes more than one, as states are compared."""
LEAST = 1 << 18
"""Work of some milliseconds, which is never given up."""
LEFT = 0.3
"""If at most this part of the input is left, nothing is differentiated: most would be withdrawn."""
FIRST_GUESS = 8.0
"""Work for each derivation of a load, until one has been seen."""
ENOUGH = 1 << 16
"""Updates from which an epoch decides whether hierarchies are encoded."""
PART = 1 / 2
"""Hierarchies are encoded if at least this part of the facts would not be stored."""


@dataclass(frozen=True, slots=True)
class CostModel:
    """What the state before an epoch tells of a load.

    Attributes:
        asserted: Facts that are asserted.
        derivations: How often facts are derived: the sum of their multiplicities.
        per_derivation: Work for each of them in a load, in the unit of the backend.
        is_guess: Whether no load has been seen.
    """

    asserted: int
    derivations: int
    per_derivation: float
    is_guess: bool = True

    @property
    def load(self) -> float:
        """Expected work of a load of all that is asserted."""
        return self.per_derivation * self.derivations

    def budget(self, gained: int) -> int:
        """The work after which to give up an epoch; 0 if it is not worth trying.

        Args:
            gained: How many more facts are asserted after it.
        """
        if gained >= self.asserted or not self.asserted:
            return UNLIMITED
        if self.load > LEAST and self.asserted + gained <= LEFT * self.asserted:
            return 0
        growth = (1 + max(gained, 0) / self.asserted) ** 2
        return int(min(max(LEAST, LOADS * growth * self.load), UNLIMITED))


def explained(model: CostModel | None) -> Iterator[str]:
    """When epochs are evaluated anew, as lines with all numbers that decide it.

    Args:
        model: That of a state; None if there is none, or if nothing is evaluated anew in it.
    """
    yield f"budget = {LOADS:g} · (asserted after / before)² · load, at least {LEAST:,}"
    yield "load = derivations · work of a derivation in a load, and as much more as there are facts"
    yield "sooner: a forecast, in strata whose rules join what they derive with each other"
    yield f"anew at once: at most {LEFT:g} of what is asserted is left, and load > {LEAST:,}"
    yield "never anew: what is asserted doubles, or the program changes"
    if model is None or not model.asserted:
        return
    source = "guessed, as no load was seen" if model.is_guess else "as in the last load"
    yield f"asserted {model.asserted:,}, derivations {model.derivations:,}"
    yield f"work of a derivation {model.per_derivation:.1f}, {source}: load {model.load:,.0f}"
    for part in (0, 10, 50):
        gained = model.asserted * part // 100
        yield f"budget if {gained:,} facts more are asserted: {model.budget(gained):,}"
    lost = model.asserted - int(LEFT * model.asserted)
    if model.budget(-lost) == 0:
        yield f"anew at once: if {lost:,} facts fewer are asserted"
    yield f"never anew: if {model.asserted:,} facts more are asserted"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a state would have by the input of an epoch.

    Attributes:
        facts: Its facts, inherited ones included; what other rules derive is not counted.
        left_out: Those of them that would not be stored.
    """

    facts: int
    left_out: int

    @property
    def pays(self) -> bool:
        """Whether hierarchies are worth encoding."""
        return self.left_out >= PART * self.facts


def explained_encoding(estimate: Estimate | None) -> Iterator[str]:
    """When hierarchies are encoded by themselves, as lines with all numbers that decide it.

    Args:
        estimate: What a load told; None if there was none, or if it was too small to decide.
    """
    yield (
        f"auto: encoded by an epoch of at least {ENOUGH:,} updates that doubles what is asserted, "
        f"if {PART:g} of the facts would not be stored"
    )
    if estimate is not None:
        decided = "encoded" if estimate.pays else "stored"
        yield f"of {estimate.facts:,} facts {estimate.left_out:,} would not be stored: {decided}"
