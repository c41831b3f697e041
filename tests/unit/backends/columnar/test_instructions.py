"""Instructions of plans: interpreted word by word, they derive what nested loops derive."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from model import NestedLoops, Terms
from model.leaves import Row
from oracle.arithmetic import numeral
from oracle.builtins import compare
from strategies import checked
from thorough import THOROUGH
from unit.backends.columnar.memory import FEW

from streamreasoner.backends.columnar.callbacks import NAMES
from streamreasoner.backends.columnar.compiler.instructions import Instructions, OnMatch, Operands
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.engine.evaluate import evaluate
from streamreasoner.plan import operands
from streamreasoner.plan.algebra import Age
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.rdf.dictionary import Dictionary

RULES = (
    "h(?x, ?z) :- a(?x, ?y), a(?y, ?z) .",
    "h(?x, 1) :- a(?x, ?x), b(?x) .",
    "h(?x, ?z) :- a(?x, ?x), a(?x, ?z) .",
    "h(?x, 1) :- a(?x, _), a(_, ?x), b(_), a(2, _), ?x != 2 .",
    "h(?y, ?x) :- a(?x, ?y), a(?y, ?x), a(?x, 2) .",
    "h(?x, ?y) :- b(?x), a(?y, _), not a(?y, ?x), not b(?y) .",
    "h(?v, ?x) :- a(?x, ?y), ?v = ?x + ?y, a(?v, _), ?v != 3 .",
    "h(?x, ?x) :- a(?x, ?y), ?y = ?x * 2, is_number(?y), not contains(?x, ?y) .",
    "h(2, ?x) :- a(1, ?x), ?x <= 2, a(?x, ?x + 1) .",
    "h(?x, ?z) :- a(?x, ?y), not same_term(?x, ?y), a(?y, ?z), same_term(?z, ?x) .",
)
REGIMES = {"dense": (1, 2, 3), "sparse": (1, 2, 3, 10**6, 999_999)}
ORDERS = (("<", -1), ("=", 0), (">", 1))


class Interpreter:
    """Runs fragments over dicts, with the ids of one dictionary."""

    def __init__(self, text, numbers):
        self.plan = lower(checked(text))
        dictionary = Dictionary()
        self.terms = Terms(dictionary)
        for number in numbers:
            self.terms.id(numeral(number))
        self.relations = {name: at for at, name in enumerate(self.plan.arities)}
        self.arrangements = []
        # What is only counted is looked up like what is walked.
        self.instructions = Instructions(
            dictionary.intern, self.relations, self._number, self._number, ()
        )

    def _number(self, arrangement):
        if arrangement not in self.arrangements:
            self.arrangements.append(arrangement)
        return self.arrangements.index(arrangement)

    def run(self, plan, fragment, deltas, seen):
        """The heads of a fragment: fact -> sum of the signs."""
        heads = Counter()
        for fact, sign in deltas.items():
            if _has(self.terms, fact, plan.delta.pattern):
                rows = self._matched(fragment.start, fact[1], {})
                for step in fragment.steps:
                    rows = [each for slots in rows for each in self._step(step, slots, seen)]
                relation, cells = fragment.head
                for slots in rows:
                    head = tuple(self._cell(cell, slots) for cell in cells)
                    heads[list(self.relations)[relation], head] += fragment.sign * sign
        return Counter({fact: sign for fact, sign in heads.items() if sign})

    def _step(self, step, slots, seen):
        present = seen[Age.OLD if step.old else Age.NEW]
        key = tuple(self._cell(cell, slots) for cell in step.key)
        if step.kind in {layout.PROBE, layout.COUNT}:
            arrangement = self.arrangements[step.target]
            constants = [(at, self.terms.id(term)) for at, term in arrangement.constants]
            found = [
                args
                for predicate, args in present
                if predicate == arrangement.predicate
                and all(args[at] == value for at, value in constants)
                and tuple(args[at] for at in arrangement.key) == key
            ]
        else:
            fact = list(self.relations)[step.target], key
            found = [key] if (fact in present) != (step.kind == layout.ABSENT) else []
        return [each for args in found for each in self._matched(step.stage, args, slots)]

    def _matched(self, stage, args, slots):
        slots = slots | {slot: args[position] for position, slot in stage.binds}
        if any(args[position] != slots[slot] for position, slot in stage.checks):
            return []
        for kind, code, target, count, *cells in stage.conditions:
            assert count == len(cells)
            terms = [self.terms.text(self._cell(cell, slots)) for cell in cells]
            values = tuple(map(operands.Value, terms))
            if kind == layout.COMPARE:
                at = [order for operator, order in ORDERS if compare(terms[0], operator, terms[1])]
                if not code >> ((at or [2])[0] + 1) & 1:
                    return []
            elif kind == layout.HOLDS:
                name = NAMES[code]
                if not self._leaf("select", operands.Test(name, values, negated=not target)):
                    return []
            else:
                (row,) = self._leaf("extend", operands.Computation("v", NAMES[code], values)) or (
                    None,
                )
                if row is None or slots.get(target, row.ids["v"]) != row.ids["v"]:
                    return []
                assert (target in slots) == (kind == layout.MATCH)
                slots[target] = row.ids["v"]
        return [slots]

    def _leaf(self, name, node):
        return getattr(NestedLoops(self.terms, {}, {}), name)(node, [Row({}, 0, 1)])

    @staticmethod
    def _cell(code, slots):
        return ~code if code < 0 else slots[code]


@pytest.mark.parametrize("numbers", REGIMES.values(), ids=REGIMES)
@examples(max_examples=500 if THOROUGH else 36)
@given(text=st.sampled_from(RULES), data=st.data())
def test_a_fragment_derives_what_its_plan_derives(numbers, text, data):
    """From each delta, with the facts before and after it, and the same on its fast path."""
    interpreter = Interpreter(text, numbers)
    ids = [interpreter.terms.id(numeral(number)) for number in numbers]
    cells = st.sampled_from(ids)
    facts = st.one_of(
        st.tuples(st.just("a"), st.tuples(cells, cells)), st.tuples(st.just("b"), st.tuples(cells))
    )
    old, new = (data.draw(st.sets(facts, max_size=8)) for _ in range(2))
    deltas = {fact: (fact in new) - (fact in old) for fact in old ^ new}
    loops = NestedLoops(
        interpreter.terms,
        {fact: {0: sign} for fact, sign in deltas.items()},
        {age: {fact: {0: 1} for fact in each} for age, each in ((Age.OLD, old), (Age.NEW, new))},
    )
    for stratum in interpreter.plan.strata:
        for plan in stratum.plans:
            instructions = replace(interpreter.instructions, heads=stratum.heads)
            fragment = evaluate(plan, instructions)
            expected = {fact: sign for (fact, _), sign in evaluate(plan, loops).items()}
            seen = {Age.OLD: old, Age.NEW: new}

            assert interpreter.run(plan, fragment, deltas, seen) == expected
            if fragment.shortcut is not None:
                assert _short(interpreter, plan, fragment, deltas, seen) == expected
            if fragment.probe != (0, 0):
                driving = {
                    fact: sign
                    for fact, sign in deltas.items()
                    if _has(interpreter.terms, fact, plan.delta.pattern)
                    and list(_probed(interpreter, fragment, fact, seen))
                }
                assert interpreter.run(plan, fragment, driving, seen) == expected


STAGES = st.builds(
    OnMatch,
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3).map(tuple),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3).map(tuple),
    st.lists(st.tuples(st.integers(0, 9), st.integers(-9, 9)), max_size=3).map(tuple),
)


@FEW
@given(st.lists(STAGES, max_size=5))
def test_a_stage_can_be_read_from_the_pool(stages):
    """Its fields are offsets and counts of what it binds, checks and tests."""
    pool = Operands()
    places = [pool.stage(stage) for stage in stages]
    for stage, fields in zip(stages, places, strict=True):
        for part, at, count in zip(
            (stage.binds, stage.checks, stage.conditions), fields[::2], fields[1::2], strict=True
        ):
            assert pool.values[at : at + 2 * count] == [value for pair in part for value in pair]
            assert count == len(part)


def _has(terms, fact, pattern):
    """Whether a fact has the predicate and constants of a pattern; kernels ask the fact's class."""
    predicate, args = fact
    return predicate == pattern.predicate and all(
        args[at] == terms.id(term) for at, term in pattern.constants
    )


