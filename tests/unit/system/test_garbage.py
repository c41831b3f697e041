"""The collector is off while a function runs, or leaves out what exists; then it is as before."""

from __future__ import annotations

import gc
import weakref

import pytest

from streamreasoner.system.garbage import loaded_objects_are_kept, without_collections


@without_collections
def divide(left, right, *, inner=None):
    """A quotient, or what another function returns, and whether garbage is collected."""
    return (inner(left, right) if inner else left // right), gc.isenabled()


@pytest.fixture(params=[True, False])
def enabled(request):
    """Whether garbage is collected before the call."""
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_the_previous_state_is_restored(enabled):
    """After a result and after an error, also within a function that does the same."""
    assert divide(6, 3) == (2, False)
    assert gc.isenabled() is enabled
    with pytest.raises(ZeroDivisionError):
        divide(1, 0)
    assert gc.isenabled() is enabled
    assert divide(6, 3, inner=divide) == ((2, False), False)
    assert gc.isenabled() is enabled
    assert divide.__name__ == "divide"


class Cycle:
    """An object that only a collection frees."""

    def __init__(self):
        self.own = self


def test_loaded_objects_are_left_out_for_a_time():
    """What was garbage is freed before; what becomes garbage, if it is younger, or at the end."""
    garbage, loaded = weakref.ref(Cycle()), Cycle()
    old = weakref.ref(loaded)
    with loaded_objects_are_kept():
        assert garbage() is None
        del loaded
        young = weakref.ref(Cycle())
        gc.collect()
        assert young() is None
        assert old() is not None
    gc.collect()
    assert old() is None
    assert gc.get_freeze_count() == 0
