"""The memory of a state is freed at once, without the cycle collector."""

from __future__ import annotations

import weakref

from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.load import load_program
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values.value_columns import Values

RULES = "total(sum(?n)) :- part(_, ?n) . long(?n) :- part(?n, _), ?n > 1 ."


def test_a_state_is_freed_with_its_backend():
    """A backend is in no reference cycle, which would keep gigabytes until a collection."""
    dictionary = Dictionary()
    backend = ColumnarBackend(lower(load_program(RULES)), dictionary, Values(dictionary))
    reference = weakref.ref(backend)

    del backend

    assert reference() is None
