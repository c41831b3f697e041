"""The classes of hierarchies whose copies are stored: those that rules read, as the facts tell.

Invariant: at the end of an epoch these are the wanted ones. As soon as one is not held, rules may
have read too few copies, so the epoch is evaluated again with more of them. Others are dropped at
the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.analysis.hierarchies.hierarchy import EXCESS, LACK
from streamreasoner.engine.inheritance.edges import Steps, View, edges
from streamreasoner.engine.inheritance.rows import among, sought
from streamreasoner.engine.inheritance.sets import distinct
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import CircularNegationError, NewTermsError, RecursionLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.analysis.hierarchies.hierarchy import Hierarchy
    from streamreasoner.engine.ports import Backend
    from streamreasoner.errors import EngineError
    from streamreasoner.plan.program_plan import ProgramPlan, RulePlan

_MISLED = (RecursionLimitError, NewTermsError, CircularNegationError)
"""How a stratum may fail that has read too few copies."""


class Holding:
    """What a program should hold, as far as an epoch is evaluated.

    Attributes:
        program: The plan of the program.

    Args:
        program: The same.
        backend: Holds the trace.
        intern: Gives the id of a term.
    """

    def __init__(
        self, program: ProgramPlan, backend: Backend, intern: Callable[[str], int]
    ) -> None:
        self.program, self._backend, self._intern = program, backend, intern
        self._hierarchies = {_compared_in(each, program): each for each in program.hierarchies}
        self._touched: set[int] = set()
        self._settled = -1
        self._lacking: Hierarchy | None = None

    def of(self, program: ProgramPlan) -> Holding:
        """That of a program, this one if it is the same."""
        same = self.program is program
        return self if same else Holding(program, self._backend, self._intern)

    def lacks(self, stratum: int, touched: int) -> bool:
        """Whether a stratum, which has been settled, tells that a wanted class is not held.

        Args:
            stratum: Its number.
            touched: How many of its iterations the epoch has touched. If none, it tells what it
                told at the end of the epoch before: that what is wanted is held.
        """
        self._settled, self._lacking = stratum, None
        if touched and stratum in self._hierarchies:
            self._touched.add(stratum)
            each = self._hierarchies[stratum]
            self._lacking = each if self._differs(each, LACK) else None
        return self._lacking is not None

    def after(self, evaluate: Callable[[], int]) -> tuple[int, list[Updates]]:
        """Evaluate an epoch, as far as `lacks` lets it go on.

        Returns:
            The number of iterations, and what to change for the epoch to begin again with; nothing
            if it is done.

        Raises:
            EngineError: The epoch fails, whatever is held.
        """
        self._touched.clear()
        try:
            iterations = evaluate()
        except _MISLED as error:
            held = self._doubted(error)
            if not held:
                raise
            return 0, held
        return iterations, self._changes()

    def _changes(self) -> list[Updates]:
        if self._lacking is not None:
            return [self._changed(self._lacking, 1)]
        told = (self._hierarchies[stratum] for stratum in sorted(self._touched))
        return [self._changed(each, -1) for each in told if self._differs(each, EXCESS)]

    def _doubted(self, error: EngineError) -> list[Updates]:
        """What to hold besides, if the next stratum has failed and may have read too few copies.

        It has all copies then that it may read, as if they were all stored. Where rules of one
        stratum copy and read, and none of them negates what they copy, more copies do not help.

        Args:
            error: How it has failed.
        """
        failed = self._settled + 1
        found = []
        for told, each in self._hierarchies.items():
            own = copied_in(each, self.program)
            guarded = self.program.strata[own - 1].guarded is not None
            misled = guarded and not isinstance(error, CircularNegationError)
            if own < failed < told or (own == failed and misled):
                steps = [Steps.of(edge, (), self._intern) for edge in each.edges]
                above = edges(steps, View(self._backend.trace)).above
                held = self._backend.present(each.held, {})
                found.append(changed(each, distinct(above)[:, None], held, 1))
        return [each for each in found if len(each.args)]

    def _differs(self, hierarchy: Hierarchy, term: str) -> bool:
        found = self._backend.select(hierarchy.differ, {0: self._intern(term)})
        return bool((found.since >= 0).any())

    def _changed(self, hierarchy: Hierarchy, sign: int) -> Updates:
        wanted, held = (self._backend.facts(name) for name in (hierarchy.wanted, hierarchy.held))
        return changed(hierarchy, wanted, held, sign)


def copied_in(hierarchy: Hierarchy, program: ProgramPlan) -> int:
    """The number of the stratum that the copies of a hierarchy belong to."""
    return _number(program, lambda rule: rule.source in hierarchy.rules and not rule.added)


def _compared_in(hierarchy: Hierarchy, program: ProgramPlan) -> int:
    """The number of the stratum that tells whether what is wanted is held."""
    return _number(program, lambda rule: rule.tree.head.predicate == hierarchy.differ)


def _number(program: ProgramPlan, is_one: Callable[[RulePlan], bool]) -> int:
    """The number of the stratum that has certain rules."""
    return next(
        number
        for number, stratum in enumerate(program.strata, start=1)
        if any(map(is_one, stratum.rules))
    )


def to_release(
    before: Sequence[Hierarchy], after: Sequence[Hierarchy], backend: Backend
) -> Iterator[Updates]:
    """What hierarchies hold that another program does not have, before its first epoch."""
    kept = {each.held for each in after}
    for each in before:
        if each.held not in kept:
            held = backend.facts(each.held)
            yield Updates(each.held, held, np.full(len(held), -1, np.int64))


def held_among(view: View, held: str, classes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Those of some classes that are held.

    Args:
        view: Reads what is stored.
        held: The predicate of the classes that are.
        classes: The classes, distinct.
    """
    if not len(classes):
        return classes
    rows = view(held, {0: sought(classes)})
    return distinct(rows.args[rows.multiplicity > 0, 0])


def changed(
    hierarchy: Hierarchy, wanted: NDArray[np.int32], held: NDArray[np.int32], sign: int
) -> Updates:
    """What is wanted and not held, to be held; with a negative sign, the opposite."""
    one, other = (wanted, held) if sign > 0 else (held, wanted)
    found = one[~among(one, other)]
    return Updates(hierarchy.held, found, np.full(len(found), sign, np.int64))
