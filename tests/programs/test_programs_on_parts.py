"""Golden programs on parts: what each epoch changes and what the trace is in the end."""

from __future__ import annotations

import gc

import pytest
from driver import Driver
from programs.cases import read_all
from teams import store_elsewhere
from thorough import THOROUGH

from streamreasoner.backends.store import divided

CASES = read_all()
COUNTS = (1, 2, 3, 8) if THOROUGH else (3,)


@pytest.mark.parametrize("store", [divided, store_elsewhere], ids=["here", "elsewhere"])
@pytest.mark.parametrize("parts", COUNTS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_changes_and_trace(case, parts, store):
    """They are those of the golden file, as those of one store are."""
    gc.collect()  # earlier states hold address space, in circles
    driver = Driver(case.checked, store=store(parts))
    changes = driver.changes(case.epochs)

    assert case.render(changes, driver.trace()) == case.expected.read_text("utf-8")
