"""What a request changes in what is asserted. Invariant: the last change of a quad counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.query.sparql.facts import FactsOfEpoch

Quad: TypeAlias = tuple[str, ...]
"""Canonical terms: three of a triple in the default graph, and a fourth, the name of its graph."""


class Asserted(Protocol):
    """What is asserted before a request, and what holds while it is performed."""

    def quads(self, graph: str | None) -> Iterable[Quad]:
        """What is asserted in a graph; None: the default graph."""
        ...

    def graphs(self) -> set[str]:
        """The names of the graphs in which something is asserted."""
        ...

    def facts(self, edits: Edits) -> FactsOfEpoch:
        """What WHERE reads, once the edits are made."""
        ...

    def load(self, source: str) -> Iterable[Quad]:
        """What a document has, by its IRI.

        Raises:
            DataError: It cannot be read.
        """
        ...


class Edits:
    """The changes of a request so far.

    Attributes:
        changed: For each quad that was changed, whether it is asserted.

    Args:
        before: What is asserted before the request.
    """

    def __init__(self, before: Asserted) -> None:
        self.changed: dict[Quad, bool] = {}
        self._before = before

    def insert(self, quads: Iterable[Quad]) -> None:
        """Assert quads."""
        self.changed.update(dict.fromkeys(quads, True))

    def delete(self, quads: Iterable[Quad]) -> None:
        """Retract quads."""
        self.changed.update(dict.fromkeys(quads, False))

    def quads(self, graph: str | None) -> list[Quad]:
        """What is asserted in a graph now."""
        kept = [quad for quad in self._before.quads(graph) if self.changed.get(quad, True)]
        added = [quad for quad, on in self.changed.items() if on and graph_of(quad) == graph]
        return list(dict.fromkeys((*kept, *added)))

    def graphs(self) -> set[str]:
        """The names of the graphs in which something is, or was, asserted."""
        changed = {name for quad in self.changed if (name := graph_of(quad)) is not None}
        return self._before.graphs() | changed


def graph_of(quad: Quad) -> str | None:
    """The name of the graph of a quad; None: the default graph."""
    _, _, _, *graph = quad
    return graph[0] if graph else None
