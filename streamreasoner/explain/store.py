"""Look up facts by pattern. Invariant: rows are in text order, whatever the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast, overload

import numpy as np
import pyarrow.compute as pc

from streamreasoner.engine.ports import LAST_ITERATION, Selection
from streamreasoner.lang.ast import GIVEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from streamreasoner.facts import Terms


_CHUNK = 256


class FactSource(Protocol):
    """The source of facts: the engine."""

    def select(
        self, predicate: str, bound: Mapping[int, int], iteration: int = LAST_ITERATION
    ) -> Selection:
        """Facts of a predicate with these ids at these positions."""
        ...


class HeldFact(NamedTuple):
    """A fact in the state, present or not; see `engine.ports.Selection` for the numbers."""

    arguments: tuple[str, ...]
    stratum: int
    since: int
    until: int
    asserted: int
    total: int

    @property
    def present(self) -> bool:
        """Whether it is present at the selected iteration."""
        return self.since >= 0


@dataclass(frozen=True, slots=True, eq=False)
class HeldFacts(Sequence[HeldFact]):
    """Facts of a selection in text order; terms are decoded on access.

    Attributes:
        selection: The facts, in text order.
        dictionary: Their terms.
    """

    selection: Selection
    dictionary: Terms

    def __len__(self) -> int:
        return len(self.selection.args)

    @overload
    def __getitem__(self, index: int) -> HeldFact: ...

    @overload
    def __getitem__(self, index: slice) -> HeldFacts: ...

    def __getitem__(self, index: int | slice) -> HeldFact | HeldFacts:
        if isinstance(index, slice):
            return HeldFacts(self.selection.take(index), self.dictionary)
        row = self._decoded(slice(index, index + 1 or None))
        return row[0]

    def __iter__(self) -> Iterator[HeldFact]:
        for start in range(0, len(self), _CHUNK):
            yield from self._decoded(slice(start, start + _CHUNK))

    def present(self) -> HeldFacts:
        """The present facts."""
        return self._masked(self.selection.since >= 0)

    def asserted(self) -> HeldFacts:
        """The asserted facts, which are given from iteration 0 on even if better ones win."""
        rows = self.selection.take(self.selection.asserted > 0)
        given = replace(rows, since=np.zeros_like(rows.since), until=np.full_like(rows.until, -1))
        return HeldFacts(given, self.dictionary)

    def before(self, stratum: int, iteration: int) -> HeldFacts:
        """The present facts; those of *stratum* only if present before *iteration*."""
        since = self.selection.since
        other = self.selection.stratum != stratum
        return self._masked((since >= 0) & (other | (since < iteration)))

    def at(self, stratum: int, then: HeldFacts) -> HeldFacts:
        """The present facts; those of *stratum* as in *then*, which holds the same facts."""
        own = then.selection.stratum == stratum
        columns = {
            name: np.where(own, getattr(then.selection, name), getattr(self.selection, name))
            for name in ("since", "until")
        }
        return HeldFacts(replace(self.selection, **columns), self.dictionary).present()

    def _masked(self, mask: NDArray[np.bool_]) -> HeldFacts:
        return self if mask.all() else HeldFacts(self.selection.take(mask), self.dictionary)

    def _decoded(self, part: slice) -> list[HeldFact]:
        rows = self.selection.take(part)
        terms = self.dictionary.decode(rows.args.reshape(-1)).to_pylist()
        arity = rows.args.shape[1]
        numbers = (
            column.tolist()
            for column in (rows.stratum, rows.since, rows.until, rows.asserted, rows.total)
        )
        tuples = cast("Iterator[tuple[int, int, int, int, int]]", zip(*numbers, strict=True))
        return [
            HeldFact(tuple(terms[at * arity : (at + 1) * arity]), *row)
            for at, row in enumerate(tuples)
        ]


class FactIndex:
    """The facts of one state, which must not change while this object is in use.

    Args:
        state: Selects facts by id.
        dictionary: Terms and ids.
        arities: Number of arguments of every predicate.
    """

    def __init__(self, state: FactSource, dictionary: Terms, arities: Mapping[str, int]) -> None:
        self._state = state
        self._dictionary = dictionary
        self._arities = arities
        self._rows: dict[object, HeldFacts] = {}

    def lookup(
        self, predicate: str, known: Mapping[int, str], iteration: int = LAST_ITERATION
    ) -> HeldFacts:
        """Facts with known terms at some positions, present or not, in text order.

        Args:
            predicate: Name of the predicate, or of the hidden one of its asserted facts.
            known: Terms by position.
            iteration: The iteration at which presence is computed, in each fact's own stratum.
        """
        if predicate.startswith(GIVEN):
            return self.lookup(predicate.removeprefix(GIVEN), known).asserted()
        key = (predicate, frozenset(known.items()), iteration)
        if key not in self._rows:
            self._rows[key] = self._read(predicate, known, iteration)
        return self._rows[key]

    def present(self, predicate: str, known: Mapping[int, str]) -> HeldFacts:
        """The facts that are present at the end of the epoch."""
        return self.lookup(predicate, known).present()

    def _read(self, predicate: str, known: Mapping[int, str], iteration: int) -> HeldFacts:
        ids: dict[int, int] = {}
        for position, term in known.items():
            term_id = self._dictionary.find(term)
            if term_id is None:
                return HeldFacts(_empty_selection(self._arities[predicate]), self._dictionary)
            ids[position] = term_id
        return self._sorted(self._state.select(predicate, ids, iteration))

    def _sorted(self, selection: Selection) -> HeldFacts:
        """Sort by text: by the rank of each term among those of the selection."""
        args = selection.args
        if len(args) > 1 and args.shape[1] > 0:
            distinct, inverse = np.unique(args, return_inverse=True)
            order = pc.sort_indices(self._dictionary.decode(distinct)).to_numpy()
            ranks = np.empty(len(order), np.int64)
            ranks[order] = np.arange(len(order))
            columns = ranks[inverse.reshape(args.shape)].T
            selection = selection.take(np.lexsort(columns[::-1]))
        return HeldFacts(selection, self._dictionary)


def _empty_selection(arity: int) -> Selection:
    """A selection without rows."""
    numbers, sums = np.empty(0, np.int32), np.empty(0, np.int64)
    return Selection(np.empty((0, arity), np.int32), numbers, numbers, numbers, sums, sums)
