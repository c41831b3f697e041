"""Where large input puts records changes no trace: facts lie in groups, restored ones too."""

from __future__ import annotations

import pytest
from driver import Driver
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import numbers, programs_of, updates_of
from thorough import THOROUGH

from streamreasoner.backends.columnar import backend, placement

RULES = (
    "d(?x, min(?x)) :- e(?x, _) .",
    "d(?y, min(?l)) :- d(?x, ?l), e(?x, ?y) .",
    "d(?x, min(?l)) :- d(?y, ?l), e(?x, ?y) .",
    "p(?x, ?z) :- p(?x, ?y), e(?y, ?z) .",
    "p(?x, ?y) :- f(?y, ?x), not d(?x, ?y) .",
    "p(?x, ?y) :- p(?z, ?x), p(?z, ?w), f(?w, ?y) .",
)
UPDATES = updates_of("eeeefp", numbers(5))
PROGRAMS = programs_of("@input e/2, f/2, p/2, d/2 .", RULES, min_size=4)


def test_the_trace_is_that_of_any_order():
    """Also after a restart; how often rows really moved is counted."""
    moved = []

    def counting(argument, args, *columns):
        placed = placement.place_together(argument, args, *columns)
        moved.append(placed[0].tolist() != args.tolist())
        return placed

    @settings(max_examples=400 if THOROUGH else 20)
    @given(PROGRAMS, st.lists(UPDATES, min_size=1, max_size=3), UPDATES)
    def law(checked, epochs, later):
        with pytest.MonkeyPatch.context() as patches:
            patches.setattr(placement, "LARGE", 1)
            patches.setattr(backend, "place_together", counting)
            driver = Driver(checked)
            for updates in epochs:
                driver.apply(updates)
            restarted = Driver(checked)
            restarted.inherit(driver)
            restarted.apply(later)

            assert driver.trace() == evaluate(checked, total(epochs))
            assert restarted.trace() == evaluate(checked, total([*epochs, later]))

    law()

    assert sum(moved) > 10
