"""Parts: what they exchange, how they grow, and how they fail."""

from __future__ import annotations

import random
from functools import partial
from operator import attrgetter

import numpy as np
import pytest
from driver import Driver
from oracle.arithmetic import numeral

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.parts.here import PartsHere
from streamreasoner.backends.parts.part import owned_rows
from streamreasoner.backends.parts.part import parts_of as owners_of
from streamreasoner.backends.store import divided, parts_backend
from streamreasoner.engine import cost_model
from streamreasoner.engine.session import Store
from streamreasoner.errors import MultiplicityOverflowError, StateFullError
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.system.processors import MOST_PARTS

CLOSURE = "p(?x, ?y) :- e(?x, ?y) . p(?x, ?z) :- p(?x, ?y), p(?y, ?z) ."
PARTS = 3


def on_parts(text, parts=PARTS):
    """A driver whose state is in parts."""
    return Driver(check_text(text), store=divided(parts))


def parts_of(driver):
    """Its parts."""
    return driver.session.engine._backend.parts.parts  # noqa: SLF001 - nothing else shows them


def edges(pairs, multiplicity=1):
    """Updates of edges between numbers."""
    return [("e", (numeral(x), numeral(y)), multiplicity) for x, y in pairs]


def graph(nodes, count):
    """Random edges, in order."""
    chosen = random.Random(1)
    return sorted({(chosen.randrange(nodes), chosen.randrange(nodes)) for _ in range(count)})


def test_a_large_state_is_that_of_one_store():
    """Outboxes and tables of facts grow, and what leaves them leaves nothing behind."""
    pairs = graph(120, 260)
    one, other = Driver(check_text(CLOSURE)), on_parts(CLOSURE)
    for epoch in (edges(pairs), edges(pairs[::7], -1), edges(pairs[::7])):
        one.apply(epoch)
        other.apply(epoch)

        assert other.trace() == one.trace()
    other.apply(edges(pairs, -1))
    found = other.session.engine.statistics()

    assert (found.facts, found.trace_rows, found.present, found.asserted) == (0, 0, 0, 0)
    for part in parts_of(other):
        assert part._state.scalars[layout.FACT_COUNT] == 0  # noqa: SLF001 - with its copies


def test_heads_are_summed_before_they_are_sent():
    """However often a part derives a head in an iteration, its owner fetches it once."""
    driver = on_parts("h(1) :- e(?x, _) .")
    driver.apply(edges((n, n) for n in range(100)))

    assert driver.trace()["h", (numeral(1),)] == {1: 100}
    assert sum(part.fetched[0] for part in parts_of(driver)) == PARTS - 1


def test_a_rule_at_home_with_its_heads_sends_nothing():
    """Facts that are joined where they are owned, and derived there, stay in their part."""
    driver = on_parts("h(?x) :- e(?x, ?y), f(?x) .")
    driver.apply([*edges((n, n) for n in range(100)), ("f", (numeral(5),), 1)])

    assert ("h", (numeral(5),)) in driver.closure()
    assert [part.fetched for part in parts_of(driver)] == [(0, 0)] * PARTS


def test_each_part_has_a_share():
    """No part owns much more than others."""
    driver = on_parts("h(?x) :- e(?x, ?y) .")
    driver.apply(edges((n, n) for n in range(3000)))
    sizes = [part.statistics().facts for part in parts_of(driver)]

    assert sum(sizes) == 6000
    assert max(sizes) < 1.1 * min(sizes)


def step_in(room, driver, step, size):
    """Take a step with some units of room in each part, and again with more if it does not fit.

    Returns:
        Whether it fits at once. If not, it leaves the trace, and a size of the state, as they were.
    """
    before, before_size = driver.trace(), size(driver.session.engine.statistics())
    scalars = [part._state.scalars for part in parts_of(driver)]  # noqa: SLF001 - as above
    capacity = scalars[0][layout.CAPACITY]
    for each in scalars:
        each[layout.CAPACITY] = each[layout.TOP] + room
    try:
        step()
    except StateFullError:
        assert driver.trace() == before
        assert size(driver.session.engine.statistics()) == before_size
        for each in scalars:
            each[layout.CAPACITY] = capacity
        step()
        return False
    return True