def _short(interpreter, plan, fragment, deltas, seen):
    """The heads of the fast path: each cell is of the driving fact, of its match, or a constant."""
    heads = Counter()
    for fact, sign in deltas.items():
        if not _has(interpreter.terms, fact, plan.delta.pattern):
            continue
        for args in _probed(interpreter, fragment, fact, seen):
            row = dict(enumerate(fact[1]))
            row |= {layout.MAX_ARITY + at: value for at, value in enumerate(args)}
            cells = tuple(~cell if cell < 0 else row[cell] for cell in fragment.shortcut)
            heads[plan.head.predicate, cells] += fragment.sign * sign
    return {fact: sign for fact, sign in heads.items() if sign}


def _probed(interpreter, fragment, fact, seen):
    """The facts that the first step of a fragment matches; without any, it derives nothing."""
    probed, key = fragment.probe
    arrangement = interpreter.arrangements[probed - 1]
    constants = [(at, interpreter.terms.id(term)) for at, term in arrangement.constants]
    for predicate, args in seen[Age.OLD if fragment.steps[0].old else Age.NEW]:
        if (
            predicate == arrangement.predicate
            and all(args[at] == value for at, value in constants)
            and args[arrangement.key[0]] == (~key if key < 0 else fact[1][key])
        ):
            yield args


def test_columns_are_slots_in_the_order_of_their_binding():
    """What a join binds comes after what its left side binds, and constants have no slot."""
    interpreter = Interpreter(RULES[0], REGIMES["dense"])
    (stratum,) = interpreter.plan.strata
    fragments = [evaluate(plan, interpreter.instructions) for plan in stratum.plans]

    assert [list(each.slots) for each in fragments] == [["x", "y", "z"], ["y", "z", "x"]]
    assert all(list(each.slots.values()) == [0, 1, 2] for each in fragments)
