"""Stores in the memory of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.parts.backend import PartsBackend
from streamreasoner.engine.session import Store
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values.value_columns import Values

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from streamreasoner.engine.ports import Backend
    from streamreasoner.plan.program_plan import ProgramPlan
    from streamreasoner.state import Tables


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


def divided(parts: int, dictionary: Dictionary | None = None) -> Store:
    """A store in the memory of this process whose facts are divided among parts.

    Args:
        parts: The number of parts.
        dictionary: Terms and their ids; by default none yet.
    """
    terms = Dictionary() if dictionary is None else dictionary
    return Store(terms, lambda plan: PartsBackend(plan, terms, Values(terms), parts))


def restored(tables: Tables, before: int, terms: Callable[[int], pa.Array] | None = None) -> Store:
    """A store in the memory of this process, with what tables have.

    Args:
        tables: The tables of a state.
        before: The epoch to stop before.
        terms: Gives further terms from an id on, which they have had before; None: there are none.
    """
    dictionary = Dictionary()
    # Before the program's constants, so that terms keep their ids.
    tables.restore_terms(dictionary)
    if terms is not None:
        dictionary.encode(terms(len(dictionary)))
    empty = columnar(dictionary)

    def backend(plan: ProgramPlan) -> Backend:
        made = empty.backend(plan)
        made.restore(tables.restore(before))
        return made

    return Store(dictionary, backend)
