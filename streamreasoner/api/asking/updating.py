"""Requests of SPARQL Update at a reasoner. Invariant: a request becomes one epoch of updates.

What is inserted is asserted once, and what is deleted is not asserted any more. Facts that the
program states are its own: a request cannot delete them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import numpy as np

from streamreasoner.api.files import updates_of_file
from streamreasoner.counts import counted
from streamreasoner.engine.input.registers import frontier_of
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import DataError, QueryError
from streamreasoner.lang.ast import ARITIES, QUAD, TRIPLE, Constant
from streamreasoner.query.indexed_triples import IndexedTriples
from streamreasoner.query.sparql.facts import facts_of_arrays
from streamreasoner.query.sparql.limits import QueryLimits
from streamreasoner.query.sparql.updating.edits import graph_of
from streamreasoner.query.sparql.updating.perform import perform
from streamreasoner.rdf.texts import column
from streamreasoner.sparql.parse import parse_update

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.api.asking.epoch import EpochFacts
    from streamreasoner.engine.session import Session
    from streamreasoner.query.sparql.facts import FactsOfEpoch
    from streamreasoner.query.sparql.updating.edits import Edits, Quad

_PREDICATES = {ARITIES[predicate]: predicate for predicate in (TRIPLE, QUAD)}


class AssertedFacts:
    """What is asserted in a session, as requests change it.

    Args:
        session: The session, whose turn it is.
        present: Its present facts.
        lateness: How far its frontier stays behind the greatest event time, in milliseconds.
        time: The event time of what is changed, in milliseconds since 1970; None: it has none.
        inferred: Whether WHERE reads derived facts, too.
    """

    def __init__(
        self,
        session: Session,
        present: EpochFacts,
        lateness: int,
        time: int | None,
        *,
        inferred: bool,
    ) -> None:
        self._session = session
        self._engine = session.evaluated
        self._facts = present
        self._lateness = lateness
        self._time = time
        self._inferred = inferred
        self._stated = Counter(
            (fact.predicate, *(each.term for each in fact.arguments if isinstance(each, Constant)))
            for fact in session.program.facts
        )
        self._quads: dict[str | None, list[Quad]] | None = None

    def perform(self, text: str, base: str, limits: QueryLimits | None) -> list[Updates]:
        """What a request changes; see `Reasoner.update`.

        Args:
            text: The request.
            base: An absolute IRI that relative ones are resolved against, before any BASE.
            limits: What each WHERE may use; None: as much as there is.

        Raises:
            ProgramError: It is not SPARQL 1.1 Update; the message says where.
            QueryError: An operation fails, or exceeds a limit.
            DataError: It inserts what the program does not have, or a document cannot be read.
        """
        edits = perform(parse_update(text, "<update>", base), self, limits or QueryLimits())
        updates = self.updates(edits)
        self.check_deletions(edits, updates)
        return updates

    def quads(self, graph: str | None) -> list[Quad]:
        """What is asserted in a graph; None: the default graph."""
        return self._by_graph.get(graph, [])

    def graphs(self) -> set[str]:
        """The names of the graphs in which something is asserted."""
        return {name for name in self._by_graph if name is not None}

    def facts(self, edits: Edits) -> FactsOfEpoch:
        """What WHERE reads, once the edits are made."""
        if not self._inferred:
            names = [None, *edits.graphs()]
            quads = [quad for name in names for quad in edits.quads(name)]
            return self._copied({name: self._ids(quads, name) for name in (TRIPLE, QUAD)})
        if not edits.changed:
            return self._facts.facts()
        return self._copied(self._present_after(self.updates(edits)))

    def load(self, source: str) -> Iterator[Quad]:
        """What a file has, by its address."""
        address = urlsplit(source)
        if address.scheme != "file" or address.netloc not in ("", "localhost"):
            raise DataError(
                f"LOAD <{source}> is not supported: it reads files of this machine, such as "
                "<file:///data/a.ttl>. Download the document first."
            )
        for batch in updates_of_file(self._session, unquote(address.path)):
            if batch.predicate not in ARITIES or (batch.multiplicity < 0).any():
                raise DataError(f"LOAD <{source}> fails: the file has more than triples and quads.")
            yield from self._texts(batch.args)

    def updates(self, edits: Edits) -> list[Updates]:
        """The updates of one epoch that make the edits."""
        self._check_predicates(edits)
        updates = []
        for predicate in (TRIPLE, QUAD):
            quads = [quad for quad in edits.changed if _predicate(quad) == predicate]
            if not quads:
                continue
            ids = self._ids(quads, predicate)
            is_wanted = np.array([edits.changed[quad] for quad in quads], np.bool_)
            own = self._own(predicate, ids, quads)
            changes = np.where(is_wanted, np.where(own > 0, 0, 1), -np.maximum(own, 0))
            rows = changes != 0
            times = None if self._time is None else np.full(len(ids), self._time, np.int64)[rows]
            updates.append(Updates(predicate, ids[rows], changes[rows], times))
        return updates

    def check_deletions(self, edits: Edits, updates: Sequence[Updates]) -> None:
        """Refuse a request that deletes what would stay.

        Raises:
            QueryError: A fact that it deletes is not asserted, and derived in the end.
        """
        deleted = [quad for quad, on in edits.changed.items() if not on]
        kept = [
            quad
            for predicate in (TRIPLE, QUAD)
            if (quads := [quad for quad in deleted if _predicate(quad) == predicate])
            for quad, own in zip(
                quads, self._own(predicate, self._ids(quads, predicate), quads), strict=True
            )
            if own <= 0
        ]
        if not kept:
            return
        present = self._present_after(updates)
        staying = [quad for name in (TRIPLE, QUAD) for quad in self._among(kept, name, present)]
        if staying:
            more = f", and {counted(len(staying) - 1, 'more fact')}" if len(staying) > 1 else ""
            raise QueryError(
                f"The update cannot delete {' '.join(staying[0])}{more}: not asserted, but derived "
                "by rules or stated by the program, they would stay. Delete what they are derived "
                "from, which `explain` shows; in Python, inferred=False lets WHERE read asserted "
                "facts only. Nothing has changed."
            )

    @property
    def _by_graph(self) -> dict[str | None, list[Quad]]:
        if self._quads is None:
            self._quads = {}
            for predicate, ids in self._present().items():
                quads = list(self._texts(ids))
                for quad, own in zip(quads, self._own(predicate, ids, quads), strict=True):
                    if own > 0:
                        self._quads.setdefault(graph_of(quad), []).append(quad)
        return self._quads

    def _present(self) -> dict[str, NDArray[np.int32]]:
        """The present triples and quads."""
        return {
            name: self._engine.facts(name)
            if name in self._session.program.arities
            else np.empty((0, ARITIES[name]), np.int32)
            for name in (TRIPLE, QUAD)
        }

    def _present_after(self, updates: Sequence[Updates]) -> dict[str, NDArray[np.int32]]:
        found: dict[str, NDArray[np.int32]] = {}
        frontier = frontier_of(updates, self._lateness)
        self._session.rehearse(
            updates, frontier=frontier, read=lambda: found.update(self._present())
        )
        return found

    def _own(
        self, predicate: str, ids: NDArray[np.int32], quads: Iterable[Quad]
    ) -> NDArray[np.int64]:
        """How often facts are asserted, apart from what the program states."""
        if predicate not in self._session.program.arities:
            return np.zeros(len(ids), np.int64)
        asserted = self._engine.asserted(predicate, ids)
        if not self._stated:
            return asserted
        stated = [self._stated[(predicate, *quad)] for quad in quads]
        return asserted - np.array(stated, np.int64)

    def _among(
        self, quads: Iterable[Quad], predicate: str, present: dict[str, NDArray[np.int32]]
    ) -> list[Quad]:
        """Those of some quads that are present facts of a predicate."""
        found = [quad for quad in quads if _predicate(quad) == predicate]
        rows, known = (_as_bytes(ids) for ids in (self._ids(found, predicate), present[predicate]))
        is_present = np.isin(rows, known)
        return [quad for quad, stays in zip(found, is_present, strict=True) if stays]

    def _check_predicates(self, edits: Edits) -> None:
        for quad, is_wanted in edits.changed.items():
            predicate = _predicate(quad)
            if is_wanted and predicate not in self._session.program.arities:
                raise DataError(
                    f"The update inserts {'quads' if predicate == QUAD else 'triples'}, and the "
                    f"program has no predicate '{predicate}'. Add `@input "
                    f"{predicate}/{ARITIES[predicate]} .` to it, for instance with add_rules."
                )

    def _ids(self, quads: Iterable[Quad], predicate: str) -> NDArray[np.int32]:
        """The ids of those quads that are facts of a predicate, int32 of shape (n, arity)."""
        terms = [term for quad in quads if _predicate(quad) == predicate for term in quad]
        return self._session.dictionary.encode(column(terms)).reshape(-1, ARITIES[predicate])

    def _texts(self, ids: NDArray[np.int32]) -> Iterator[Quad]:
        texts = self._session.dictionary.decode(ids).to_pylist()
        return zip(*[iter(texts)] * ids.shape[1], strict=True)

    def _copied(self, present: dict[str, NDArray[np.int32]]) -> FactsOfEpoch:
        triples = IndexedTriples(present[TRIPLE])
        return facts_of_arrays(self._session.dictionary, triples, present[QUAD])


def _predicate(quad: Quad) -> str:
    return _PREDICATES[len(quad)]


def _as_bytes(ids: NDArray[np.int32]) -> NDArray[np.void]:
    """Each row as one value."""
    rows = np.ascontiguousarray(ids)
    return rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).reshape(-1)
