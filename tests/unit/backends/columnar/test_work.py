"""What rules have done against sums of what was accounted."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import FEW, Memory

from streamreasoner.backends.columnar.kernels.records import layout, work
from streamreasoner.native.compile import kernel

TEXT = """
p(?x, ?z) :- e(?x, ?y), e(?y, ?z) .
q(?x) :- p(?x, _), e(_, ?x) .
"""
RUNS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 9)), max_size=120)
"""Of a plan: the facts that it looked at, and the heads that it added or subtracted."""


@kernel
def is_spent(table):
    """Whether the budget is spent."""
    return work.is_spent(table)


@kernel
def grown(table, amount):
    """Expected work."""
    return work.grown(table, amount)


class Accounts:
    """A memory, and what its rules have done since the clock was started.

    Attributes:
        column: The column WORK.
        firings: By place in it.
        spent: Work of all.
    """

    def __init__(self):
        self.memory = Memory(TEXT)
        self.column = self.memory.state.column(layout.WORK)
        self.plans = self.memory.plans
        self.firings, self.spent = Counter(), 0
        work.start_clock(self.memory.table)
        self.started = int(self.column[layout.WORK_CLOCK])

    def account(self, plan, visits, firings):
        """Account a run."""
        work.account(self.memory.table, plan * layout.PLAN_WIDTH, visits, firings)
        self.firings[int(self.plans[plan, layout.PLAN_WORK])] += firings
        self.spent += visits + work.FIRING * firings

    @property
    def rules(self):
        """Firings and nanoseconds of each rule."""
        return self.column[layout.WORK_RULES :].reshape(-1, layout.WORK_WIDTH)


@FEW
@given(runs=RUNS)
def test_counts_are_exact_and_times_add_up(runs):
    """Every firing counts for the rule of its plan; what has passed is of one rule or another."""
    accounts = Accounts()
    for run in runs:
        accounts.account(*run)
        rules, column = accounts.rules, accounts.column
        passed = int(column[layout.WORK_CLOCK]) - accounts.started
        assert int(rules[:, layout.WORK_NANOSECONDS].sum()) == passed
        assert (rules[:, layout.WORK_NANOSECONDS] >= 0).all()
    assert accounts.column[layout.WORK_SPENT] == accounts.spent
    for number, firings in enumerate(accounts.rules[:, layout.WORK_FIRINGS].tolist()):
        place = layout.WORK_RULES + layout.WORK_WIDTH * number
        assert firings == accounts.firings[place]


@FEW
@given(visits=st.lists(st.integers(0, 60), min_size=work.EXACT, max_size=3 * work.EXACT))
def test_the_clock_is_read_after_each_run_at_first(visits):
    """Then after as many visits as a generator says, of which there are 17 to 48."""
    accounts = Accounts()
    random, due, readings = 0, 0, 0
    for visited in visits:
        accounts.account(0, visited, 0)
        due -= visited
        if due <= 0:
            readings, due = readings + 1, 1
            if readings >= work.EXACT:
                random = (random * 6364136223846793005 + 1442695040888963407) % (1 << 64)
                due = 17 + ((random >> 58) & 31)
                assert 17 <= due <= 48
        fields = accounts.column[[layout.WORK_READINGS, layout.WORK_DUE]].tolist()
        assert fields == [readings, due]


@FEW
@given(runs=RUNS, epochs=st.integers(1, 3))
def test_each_epoch_begins_at_nothing(runs, epochs):
    """A clock that starts again in an epoch keeps its counts; in the next one they are 0."""
    accounts = Accounts()
    table, column = accounts.memory.table, accounts.column
    for _ in range(epochs):
        for run in runs:
            accounts.account(*run)
        before = column.copy()
        work.start_clock(table)
        kept = np.arange(len(column)) != layout.WORK_CLOCK
        assert np.array_equal(column[kept], before[kept])
        assert column[layout.WORK_CLOCK] >= before[layout.WORK_CLOCK]
        accounts.memory.scalars[layout.EPOCH] += 1
        work.start_clock(table)
        assert not accounts.rules.any()
        cleared = [layout.WORK_READINGS, layout.WORK_DUE, layout.WORK_SPENT]
        assert not column[cleared].any()
        assert column[layout.WORK_EPOCH] == accounts.memory.scalars[layout.EPOCH]
        assert column[layout.WORK_SIZE] == len(column)


@FEW
@given(runs=RUNS, budget=st.none() | st.integers(0, 900))
def test_a_budget_is_spent_by_visits_and_firings(runs, budget):
    """By more than it allows; one without a limit never is."""
    accounts = Accounts()
    limit = layout.WORK_UNLIMITED if budget is None else budget
    accounts.column[layout.WORK_BUDGET] = limit
    for run in runs:
        accounts.account(*run)
        assert is_spent(accounts.memory.table) == (budget is not None and accounts.spent > budget)


@FEW
@given(budget=st.integers(0, 1 << 40), before=st.integers(0, 100), now=st.integers(0, 1000))
def test_a_budget_grows_with_the_facts(budget, before, now):
    """In proportion; it does not shrink when facts are dropped."""
    accounts = Accounts()
    accounts.column[[layout.WORK_BUDGET, layout.WORK_FACTS]] = budget, before
    accounts.memory.scalars[layout.FACT_COUNT] = now

    allowed = grown(accounts.memory.table, budget)
    assert allowed == budget * max(now / max(before, 1), 1)
    accounts.column[layout.WORK_SPENT] = int(allowed)
    assert not is_spent(accounts.memory.table)
    accounts.column[layout.WORK_SPENT] += 2
    assert is_spent(accounts.memory.table)
