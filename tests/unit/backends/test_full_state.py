"""A state that is full refuses the epoch and stays as it was, whichever record did not fit."""

from __future__ import annotations

import pytest
from driver import Driver

from streamreasoner.analysis import check_text
from streamreasoner.backends.columnar import layout
from streamreasoner.errors import EngineError

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
    except EngineError as error:
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
        except EngineError:
            outcomes.add("full")

    assert outcomes == {"fits", "full"}
