"""A full state rejects the epoch and is unchanged, whichever record did not fit."""

from __future__ import annotations

import pytest
from driver import Driver

from streamreasoner.backends.choice import Limit
from streamreasoner.backends.columnar import arena
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.store import in_memory
from streamreasoner.errors import DictionaryFullError, StateFullError
from streamreasoner.program import check_text
from streamreasoner.rdf import dictionary
from streamreasoner.rdf.kernels import term_header

PATHS = "path(?x, ?y) :- edge(?x, ?y).\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z).\n"


def edges(*pairs):
    """Assertions of `edge`."""
    return [("edge", (f"<urn:{x}>", f"<urn:{y}>"), 1) for x, y in pairs]


@pytest.mark.parametrize("room", range(0, 240, 3))
def test_an_epoch_that_does_not_fit_is_rolled_back(room):
    """With any free space the epoch fits, or fails with StateFullError and changes nothing."""
    driver = Driver(check_text(PATHS))
    driver.apply(edges((1, 2), (2, 3)))
    before, sizes = driver.trace(), driver.session.engine.statistics()
    scalars = driver.session.engine._backend._state.scalars  # noqa: SLF001 - no user can do this
    capacity = scalars[layout.CAPACITY]
    scalars[layout.CAPACITY] = scalars[layout.TOP] + room
    more = edges((3, 1), (3, 4), (4, 5))
    try:
        driver.apply(more)
    except StateFullError as error:
        assert "The state is full" in str(error)  # noqa: PT017 - it may also fit
        assert driver.trace() == before
        assert driver.session.engine.statistics().facts == sizes.facts
        scalars[layout.CAPACITY] = capacity
        driver.apply(more)
    fresh = Driver(check_text(PATHS))
    fresh.apply(edges((1, 2), (2, 3)) + more)

    assert driver.trace() == fresh.trace()


def test_both_outcomes_occur():
    """The range of free space above covers both a full arena and enough space."""
    outcomes = set()
    for room in (0, 239):
        driver = Driver(check_text(PATHS))
        scalars = driver.session.engine._backend._state.scalars  # noqa: SLF001
        scalars[layout.CAPACITY] = scalars[layout.TOP] + room
        try:
            driver.apply(edges((1, 2), (2, 3)))
            outcomes.add("fits")
        except StateFullError:
            outcomes.add("full")

    assert outcomes == {"fits", "full"}


@pytest.mark.parametrize(
    ("addressable", "advice"),
    [(100, "in one part.*raise pipeline.cores"), (101, "use a machine with more memory")],
)
def test_what_helps_is_advised(monkeypatch, addressable, advice):
    """Where addresses run out before memory does, more parts help, a larger machine does not."""
    driver = Driver(check_text(PATHS))
    driver.session.engine._backend._state.scalars[layout.CAPACITY] = 100  # noqa: SLF001
    monkeypatch.setattr(arena, "ADDRESSABLE_UNITS", addressable)
    with pytest.raises(StateFullError, match=rf"of 0\.0 MiB that .*{advice}"):
        driver.apply(edges(*((x, x + 1) for x in range(20))))


@pytest.mark.parametrize("room", range(0, 600, 40))
def test_a_change_of_the_program_that_does_not_fit_is_rolled_back(room):
    """Also if all records have moved already: there is room for them where they came from."""
    first, second = check_text("path(?x, ?y) :- edge(?x, ?y).\n"), check_text(PATHS)
    driver, fresh = Driver(first), Driver(first)
    for each in (driver, fresh):
        each.apply(edges(*((x, x + 1) for x in range(8))))
    scalars = driver.session.engine._backend._state.scalars  # noqa: SLF001 - no user can do this
    capacity = scalars[layout.CAPACITY]
    scalars[layout.CAPACITY] = scalars[layout.TOP] + room
    try:
        driver.change(second)
    except StateFullError:
        scalars[layout.CAPACITY] = capacity
        for each in (driver, fresh):
            each.apply(edges((8, 9)))
        assert driver.trace() == fresh.trace()
        driver.change(second)
    fresh.change(second)

    assert driver.trace() == fresh.trace()


