"""Shared by the laws. Invariant: none pays for the collection of what earlier ones have loaded."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True)
def loaded_objects_are_kept():
    """Exempt what earlier laws have loaded from collections, before each law.

    Most examples collect the states of earlier ones. To traverse what stays each time, programs
    and strategies, takes a third of the processor time of all laws.
    """
    gc.collect()
    gc.freeze()
