"""A store in the memory of this process."""

from __future__ import annotations

from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.engine.session import Store
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values.value_columns import Values


def columnar(
    dictionary: Dictionary | None = None, kind: type[ColumnarBackend] = ColumnarBackend
) -> Store:
    """A store in the memory of this process.

    Args:
        dictionary: Terms and their ids; by default none yet.
        kind: The class of the backend.
    """
    terms = Dictionary() if dictionary is None else dictionary
    return Store(terms, lambda plan: kind(plan, terms, Values(terms)))