def test_an_epoch_for_which_a_part_has_no_room_is_rolled_back():
    """Wherever the memory of parts ends, all of them are as they were, and go on."""
    outcomes = set()
    for room in range(0, 130, 5):
        driver = on_parts(CLOSURE)
        driver.apply(edges([(1, 2), (2, 3)]))
        more = edges([(3, 1), (3, 4), (4, 5)])
        outcomes.add(step_in(room, driver, partial(driver.apply, more), attrgetter("facts")))
        fresh = Driver(check_text(CLOSURE))
        fresh.apply([*edges([(1, 2), (2, 3)]), *more])

        assert driver.trace() == fresh.trace()
    assert outcomes == {True, False}


def test_a_full_outbox_is_an_error_and_rolled_back():
    """The epoch fails with a message, and the next one finds the state as it was."""
    driver = on_parts("h(?y, ?x) :- e(?x, ?y) .")
    driver.apply(edges([(1, 2)]))
    before = driver.trace()
    for part in parts_of(driver):
        part._state.scalars[layout.OUTBOX_LIMIT] = 1  # noqa: SLF001 - as if there was no memory
    with pytest.raises(StateFullError):
        driver.apply(edges((n, n + 1) for n in range(50)))

    assert driver.trace() == before

    driver.apply(edges([(1, 2)], -1))

    assert driver.trace() == {}


DIRECT = "p(?x, ?y) :- e(?x, ?y) ."
COUNTED = DIRECT + "p(?x, ?z) :- p(?x, ?y), e(?y, ?z) . q(?x, count(?y)) :- p(?x, ?y) ."


def owned_and_copied(driver):
    """The sorted rows that each part owns, and those that it has copies of."""
    return [
        {name: sorted(part.trace(name).args.tolist()) for name in part.compiled[0].relations}
        for part in parts_of(driver)
    ]


def test_a_change_of_the_program_divides_the_state_anew():
    """Facts and copies are where they would be if the new program had been there from the start."""
    driver, expected = on_parts(DIRECT), on_parts(COUNTED)
    for each in (driver, expected):
        each.apply(edges(graph(30, 60)))
    before = driver.trace()
    driver.change(check_text(COUNTED))

    assert driver.trace() == expected.trace()
    assert owned_and_copied(driver) == owned_and_copied(expected)

    driver.change(check_text(DIRECT))

    assert driver.trace(("e", "p")) == before
    assert not any(rows for part in owned_and_copied(driver) for rows in copies(part))


def test_copies_are_counted_after_a_change_of_the_program():
    """A rule that only counts them finds those that were there before it."""
    dictionary = Dictionary()

    def backend(plan):
        return parts_backend(
            plan, dictionary, PARTS, choose=lambda plan, _: dict.fromkeys(plan.arities, 0)
        )

    driver = Driver(check_text("@input e/2 . @input f/2 ."), store=Store(dictionary, backend))
    driver.apply(edges([(1, 2), (3, 2), (4, 5)]))
    driver.change(check_text("@input e/2 . @input f/2 . h(?y) :- f(?x, ?y), e(_, ?x) ."))
    driver.apply([("f", (numeral(2), numeral(7)), 1)])

    assert driver.trace()["h", (numeral(7),)] == {1: 2}


def copies(part):
    """The rows of copies that a part has."""
    return [rows for name, rows in part.items() if name.startswith("part@")]


def test_a_change_of_the_program_for_which_a_part_has_no_room_is_rolled_back():
    """Wherever the memory of parts ends, facts and copies go back, and another attempt succeeds."""
    outcomes = set()
    expected = Driver(check_text(COUNTED))
    expected.apply(edges(graph(12, 20)))
    for room in range(0, 1_200, 40):
        driver = on_parts(DIRECT)
        driver.apply(edges(graph(12, 20)))
        change = partial(driver.change, check_text(COUNTED))
        outcomes.add(step_in(room, driver, change, attrgetter("trace_rows")))

        assert driver.trace() == expected.trace()
    assert outcomes == {True, False}


