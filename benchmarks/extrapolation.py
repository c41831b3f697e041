"""Extrapolate to larger sizes. Invariant: the only assumption is that slopes are constant.

A cost is assumed to be linear in the number of facts, fitted to the measured sizes; a falling line
is replaced by a constant. The number of facts that reaches a limit follows from ratios that do not
depend on the size: bytes, terms and rows of the largest partition for each fact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BILLION = 1_000_000_000
TARGETS = (BILLION, 10 * BILLION)


@dataclass(frozen=True, slots=True)
class Line:
    """A cost by number of facts.

    Attributes:
        base: For no facts.
        slope: For each fact.
    """

    base: float
    slope: float

    def at(self, facts: float) -> float:
        """The cost at a number of facts."""
        return self.base + self.slope * facts


@dataclass(frozen=True, slots=True)
class Limit:
    """A limited resource.

    Attributes:
        name: The resource.
        share: The use of one fact.
        most: The amount available.
    """

    name: str
    share: float
    most: float

    @property
    def facts(self) -> float:
        """The number of facts at which the limit is reached."""
        return self.most / self.share if self.share > 0 else float("inf")


def fit(points: Sequence[tuple[float, float]]) -> Line:
    """The line through (facts, cost), constant if it would fall or has one point only."""
    facts, costs = (np.array(column, float) for column in zip(*points, strict=True))
    if len(set(facts.tolist())) > 1:
        slope, base = np.polyfit(facts, costs, 1)
        if slope > 0:
            return Line(float(base), float(slope))
    return Line(float(costs[np.argmax(facts)]), 0.0)


def first_to_break(limits: Iterable[Limit]) -> list[Limit]:
    """The limits in the order in which a growing state reaches them."""
    return sorted(limits, key=lambda limit: limit.facts)
