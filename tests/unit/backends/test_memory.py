"""The memory of a state is given back at once, not when a collector of cycles comes by."""

from __future__ import annotations

import weakref

from streamreasoner.analysis.load import load_program
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.plan.lower import lower
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.values import Values

RULES = "total(sum(?n)) :- part(_, ?n) . long(?n) :- part(?n, _), ?n > 1 ."


def test_a_state_goes_with_its_backend():
    """Nothing in a backend refers back to it: gigabytes would wait for the next collection."""
    dictionary = Dictionary()
    backend = ColumnarBackend(lower(load_program(RULES)), dictionary, Values(dictionary))
    reference = weakref.ref(backend)

    del backend

    assert reference() is None
