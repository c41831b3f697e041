"""What is decided of epochs whose work is given.

Each test drives `Recomputation` with a backend that spends what it is told to.
"""

from __future__ import annotations

import pytest

from streamreasoner.engine.cost_model import LEAST
from streamreasoner.engine.ports import UNLIMITED, BudgetSpentError, Effort
from streamreasoner.engine.recomputation import FEW, PATIENCE, Recomputation


class Spending:
    """A backend of 1,000,000 derivations from 1,000 facts, whose epochs take some work."""

    def __init__(self, *, room=True):
        self.room = room
        self.known = True
        self.takes = 0
        self.budget = None
        self.begun = 0
        self.per_load = 10

    def effort(self):
        """The effort, which the test decides."""
        if not self.known:
            return None
        work = self.takes if self.budget != UNLIMITED else self.per_load * 1_000_000
        return Effort(asserted=1000, derivations=1_000_000, work=work)

    def limit(self, work):
        """Take a budget."""
        self.budget = work

    def recompute(self):
        """Begin anew."""
        self.begun += 1
        self.budget = UNLIMITED
        return self.room

    def run(self):
        """Spend the work of an epoch; returns its iterations."""
        if self.takes > self.budget:
            raise BudgetSpentError
        return 3


@pytest.fixture
def backend():
    """A backend."""
    return Spending()


def evaluate(recomputation, backend, work, updates=100, gained=0):
    """Evaluate an epoch that takes some work; returns whether it was anew, and given up."""
    backend.takes = work
    assert recomputation.evaluate(backend.run, updates, gained, may_recompute=True) == 3
    return recomputation.recomputed, recomputation.given_up


def test_an_epoch_within_its_budget_is_differentiated(backend):
    """However often."""
    recomputation = Recomputation(backend)
    for _ in range(3):
        assert evaluate(recomputation, backend, LEAST) == (False, False)
    assert backend.begun == 0


def test_what_is_given_up_is_remembered_by_size(backend):
    """As many are evaluated anew at once as have been given up, and then another is tried."""
    recomputation = Recomputation(backend)
    outcomes = [evaluate(recomputation, backend, UNLIMITED - 1) for _ in range(5)]

    assert outcomes == [(True, True), (True, False), (True, True), (True, False), (True, False)]
    assert evaluate(recomputation, backend, LEAST, 1000) == (False, False)


def test_what_is_removed_and_what_is_added_are_remembered_apart(backend):
    """Removing is given up in vain, adding back is not: each goes the way that it took before."""
    recomputation, outcomes = Recomputation(backend), []
    for _ in range(4):
        outcomes.append(evaluate(recomputation, backend, UNLIMITED - 1, gained=-100))
        assert evaluate(recomputation, backend, LEAST, gained=100) == (False, False)

    assert outcomes == [(True, True), (True, False), (True, True), (True, False)]


def test_patience_has_an_end(backend):
    """After some epochs that were evaluated anew at once, differentiating is tried again."""
    recomputation = Recomputation(backend)
    outcomes = [evaluate(recomputation, backend, UNLIMITED - 1) for _ in range(10 * PATIENCE)]
    tries = [number for number, (_, given_up) in enumerate(outcomes) if given_up]

    assert tries[-1] - tries[-2] == PATIENCE + 1


def test_one_that_is_done_ends_it(backend):
    """The next one that is given up counts as the first."""
    recomputation = Recomputation(backend)
    for work in (UNLIMITED - 1, UNLIMITED - 1, LEAST, UNLIMITED - 1, UNLIMITED - 1):
        evaluate(recomputation, backend, work)

    assert evaluate(recomputation, backend, LEAST) == (False, False)


def test_most_of_it_is_new(backend):
    """Then a load would have to derive it, too."""
    recomputation = Recomputation(backend)

    assert evaluate(recomputation, backend, UNLIMITED, gained=1000) == (False, False)


def test_much_of_it_is_lost(backend):
    """Then it is not differentiated at all, even if it was before."""
    recomputation = Recomputation(backend)

    assert evaluate(recomputation, backend, LEAST, gained=-600) == (False, False)
    assert evaluate(recomputation, backend, LEAST, gained=-700) == (True, False)
    assert evaluate(recomputation, backend, LEAST) == (False, False)


def test_what_is_not_known_is_differentiated(backend):
    """A backend without room, or that does not count, and a change of the program."""
    backend.known = False
    assert evaluate(Recomputation(backend), backend, UNLIMITED) == (False, False)
    backend.known = True
    recomputation = Recomputation(backend)
    assert recomputation.evaluate(backend.run, 1, 0, may_recompute=False) == 3
    assert backend.budget == UNLIMITED


def test_a_second_state_is_refused():
    """The epoch is given up, and differentiated without a budget."""
    backend = Spending(room=False)

    assert evaluate(Recomputation(backend), backend, UNLIMITED - 1) == (False, True)


def test_small_epochs_share_a_look(backend):
    """They have the budget of the first of them."""
    recomputation, looks = Recomputation(backend), []
    backend.limit = lambda work: looks.append(work) or vars(backend).update(budget=work)
    for _ in range(FEW):
        assert evaluate(recomputation, backend, LEAST, 1) == (False, False)
    assert len(looks) == 1
    assert evaluate(recomputation, backend, UNLIMITED - 1, 1) == (True, True)
    assert evaluate(recomputation, backend, LEAST, 1) == (True, False)
    assert len(looks) == 3


def test_a_budget_follows_what_loads_have_taken(backend):
    """An epoch that at least doubles the derivations is as good as a load."""
    recomputation = Recomputation(backend)
    evaluate(recomputation, backend, LEAST)
    first = backend.budget
    backend.per_load = 20
    recomputation = Recomputation(backend)
    evaluate(recomputation, backend, UNLIMITED - 1)
    evaluate(recomputation, backend, LEAST, 1000)

    assert backend.budget > first
