"""A change of program on a backend of dicts: which leaves it uses, and where it ends."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from model import ModelBackend, Terms
from oracle import evaluate
from strategies import checked
from thorough import THOROUGH
from unit.engine.edges import EDGES, assert_edges, unguarded, visible

from streamreasoner.engine.change import change_program
from streamreasoner.engine.fixpoint import fixpoints
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.rdf.dictionary import Dictionary

FEW = examples(max_examples=300 if THOROUGH else 15)
RULES = (
    "p(?x, ?y) :- e(?x, ?y) .",
    "p(?x, ?z) :- p(?x, ?y), e(?y, ?z) .",
    "q(?x) :- e(?x, _), not e(_, ?x) .",
    "n(?x, count(?y)) :- e(?x, ?y) .",
    "n(?x, sum(?y)) :- e(?x, ?y) .",
    "d(?y, min(?v + 1)) :- d(?x, ?v), e(?x, ?y), ?v < 4 .",
    "d(?x, min(0)) :- e(?x, _) .",
)
PROGRAMS = st.sets(st.sampled_from(RULES)).map(lambda rules: "\n".join(sorted(rules)))
LEAVES = "migrate", "evaluate", "retract", "resettle"


class Recorded(ModelBackend):
    """A backend of dicts that records the leaves of a change of program.

    Attributes:
        calls: (name, argument or None) in the order of the calls.
    """

    def __init__(self, plan, dictionary):
        super().__init__(plan, dictionary)
        self.calls = []

    def __getattribute__(self, name):
        """The leaf itself, which records its call."""
        leaf = super().__getattribute__(name)
        if name not in LEAVES:
            return leaf

        def recorded(*arguments):
            self.calls.append((name, *(arguments or (None,))))
            return leaf(*arguments)

        return recorded


@FEW
@given(PROGRAMS, PROGRAMS, st.lists(EDGES, max_size=6))
def test_a_changed_program_is_as_if_it_had_always_been(first, second, edges):
    """The trace is the oracle's; only what the programs do not share is evaluated or retracted."""
    dictionary = Dictionary()
    terms = Terms(dictionary)
    before, after = (lower(checked(f"@input e/2 .\n{rules}")) for rules in (first, second))
    backend, total = Recorded(before, dictionary), Counter()
    for fact, multiplicity in assert_edges(backend, terms, edges):
        total[fact] += multiplicity
    fixpoints(backend, before, 50, unguarded)
    backend.commit()

    assert not backend.calls
    program = change_program(backend, before, after)
    fixpoints(backend, program, 50, unguarded)

    (_, change), _, *retracted, (_, lattices) = backend.calls
    evaluations = change.evaluations
    assert [name for name, _ in backend.calls] == [
        *("migrate", "evaluate"),
        *["retract"] * len(retracted),
        "resettle",
    ]
    assert (change.before, change.after) == (before, program)
    assert {each.sign for each in evaluations} <= {-1, 1}
    assert len(evaluations) >= len(set(first.splitlines()) ^ set(second.splitlines()))
    assert first != second or not (evaluations or retracted or lattices)
    assert {each for _, each in retracted} == {*before.reductions} - {*after.reductions}
    assert {*lattices} == {*before.lattices} ^ {*after.lattices}
    assert visible(backend, terms) == evaluate(
        checked(f"@input e/2 .\n{second}"), {fact: n for fact, n in total.items() if n}
    )
