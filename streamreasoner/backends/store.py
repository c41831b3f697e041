"""Stores in memory: that of this process, or of others."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.parts.backend import PartsBackend
from streamreasoner.backends.parts.elsewhere import PartsElsewhere
from streamreasoner.backends.parts.here import parts_here
from streamreasoner.engine.session import Store
from streamreasoner.errors import DataError
from streamreasoner.plan.division import chosen_owners
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.system.processors import MOST_CORES
from streamreasoner.values.value_columns import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from streamreasoner.backends.parts.crew import Crew
    from streamreasoner.backends.parts.elsewhere import Team
    from streamreasoner.backends.parts.port import Owners
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.plan.program_plan import ProgramPlan


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
    return Store(terms, lambda plan: parts_backend(plan, terms, parts))


def parts_backend(
    plan: ProgramPlan,
    dictionary: Dictionary,
    parts: int,
    *,
    choose: Callable[[ProgramPlan, Owners], Owners] = chosen_owners,
    crew: Crew | None = None,
) -> PartsBackend:
    """A state that is divided among parts in this process.

    Args:
        plan: The program.
        dictionary: Terms and their ids.
        parts: The number of parts.
        choose: Chooses owning arguments; by default as the program says.
        crew: Takes steps in threads; by default one for each part, as long as there are processors.
    """
    place = parts_here(dictionary, Values(dictionary), parts, crew)
    return PartsBackend(plan, dictionary, place, choose=choose)


def divided_elsewhere(team: Team, dictionary: Dictionary) -> Store:
    """A store whose facts are divided among other processes.

    Args:
        team: The processes; they hold one state at a time.
        dictionary: Terms and their ids, as of the team.
    """
    place = partial(PartsElsewhere, team)
    return Store(
        dictionary,
        lambda plan: PartsBackend(plan, dictionary, place),
        aside=columnar(dictionary).backend,
    )


class Restorable(Protocol):
    """The tables of a state, which may be open for writing or held for reading."""

    def restore_terms(self, dictionary: Dictionary) -> None:
        """Load all terms into an empty dictionary."""

    def restore(self, before: int) -> Iterable[TraceRows]:
        """The trace of the epochs below one, in blocks."""


def restored(
    tables: Restorable,
    before: int,
    terms: Callable[[int], pa.Array] | None = None,
    *,
    empty: Callable[[Dictionary], Store] = columnar,
) -> Store:
    """A store for what tables have, which a session takes when it resumes.

    Args:
        tables: The tables of a state.
        before: The epoch to stop before.
        terms: Gives further terms from an id on, which they have had before; None: there are none.
        empty: Makes the store; by default a whole state in the memory of this process.
    """
    dictionary = Dictionary()
    # Before the program's constants, so that terms keep their ids.
    tables.restore_terms(dictionary)
    if terms is not None:
        dictionary.encode(terms(len(dictionary)))
    return replace(empty(dictionary), trace=partial(tables.restore, before))