def test_a_change_of_the_program_needs_room_in_each_part(monkeypatch):
    """Where one part does not have it, nothing changes; more parts have it."""
    monkeypatch.setattr(arena, "ADDRESSABLE_UNITS", 370)
    more = check_text(PATHS + "".join(f"also{i}(?y, ?x) :- edge(?x, ?y).\n" for i in range(8)))
    one, several = Driver(check_text(PATHS)), Driver(check_text(PATHS), store=in_memory(4))
    for driver in (one, several):
        driver.apply(edges(*((x, x + 1) for x in range(0, 24, 2))))
    before = one.trace()
    with pytest.raises(StateFullError, match=r"raise pipeline.cores"):
        one.change(more)

    assert one.trace() == before

    several.change(more)
    monkeypatch.undo()
    expected = Driver(more)
    expected.apply(edges(*((x, x + 1) for x in range(0, 24, 2))))

    assert several.trace() == expected.trace()


def test_fill_grows_with_the_records():
    """The fill is that of the arena: bytes of records, out of its capacity."""
    driver = Driver(check_text(PATHS))
    empty = driver.session.engine.statistics().capacity.records
    driver.apply(edges(*((x, x + 1) for x in range(20))))
    fill = driver.session.engine.statistics().capacity.records

    assert 0 < empty.ratio < fill.ratio < 1
    assert fill.limit == empty.limit == arena.UNIT_BYTES * arena.arena_units()
    assert fill.used >= 40 * driver.session.engine.statistics().facts


PRODUCTS = "product(?z) :- number(?x), ?z = ?x * 1000 + 7 ."


def number(value):
    """The assertion of a number."""
    return [("number", (f'"{value}"^^<http://www.w3.org/2001/XMLSchema#integer>',), 1)]


@pytest.mark.parametrize("room", [0, 100], ids=["input", "derived"])
@pytest.mark.parametrize("store", ["text", "ids"])
def test_an_epoch_whose_terms_do_not_fit_is_rolled_back(monkeypatch, store, room):
    """Terms of the input, and those that rules make: the error names the dictionary and a way out.

    Executors do not help, so `auto` must not move the state there.
    """
    driver = Driver(check_text(PRODUCTS))
    driver.apply(number(1))
    before, terms = driver.trace(), driver.session.dictionary
    header = terms._header  # noqa: SLF001 - no user can do this
    if store == "text":
        way_out = "a machine with more memory"
        which, limit = term_header.BYTES_LIMIT, terms.text.used + room
    else:
        way_out = "Start with a new state"
        which, limit = term_header.COUNT_LIMIT, len(terms) + room // 100
        monkeypatch.setattr(dictionary, "MAX_TERMS", limit)
    enough, header[which] = header[which], limit
    with pytest.raises(DictionaryFullError, match=f"The dictionary is full: .*{way_out}"):
        driver.apply(number(55))
    assert driver.trace() == before

    monkeypatch.undo()
    header[which] = enough
    driver.apply(number(55))
    fresh = Driver(check_text(PRODUCTS))
    fresh.apply(number(1) + number(55))
    assert driver.trace() == fresh.trace()


@pytest.mark.parametrize("store", ["facts", "terms"])
def test_a_nearly_full_store_counts_with_its_own_limit(store):
    """`auto` and the metrics see the store that fills, whichever it is."""
    driver = Driver(check_text(PATHS))
    driver.apply(edges((1, 2), (2, 3)))
    engine, terms = driver.session.engine, driver.session.dictionary
    size, limit = engine.statistics().capacity, Limit(0)
    assert not limit.exceeded(size)
    assert size.bytes == engine.statistics().bytes + terms.nbytes
    if store == "facts":
        limits, which, used = engine._backend._state.scalars, layout.CAPACITY, size.records.used  # noqa: SLF001
        used //= arena.UNIT_BYTES
    else:
        limits, which, used = terms._header, term_header.BYTES_LIMIT, size.text.used  # noqa: SLF001
    for share, moves in ((0.7, False), (0.8, True)):
        limits[which] = used / share
        size = engine.statistics().capacity
        assert size.stores[store].ratio == pytest.approx(share, abs=0.02)
        assert limit.exceeded(size) == moves
