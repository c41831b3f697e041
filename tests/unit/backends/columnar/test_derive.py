"""Each node of a delta plan against nested loops, in lockstep, delta list by delta list."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from driver import Driver
from hypothesis import example, given, settings
from hypothesis import strategies as st
from model import ModelBackend
from strategies import checked
from thorough import THOROUGH
from unit.backends.columnar.memory import DENSE, FEW, SPARSE, Memory

from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.joining import derive
from streamreasoner.backends.columnar.kernels.records import layout, pending
from streamreasoner.backends.columnar.kernels.records.walk import APART
from streamreasoner.backends.columnar.kernels.settling import settle
from streamreasoner.engine.fixpoint import fixpoints
from streamreasoner.engine.updates import Updates

SOME = settings(max_examples=200 if THOROUGH else 8)
"""Groups are large."""
XSD = "http://www.w3.org/2001/XMLSchema#"
# The eight ids of dense facts.
TERMS = (
    *(f'"{number}"^^<{XSD}integer>' for number in (1, 2, 3)),
    f'"2.0"^^<{XSD}decimal>',
    f'"1.0E0"^^<{XSD}double>',
    '"x"',
    "<urn:a>",
    '"xx"@en',
)
NODES = {
    "delta": "p(?x, ?y) :- e(?y, ?x) .",
    "delta of a constant": "p(?x) :- e(?x, 2) .",
    "delta of a repeated variable": "p(?x) :- e(?x, ?x) .",
    "delta with a constant in the head": "p(?x, 2) :- e(?x, _) .",
    "join by one argument": "p(?x, ?z) :- e(?x, ?y), f(?y, ?z) .",
    "join with itself": "p(?x, ?z) :- e(?x, ?y), e(?y, ?z) .",
    "join in its own stratum": "e(?x, ?z) :- e(?x, ?y), e(?y, ?z) .",
    "join by a constant": "p(?x, ?z) :- e(?x, 2), f(2, ?z) .",
    "join with a repeated variable": "p(?x, ?z) :- e(?x, ?y), f(?z, ?z) .",
    "join of a whole fact": "p(?x, ?y) :- e(?x, ?y), f(?y, ?x) .",
    "count by one argument": "p(?x, ?y) :- e(?x, ?y), f(?y, _), e(?x, _) .",
    "count of all": "p(?x, ?y) :- e(?x, ?y), f(_, _), e(_, _) .",
    "count by a constant": "p(?x) :- e(?x, _), e(_, 2), f(2, _), ?x != 1 .",
    "count of pairs": "p(?x) :- e(?x, _), e(?x, _), e(_, ?x) .",
    "count alongside its own stratum": "f(?x, ?z) :- f(?x, ?y), f(?y, ?z), e(?z, _), f(?x, _) .",
    "joins in a row": "p(?x, ?w) :- e(?x, ?y), e(?y, ?z), f(?z, ?w) .",
    "joins in a row in their own stratum": "e(?x, ?w) :- e(?x, ?y), f(?y, ?z), e(?z, ?w) .",
    "antijoin": "p(?x, ?y) :- e(?x, ?y), not f(?y, ?x) .",
    "antijoin with a constant": "p(?x) :- e(?x, _), not f(?x, 2) .",
    "filter by a comparison": "p(?x, ?y) :- e(?x, ?y), ?x < ?y .",
    "filter by a test": "p(?x) :- e(?x, ?y), is_integer(?y) .",
    "filter by a negated test": "p(?x) :- e(?x, ?y), not starts_with(?y, ?x) .",
    "filter of a join": "p(?x, ?z) :- e(?x, ?y), f(?y, ?z), ?x != ?z .",
    "extend by integers": "p(?x + ?y, ?x * ?y, ?x - ?y) :- e(?x, ?y) .",
    "extend by a function": 'p(concat(?x, "y"), abs(?y)) :- e(?x, ?y) .',
    "extend by an extreme": "p(min(?x, ?y), max(?x, ?y, 2)) :- e(?x, ?y) .",
    "filter by an equation": "p(?x, ?y) :- e(?x, ?y), ?y = ?x + 1 .",
    "extend that checks": "p(?x) :- e(?x, ?x + 1) .",
}
WIDE_NODES = {
    "join by a key": "p(?a, ?f) :- e(?a, ?b, ?c, _), g(_, ?b, ?c, ?f) .",
    "join of a wide fact": "p(?a) :- e(?a, ?b, ?c, ?d), g(?b, ?a, ?d, ?c) .",
    "antijoin of a wide fact": "p(?a) :- e(?a, ?b, ?c, ?d), not g(?b, ?a, ?d, ?c) .",
    "product": "p(?a, ?b) :- e(?a, _, _, _), g(_, _, _, ?b) .",
}
CYCLIC_NODES = {
    "triangle": "p(?x, ?y, ?z) :- e(?x, ?y), e(?y, ?z), e(?x, ?z) .",
    "directed triangle": "p(?x, ?y) :- e(?x, ?y), e(?y, ?z), e(?z, ?x) .",
    "triangle in its own stratum": "e(?x, ?z) :- e(?x, ?y), f(?y, ?z), e(?z, ?x) .",
    "triangle that feeds itself": "e(?z, ?x) :- e(?x, ?y), e(?y, ?z), e(?x, ?z) .",
    "triangle of two predicates": "p(?x) :- e(?x, ?y), f(?y, ?z), e(?x, ?z), f(?z, ?x) .",
    "triangle with a comparison": "p(?x) :- e(?x, ?y), e(?y, ?z), e(?x, ?z), ?y < ?z .",
    "triangle with a sum": "p(?x) :- e(?x, ?y), e(?y, ?z), ?v = ?y + ?z, e(?x, ?z), e(?z, ?v) .",
    "triangle with a negation": "p(?x) :- e(?x, ?y), e(?y, ?z), e(?x, ?z), not f(?z, ?x) .",
    "triangle with a loop": "p(?x, ?y) :- e(?x, ?x), e(?x, ?y), e(?y, ?z), e(?x, ?z), e(?z, ?z) .",
    "triangle with a constant": "p(?y) :- e(2, ?y), e(?y, ?z), e(?x, ?z), e(?x, ?y), e(2, ?z) .",
    "four-cycle": "p(?x, ?z) :- e(?x, ?y), e(?y, ?z), e(?z, ?w), e(?x, ?w) .",
    "four-clique": "p(?x) :- e(?x, ?y), e(?x, ?z), e(?x, ?w), e(?y, ?z), e(?y, ?w), e(?z, ?w) .",
    "wide and narrow": "p(?x) :- e(?y, ?z), e(?x, ?z), g(?x, ?y, _) .",
}
CASES = [
    *(pytest.param(text, DENSE, id=name) for name, text in NODES.items()),
    *(pytest.param(text, SPARSE, id=name) for name, text in WIDE_NODES.items()),
]


class Summed(ModelBackend):
    """The model, which keeps the sums of what plans derived last."""

    def derive(self, iteration):
        """Evaluate the plans of the stratum on the deltas."""
        self.derived = Counter()
        super().derive(iteration)

    def _add_heads(self, heads, sign):
        super()._add_heads(heads, sign)
        for head, multiplicity in heads.items():
            self.derived[head] += multiplicity


class Lockstep:
    """A memory and the model of the same program and dictionary."""

    def __init__(self, text):
        self.memory = Memory(text)
        for term in TERMS:
            self.memory.program.terms.id(term)
        self.model = Summed(self.memory.program.plan, self.memory.backend._dictionary)  # noqa: SLF001

    def add(self, fact, multiplicity):
        """Assert a fact in both."""
        assert self.memory.add(fact, 0, multiplicity) == layout.OK
        predicate, args = fact
        self.model.add(Updates(predicate, np.array([args], np.int32), np.array([multiplicity])))

    def run(self, stratum, sorting=None):
        """Settle and derive, and compare after each; only iterations that kernels touch.

        Deltas are applied one by one, or unless *sorting* is None those of cyclic rules together,
        where it says whether groups are sorted.
        """
        memory, model = self.memory, self.model
        settle.enter(memory.table, stratum)
        model.enter(stratum)
        iteration = settle.next_touched(memory.table, -1)
        while 0 <= iteration < 40:
            settle.settle(memory.table, memory.values, iteration)
            model.settle(iteration)
            assert memory.numbers("transition") == model.state.transitions
            before = memory.firings()
            if sorting is not None:
                memory.scalars[layout.CYCLIC_RULES] = layout.LATER
                memory.scalars[layout.SORTING] = sorting
                memory.scalars[layout.SORT_PATIENCE] = 3
            assert derive.derive(memory.table, memory.values, iteration) == layout.OK
            model.derive(iteration)
            # A match may come and go while deltas are applied.
            further = memory.firings() - before - sum(map(abs, model.derived.values()))
            assert further >= 0
            assert further % 2 == 0
            assert memory.deltas() == {}
            assert memory.numbers("multiplicity") == model.state.multiplicities
            iteration = settle.next_touched(memory.table, iteration)
        return iteration == -1


@pytest.mark.parametrize(("text", "regime"), CASES)
@FEW
@given(data=st.data(), epochs=st.integers(1, 4))
def test_a_plan_derives_the_difference(text, regime, data, epochs):
    """From any changes a plan derives what nested loops do, with old and new transitions."""
    follow(Lockstep(text), regime, data, epochs)


@FEW
@given(data=st.data(), epochs=st.integers(1, 4))
def test_the_interpreter_derives_what_the_short_path_does(data, epochs):
    """The plans that only probe an index, for which the interpreter is not needed."""
    lockstep = Lockstep(NODES["join in its own stratum"])
    plans = lockstep.memory.plans
    assert (plans[:, layout.PLAN_PROBE_HEAD] >= 0).all()
    plans[:, layout.PLAN_PROBE_HEAD] = -1
    follow(lockstep, DENSE, data, epochs)


def follow(lockstep, regime, data, epochs):
    """Compare the memory with the model after any epochs."""
    # Ids of terms begin with 0.
    dense = regime is DENSE
    pool = [
        (predicate, tuple(cell - dense for cell in args))
        for name in sorted({"e", "f", "g"} & lockstep.memory.program.plan.arities.keys())
        for predicate, args in data.draw(regime.facts(name))
    ]
    if not dense:
        # Facts of the other predicate that match.
        pool += [("g", (b, a, d, c)) for name, (a, b, c, d) in pool if name == "e"]
        pool += [("g", (d, b, c, a)) for name, (a, b, c, d) in pool if name == "e"]
    for _ in range(epochs):
        for choice, multiplicity in data.draw(
            st.lists(st.tuples(st.integers(0, 41), st.sampled_from((1, 1, 2, -1))), max_size=12)
        ):
            lockstep.add(pool[choice % len(pool)], multiplicity)
        for stratum in range(len(lockstep.memory.program.plan.strata) + 1):
            if not lockstep.run(stratum):
                return
        journal.commit(lockstep.memory.table)
        lockstep.model.commit()


@pytest.mark.parametrize("text", CYCLIC_NODES.values(), ids=CYCLIC_NODES)
@FEW
@given(data=st.data(), epochs=st.integers(1, 4))
def test_groups_intersect_in_what_nested_loops_find(text, data, epochs):
    """Whether deltas are applied together or one by one, and whichever groups are sorted."""
    lockstep = Lockstep(text)
    plan = lockstep.memory.program.plan
    assert lockstep.memory.state.tables.cyclic
    pool = [
        (predicate, tuple(1 + (cell - 1) % 4 for cell in args))
        for name in sorted({"e", "f", "g"} & plan.arities.keys())
        for predicate, args in data.draw(DENSE.facts(name, plan.arities[name]))
    ]
    for _ in range(epochs):
        for choice, multiplicity in data.draw(
            st.lists(st.tuples(st.integers(0, 41), st.sampled_from((1, 1, 1, -1))), max_size=20)
        ):
            lockstep.add(pool[choice % len(pool)], multiplicity)
        sorting = data.draw(st.sampled_from((None, False, False, True)))
        for stratum in range(len(plan.strata) + 1):
            if not lockstep.run(stratum, sorting):
                return
        journal.commit(lockstep.memory.table)
        lockstep.model.commit()


@pytest.mark.parametrize("sorting", [False, True])
@pytest.mark.parametrize("text", CYCLIC_NODES.values(), ids=CYCLIC_NODES)
def test_complete_graphs_are_found_by_intersecting(text, sorting):
    """Each cyclic body, if many facts match it, whether groups are sorted or walked in turns."""
    lockstep = Lockstep(text)
    for name in {"e", "f", "g"} & lockstep.memory.program.plan.arities.keys():
        rest = [1] * (lockstep.memory.program.plan.arities[name] - 2)
        for pair in product(range(7), repeat=2):
            lockstep.add((name, (*pair, *rest)), 1)
    for stratum in range(len(lockstep.memory.program.plan.strata) + 1):
        assert lockstep.run(stratum, sorting)
    assert lockstep.memory.scalars[layout.INTERSECTED if sorting else layout.GATHERED] > 0


@FEW
@given(st.lists(st.sampled_from((1, 1, -1)), min_size=1, max_size=700), st.integers(1, 9))
def test_a_walk_goes_ahead_while_additions_are_applied(counts, limit):
    """Each fact of a group is joined once, however far ahead the walk is when they are applied."""
    memory = Memory("p(?y) :- e(?x, ?y), f(?x) .")
    memory.state.column(layout.PENDING_ROWS)[pending.LIMIT] = limit
    group = np.array([(1, 10 + i) for i in range(len(counts))], np.int32)
    inputs = Updates("e", group, np.array(counts)), Updates("f", group[:1, :1], np.array([1]))
    for updates in inputs:
        memory.backend.add(updates)
        fixpoints(memory.backend, memory.program.plan, 9, lambda _: None)
        memory.backend.commit()
    present = group[np.array(counts) > 0, 1].tolist()
    assert sorted(memory.backend.facts("p")[:, 0].tolist()) == present
    assert memory.scalars[layout.WALKERS] == 0
    assert memory.scalars[layout.WALKED_FOUND] == len(present)
    ahead = memory.state.column(layout.SCRATCH)[layout.WALKED_AT :][: layout.WALKED_ROOM]
    assert ahead.any() == (len(present) > limit)


@SOME
@example([(0, 1208, False)], 1)
@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 1500), st.booleans()), max_size=5),
    st.sampled_from((1, pending.BATCH)),
)
def test_milestones_divide_walks_of_large_groups(steps, limit):
    """Each fact of a group is joined once, wherever facts come, or go, with milestones or without.

    A step adds a stretch of the group's facts, or removes those of them that there are.
    """
    memory = Memory("p(?y) :- e(?x, ?y), f(?x) .")
    memory.state.column(layout.PENDING_ROWS)[pending.LIMIT] = limit
    (number,) = (n for n, each in memory.groupings("e").items() if each.key == (0,))
    group = np.array([(1, 10 + i) for i in range(4500)], np.int32)
    present = np.zeros(len(group), bool)

    def epoch(predicate, args, multiplicity):
        memory.backend.add(Updates(predicate, args, np.full(len(args), multiplicity)))
        fixpoints(memory.backend, memory.program.plan, 9, lambda _: None)
        memory.backend.commit()

    for start, length, adds in [(0, 1500, True), *steps]:
        stretch = np.zeros_like(present)
        stretch[start : start + length] = True
        changed = stretch & (present != adds)
        if changed.any():
            epoch("e", group[changed], 1 if adds else -1)
            present ^= changed
        assert_milestones(memory, number)
        for _ in range(2):
            divided = int(memory.scalars[layout.MILESTONED])
            epoch("f", group[:1, :1], 1)
            expected = group[present, 1].tolist()
            assert sorted(memory.backend.facts("p")[:, 0].tolist()) == expected
            assert set(memory.backend.trace("p").multiplicity.tolist()) <= {1}
            epoch("f", group[:1, :1], -1)
            assert len(memory.backend.facts("p")) == 0
            # A walk without milestones marks them, and the next one is divided.
            is_divided = memory.scalars[layout.MILESTONED] > divided
            assert is_divided or present.sum() < APART


def assert_milestones(memory, number):
    """The milestones of groups are facts of these, in their order."""
    rows = memory.state.column(layout.MILESTONES).reshape(-1, layout.MILESTONE_WIDTH)
    for row in rows[rows[:, layout.MILESTONE_ARRANGEMENT] == number + 1].tolist():
        members = memory.members(number, (row[layout.MILESTONE_KEY],))
        records = memory.records()
        places = {records[fact].address: place for place, fact in enumerate(members)}
        facts = row[layout.MILESTONE_FACTS :][: row[layout.MILESTONE_COUNT]]
        found = [places[fact] for fact in facts]
        assert found
        assert found == sorted(set(found))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("?x < ?y", lambda x, y: x < y),
        ("?x = ?y", lambda x, y: x == y),
        ("?x + ?y = 3", lambda x, y: x + y == 3),
        ("?x % ?y = 1", lambda x, y: y != 0 and abs(x) % abs(y) == (1 if x > 0 else None)),
        ("-?x = abs(?y)", lambda x, y: -x == abs(y)),
        ("not is_string(?x), ?x * ?y >= 4", lambda x, y: x * y >= 4),
    ],
)
def test_conditions_hold_as_in_python(condition, holds):
    """Rules derive of pairs of integers those for which the condition holds."""
    driver = Driver(checked(f"p(?x, ?y) :- e(?x, ?y), {condition} ."))
    pairs = list(product(range(-3, 4), repeat=2))
    terms = {pair: tuple(f'"{number}"^^<{XSD}integer>' for number in pair) for pair in pairs}
    driver.apply([("e", each, 1) for each in terms.values()])

    expected = {("p", terms[pair]) for pair in pairs if holds(*pair)}
    assert driver.closure(["p"]) == expected