def test_a_change_of_the_program_that_fails_leaves_the_parts():
    """The state is divided as it was, and goes on."""
    driver = on_parts("p(?x) :- e(?x, _) .")
    driver.apply(edges([(1, 2), (3, 4)]))
    driver.apply(edges([(1, 2)], 1 << 57))
    before, parts = driver.trace(), parts_of(driver)
    with pytest.raises(MultiplicityOverflowError):
        driver.change(
            check_text("p(?x) :- e(?x, _) . p(?x) :- e(?x, ?y), e(?x, ?z) ."),
            edges([(1, 2)], 1 << 57),
        )

    assert driver.trace() == before
    assert parts_of(driver) == parts

    driver.apply(edges([(3, 4)], -1))

    assert ("p", (numeral(3),)) not in driver.closure()


@pytest.mark.parametrize("parts", [2, 3, 8])
@pytest.mark.parametrize(
    "rule",
    [
        "on() :- node(?x), node(?y) .",
        "on() :- node(?x), node(?y), node(?z) .",
        "on(?z) :- node(?x), node(?y), other(?z) .",
        "on(?z) :- e(?z, ?x), e(?z, ?y) .",
        "on(?z) :- e(?x, ?z), e(?y, ?z), node(?v), node(?w) .",
    ],
)
def test_atoms_that_are_written_alike_read_all_facts(rule, parts):
    """Once unused variables are dropped, nothing tells them apart; each pair is one solution."""
    text = f"{rule}\n@input node/1 .\n@input other/1 .\n@input e/2 ."
    one, other = Driver(check_text(text)), on_parts(text, parts)
    updates = [("node", (numeral(n),), 1) for n in range(5)]
    updates += [("other", (numeral(n),), 1) for n in range(3)]
    updates += edges([(x, y) for x in range(4) for y in range(3)])
    for epoch in (updates, [(name, args, -1) for name, args, _ in updates[::2]]):
        one.apply(epoch)
        other.apply(epoch)

        assert other.trace() == one.trace()


@pytest.mark.parametrize("large", [1 << 62, 0], ids=["turns", "threads"])
def test_an_epoch_that_loses_most_is_evaluated_anew(large, monkeypatch):
    """Parts know what is asserted, as one store does: copies are not."""
    monkeypatch.setattr(PartsHere, "large", large)
    monkeypatch.setattr(cost_model, "LEAST", 0)
    pairs = graph(40, 100)
    one, other = Driver(check_text(CLOSURE)), on_parts(CLOSURE)
    for epoch in (edges(pairs), edges(pairs[10:], -1), edges(pairs[10:])):
        efforts = [driver.session.engine._backend.effort() for driver in (one, other)]  # noqa: SLF001 - as above
        assert efforts[0].asserted == efforts[1].asserted
        results = [driver.apply(epoch) for driver in (one, other)]

        assert results[0].recomputed == results[1].recomputed == (epoch[0][2] < 0)
        assert other.trace() == one.trace()


def test_the_first_part_to_spend_its_share_gives_up_for_all(monkeypatch):
    """Its epoch is evaluated anew in all parts."""
    monkeypatch.setattr(cost_model, "LEAST", 0)
    monkeypatch.setattr(cost_model, "LOADS", 0.01)
    pairs = graph(40, 100)
    one, other = Driver(check_text(CLOSURE)), on_parts(CLOSURE)
    for driver in (one, other):
        driver.apply(edges(pairs))
    one.apply(edges(pairs[:20], -1))
    result = other.apply(edges(pairs[:20], -1))

    assert result.recomputed
    assert result.given_up
    assert other.trace() == one.trace()


@pytest.mark.parametrize("count", [1, 3, 64, MOST_PARTS])
def test_the_rows_of_each_part_are_those_that_it_owns_in_their_order(count):
    """Whatever the number of parts; a part without any has None."""
    args = np.random.default_rng(0).integers(0, 5_000, (2_000, 3)).astype(np.int32)
    owners = owners_of(args[:, 1], count)

    for given in (args, args[:1], args[:0]):
        found = [*owned_rows(1, given, count)]

        assert len(found) == count
        for number, rows in enumerate(found):
            expected = np.flatnonzero(owners[: len(given)] == number)
            assert (rows is None) == (len(expected) == 0)
            assert rows is None or rows.tolist() == expected.tolist()
