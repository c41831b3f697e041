"""Parts change the program themselves: the state is that of one store, to the last count.

Whichever part owns a fact before and after it, and whether the change is kept or rolled back. The
programs have recursions, negations, aggregates, lattices, and predicates that go and come back.
"""

from __future__ import annotations

import gc
import pickle
import random
from itertools import chain
from operator import attrgetter

import pytest
from driver import Driver
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from laws import test_schema_decides_negation as schema
from laws.test_rules_change import part
from strategies import HEADER, checked, scenarios
from teams import store_elsewhere
from thorough import THOROUGH

from streamreasoner.backends.parts.here import PartsHere
from streamreasoner.backends.store import parts_backend
from streamreasoner.engine.session import Store
from streamreasoner.errors import EngineError, ProgramError
from streamreasoner.plan.division import may_own
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary

EXAMPLES = settings(
    max_examples=1_000 if THOROUGH else 10,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
FEW = settings(EXAMPLES, max_examples=300 if THOROUGH else 4)
COUNTS = st.sampled_from((1, 2, 3, 8))
CHOICES = st.lists(st.integers(0, 255), min_size=2, max_size=5)
IN_TURNS, IN_THREADS = 1 << 62, 0
RECURSION_LIMIT = 24


def by_chance(random):
    """Chooses owning arguments that a program allows; None is rare, as one part then owns all."""

    def choose(plan, _):
        return {name: random.choice((*at, *at, None)) for name, at in may_own(plan).items()}

    return choose


def another(plan, former):
    """Chooses other owning arguments than before, where a program allows others."""
    return {
        name: next(chain((each for each in at if each != former.get(name)), at, [None]))
        for name, at in may_own(plan).items()
    }


def here(count, choose):
    """A store in parts of this process."""
    gc.collect()  # earlier ones are in circles, and hold address space
    dictionary = Dictionary()
    return Store(dictionary, lambda plan: parts_backend(plan, dictionary, count, choose=choose))


def elsewhere(count, choose):
    """A store in other processes."""
    return store_elsewhere(count, choose=choose)


def assert_same(one, other):
    """Two drivers have the same trace, of hidden predicates too, and the same counts."""
    assert other.trace(other.predicates) == one.trace(one.predicates)
    counts = attrgetter("facts", "present", "asserted", "below_zero", "trace_rows")
    assert counts(other.session.engine.statistics()) == counts(one.session.engine.statistics())


def outcome(driver, change):
    """The sorted changes of an epoch, or the error that it has met."""
    try:
        result = change(driver)
    except EngineError as error:
        return type(error)
    return result and sorted(driver.signed(result.closure))


def follow(programs, epochs, store):
    """Change the program of one store and of parts, with epochs between; both stay the same."""
    one = Driver(programs[0], RECURSION_LIMIT)
    other = Driver(programs[0], RECURSION_LIMIT, store=store)
    for number, epoch in enumerate(epochs):
        program = programs[number % len(programs)]
        updates = [update for update in epoch if update[0] in program.arities]
        steps = (
            lambda driver: driver.session.rehearse(driver.encode(updates), program),  # noqa: B023
            lambda driver: driver.change(program, updates[::2]),  # noqa: B023
            lambda driver: driver.apply([each for each in updates if each[0] in driver.own]),  # noqa: B023
        )
        for step in steps:
            assert outcome(other, step) == outcome(one, step)
            assert_same(one, other)


@pytest.mark.parametrize("large", [IN_TURNS, IN_THREADS], ids=["turns", "threads"])
@EXAMPLES
@given(scenarios(), CHOICES, COUNTS, st.randoms(use_true_random=False))
def test_in_this_process(large, scenario, choices, count, random):
    """Trace, changes and counts are those of one store after each change."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartsHere, "large", large)
        follow(*_programs(scenario, choices), here(count, by_chance(random)))


@FEW
@given(scenarios(), CHOICES, COUNTS, st.randoms(use_true_random=False))
def test_in_other_processes(scenario, choices, count, random):
    """The same where nothing but messages is shared."""
    follow(*_programs(scenario, choices), elsewhere(count, by_chance(random)))


@FEW
@given(
    st.lists(st.sets(st.sampled_from(schema.RULES)), min_size=2, max_size=4),
    st.lists(st.lists(schema.UPDATES, max_size=12), min_size=2, max_size=4),
    COUNTS,
    st.randoms(use_true_random=False),
)
def test_where_the_schema_decides_negation(chosen, epochs, count, random):
    """Barriers have owners like other facts."""
    programs = []
    for rules in chosen:
        try:
            programs.append(checked(schema.HEADER + "\n".join(sorted(rules))))
        except ProgramError:
            continue
    assume(programs)
    follow(programs, epochs, here(count, by_chance(random)))


def test_a_barrier_of_a_program_that_fails_is_forgotten():
    """Parts have copies of it yet, when the program changes again to one without barriers."""
    programs = [checked(schema.HEADER), checked(schema.HEADER + schema.RULES[1])]
    open_, closed = ("<http://example.org/Open>", "<http://example.org/Closed>")
    below = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    circle = [("triple", (open_, below, closed), 1)]
    for count in (1, 3):
        follow(programs, [circle, [], []], here(count, by_chance(random.Random(count))))


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("function", ["highest(?x, 1)", "lowest(?x, 2)", "max(?x)"])
def test_a_group_moves_with_its_results(function, count):
    """Its new owner shows the same results, and its former owner withdraws none of them."""
    program = checked(f"{HEADER}t({function}, ?x, ?y) :- edge(?x, ?y) .")
    nodes = [f"<http://example.org/{number}>" for number in range(6)]
    edges = [("edge", (x, y), 1) for x in nodes for y in nodes[:3]]
    follow([program], [edges, edges[3:9], []], here(count, another))


def _programs(scenario, choices):
    """Programs of some lines of a text each, and epochs."""
    assume(scenario.program.startswith(HEADER))
    programs = [program for choice in choices if (program := part(scenario.program, choice))]
    assume(programs)
    return programs, [*scenario.epochs, *([] for _ in programs)]


CHAIN = "p(?x, ?y) :- e(?x, ?y) . p(?x, ?z) :- p(?x, ?y), e(?y, ?z) ."
FAR = "@input e/2 . d(?y, ?x, min(1)) :- e(?x, ?y) . n(?y, count(?x)) :- e(?x, ?y) ."


def test_the_driver_never_has_the_state(monkeypatch):
    """What parts tell it does not grow with the state, which they exchange among themselves."""
    sizes = []
    for edges in (100, 2_000):
        driver = Driver(check_text(CHAIN), store=store_elsewhere(3))
        pairs = ((f"<urn:{x % 50}/{x}>", f"<urn:{x % 50}/{x + 50}>") for x in range(edges))
        driver.apply([("e", pair, 1) for pair in pairs])
        told = overheard(driver.session.engine._backend.parts._team, monkeypatch)  # noqa: SLF001 - nothing else hears them
        for text in (FAR, CHAIN):
            driver.change(check_text(text))
        sizes.append(len(pickle.dumps(told)))
    assert sizes[1] < 2 * sizes[0]


def overheard(team, monkeypatch):
    """What its processes answer from now on."""
    told, call = [], team.call_each

    def call_each(step, arguments):
        answers = call(step, arguments)
        told.append(answers)
        return answers

    monkeypatch.setattr(team, "call_each", call_each)
    return told
