"""Stores in the memory of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.parts.backend import PartsBackend
from streamreasoner.engine.session import Store
from streamreasoner.errors import DataError
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.system.processors import MOST_CORES
from streamreasoner.values.value_columns import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from streamreasoner.engine.ports import Backend
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.plan.program_plan import ProgramPlan
    from streamreasoner.rdf.dictionary import TermDictionary


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


def in_memory(cores: int = 1, dictionary: Dictionary | None = None) -> Store:
    """A store in the memory of this process, on a number of cores.

    Args:
        cores: The number: 1 for a whole state, or else among as many parts it is divided.
        dictionary: Terms and their ids; by default none yet.

    Raises:
        DataError: It is not a number of cores.
    """
    if isinstance(cores, bool) or not isinstance(cores, int) or not 1 <= cores <= MOST_CORES:
        raise DataError(f"cores must be an integer from 1 to {MOST_CORES}, not {cores!r}.")
    return columnar(dictionary) if cores == 1 else divided(cores, dictionary)


def divided(parts: int, dictionary: Dictionary | None = None) -> Store:
    """A store in the memory of this process whose facts are divided among parts.

    Args:
        parts: The number of parts.
        dictionary: Terms and their ids; by default none yet.
    """
    terms = Dictionary() if dictionary is None else dictionary
    return Store(terms, lambda plan: PartsBackend(plan, terms, Values(terms), parts))


class Restorable(Protocol):
    """The tables of a state, which may be open for writing or held for reading."""

    def restore_terms(self, dictionary: TermDictionary) -> None:
        """Load all terms into an empty dictionary."""

    def restore(self, before: int) -> Iterable[TraceRows]:
        """The trace of the epochs below one, in blocks."""


def restored(
    tables: Restorable,
    before: int,
    terms: Callable[[int], pa.Array] | None = None,
    *,
    cores: int = 1,
) -> Store:
    """A store in the memory of this process, with what tables have.

    Args:
        tables: The tables of a state.
        before: The epoch to stop before.
        terms: Gives further terms from an id on, which they have had before; None: there are none.
        cores: As of `in_memory`.

    Raises:
        DataError: As of `in_memory`.
    """
    dictionary = Dictionary()
    # Before the program's constants, so that terms keep their ids.
    tables.restore_terms(dictionary)
    if terms is not None:
        dictionary.encode(terms(len(dictionary)))
    empty = in_memory(cores, dictionary)

    def backend(plan: ProgramPlan) -> Backend:
        made = empty.backend(plan)
        made.restore(tables.restore(before))
        return made

    return Store(dictionary, backend)
