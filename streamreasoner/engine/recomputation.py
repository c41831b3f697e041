"""When an epoch is evaluated anew. Invariant: this decides what an epoch costs, never its result.

Differentiating an epoch takes time for what changes, which may be more than a load of all that is
then there takes: with non-linear recursion a twentieth of the input can change everything. How far
a change spreads is known only afterwards. So rules have a budget: the work that two loads are
expected to take. If it is spent, what has been derived is given up, and the program is evaluated
anew on what is asserted. An epoch that loses much of the input is evaluated anew at once.

What was given up is remembered by the size of the input, and by whether more or fewer facts are
asserted after it: the next epochs of such a kind are evaluated anew at once, as many as have been
given up in vain, before it is tried again. So a few expensive changes of the schema do not slow
down many cheap ones, and what is added back tells nothing of how it will be to remove it again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.engine.cost_model import FIRST_GUESS, CostModel
from streamreasoner.engine.ports import UNLIMITED, BudgetSpentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.engine.ports import Backend, Effort

FEW = 64
"""Epochs of fewer updates have the budget of one before them, as long as there are no more such."""
PATIENCE = 16
"""The most epochs of a size that are evaluated anew before differentiating is tried again."""


@dataclass(slots=True)
class _Kind:
    """What is remembered of epochs of one size that add, or remove.

    Attributes:
        streak: How many epochs to evaluate anew each time that one is given up.
        left: How many of them are left.
    """

    streak: int = 0
    left: int = 0


class Recomputation:
    """Chooses how each epoch of a backend is evaluated.

    Attributes:
        recomputed: Whether the last epoch was evaluated anew.
        given_up: Whether it was differentiated before, in vain.
    """

    def __init__(self, backend: Backend) -> None:
        self.recomputed = False
        self.given_up = False
        self._backend = backend
        self._per_derivation, self._seen = FIRST_GUESS, False
        self._kinds: defaultdict[tuple[int, int], _Kind] = defaultdict(_Kind)
        self._budget = UNLIMITED
        self._before = 0
        self._noted: tuple[int, int] | None = None
        self._until_look = 0

    def evaluate(
        self, rules: Callable[[], int], updates: int, gained: int, *, may_recompute: bool
    ) -> int:
        """Evaluate an epoch whose input has been added, one way or the other.

        Args:
            rules: Evaluates all strata; returns the number of iterations touched.
            updates: Size of the input.
            gained: How many more facts are asserted after it; 0 if it is small.
            may_recompute: Whether it may be evaluated anew.

        Returns:
            The number of iterations touched.

        Raises:
            EngineError: The epoch fails.
        """
        self.recomputed = self.given_up = False
        few = updates < FEW and may_recompute
        if not few or self._until_look == 0:
            self._look(gained, may_recompute=may_recompute)
        self._until_look -= 1
        kind = self._kinds[updates.bit_length() // 2, (gained > 0) - (gained < 0)]
        if self._budget > 0 and (kind.left == 0 or self._budget == UNLIMITED):
            try:
                iterations = rules()
            except BudgetSpentError:
                self.given_up = True
                kind.streak = kind.left = min(max(2 * kind.streak, 1), PATIENCE)
            else:
                kind.streak = 0
                if not few and self._budget == UNLIMITED:
                    self._note(self._before)
                return iterations
        elif self._budget > 0:
            kind.left -= 1
        self.recomputed = self._backend.recompute()
        iterations = rules()
        self._note(0 if self.recomputed else self._before)
        return iterations

    def _look(self, gained: int, *, may_recompute: bool) -> None:
        """Set the budget of this epoch, and of small ones after it, by what the state is like."""
        effort = self._backend.effort() if may_recompute else None
        self._budget = UNLIMITED
        if effort is not None:
            self._learn(effort.derivations)
            self._before = effort.derivations
            self._budget = self.budget(effort, gained)
        self._backend.limit(self._budget)
        self._until_look = FEW

    def _note(self, before: int) -> None:
        """Note the work of an epoch, and the derivations before it, to learn what it has added."""
        effort = self._backend.effort()
        self._noted = None if effort is None else (effort.work, before)
        self._until_look = 0

    def _learn(self, derivations: int) -> None:
        """Learn the work of a derivation from an epoch that was like a load.

        It was evaluated anew, or had no budget, and made at least half of all derivations.
        """
        if self._noted is not None:
            work, before = self._noted
            self._noted = None
            if 2 * (derivations - before) >= derivations > 0:
                self._per_derivation, self._seen = work / (derivations - before), True

    def budget(self, effort: Effort, gained: int) -> int:
        """The work after which to give up; 0 if it is not worth trying."""
        return self._model(effort).budget(gained)

    def model(self) -> CostModel | None:
        """What decides about the next epoch; None if it cannot be evaluated anew."""
        effort = self._backend.effort()
        if effort is None:
            return None
        self._learn(effort.derivations)
        return self._model(effort)

    def _model(self, effort: Effort) -> CostModel:
        return CostModel(
            effort.asserted, effort.derivations, self._per_derivation, is_guess=not self._seen
        )
