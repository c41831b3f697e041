"""A state that is full refuses the epoch and stays as it was, whichever record did not fit."""

from __future__ import annotations

import pytest
from driver import Driver

from streamreasoner.analysis import check_text
from streamreasoner.backends.columnar import layout, state
from streamreasoner.errors import StateFullError

PATHS = "path(?x, ?y) :- edge(?x, ?y).\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z).\n"


def edges(*pairs):
    """Assertions of `edge`."""
    return [("edge", (f"<urn:{x}>", f"<urn:{y}>"), 1) for x, y in pairs]


@pytest.mark.parametrize("room", range(0, 240, 3))
def test_an_epoch_that_does_not_fit_is_undone(room):
    """With any room left the epoch fits, or fails by name and leaves trace and sizes alone."""
    driver = Driver(check_text(PATHS))
    driver.apply(edges((1, 2), (2, 3)))
    before, sizes = driver.trace(), driver.reasoner.engine.statistics()
    scalars = driver.reasoner.engine._backend._state.scalars  # noqa: SLF001 - no user can do this
    capacity = scalars[layout.CAPACITY]
    scalars[layout.CAPACITY] = scalars[layout.TOP] + room
    more = edges((3, 1), (3, 4), (4, 5))
    try:
        driver.apply(more)
    except StateFullError as error:
        assert "The state is full" in str(error)  # noqa: PT017 - it may also fit
        assert driver.trace() == before
        assert driver.reasoner.engine.statistics().facts == sizes.facts
        scalars[layout.CAPACITY] = capacity
        driver.apply(more)
    whole = Driver(check_text(PATHS))
    whole.apply(edges((1, 2), (2, 3)) + more)

    assert driver.trace() == whole.trace()


def test_both_outcomes_are_met():
    """The rooms above are too little at first and enough in the end."""
    outcomes = set()
    for room in (0, 239):
        driver = Driver(check_text(PATHS))
        scalars = driver.reasoner.engine._backend._state.scalars  # noqa: SLF001
        scalars[layout.CAPACITY] = scalars[layout.TOP] + room
        try:
            driver.apply(edges((1, 2), (2, 3)))
            outcomes.add("fits")
        except StateFullError:
            outcomes.add("full")

    assert outcomes == {"fits", "full"}


@pytest.mark.parametrize(("addressable", "larger"), [(100, False), (101, True)])
def test_a_larger_machine_is_advised_only_where_it_helps(monkeypatch, addressable, larger):
    """Where addresses end before memory does, no machine is large enough."""
    driver = Driver(check_text(PATHS))
    driver.reasoner.engine._backend._state.scalars[layout.CAPACITY] = 100  # noqa: SLF001
    monkeypatch.setattr(state, "ADDRESSABLE_UNITS", addressable)
    with pytest.raises(StateFullError, match=r'of 0\.0 MiB that .*backend = "spark"') as full:
        driver.apply(edges(*((x, x + 1) for x in range(20))))
    assert ("a machine with more memory" in str(full.value)) == larger
    assert ("on any machine" in str(full.value)) != larger


def test_how_full_a_state_is_grows_with_its_records():
    """The figure is that of the arena: bytes of records, and bytes that there can be."""
    driver = Driver(check_text(PATHS))
    empty = driver.reasoner.engine.statistics().fill
    driver.apply(edges(*((x, x + 1) for x in range(20))))
    fill = driver.reasoner.engine.statistics().fill

    assert 0 < empty.ratio < fill.ratio < 1
    assert fill.limit == empty.limit == state.UNIT_BYTES * state.arena_units()
    assert fill.used >= 40 * driver.reasoner.engine.statistics().facts
