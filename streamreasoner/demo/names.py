"""Short names for terms. Invariant: two terms of the demo never have the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.demo.schema import UNIVERSITY
from streamreasoner.rdf import vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMESPACES = ((UNIVERSITY, ""), (vocabulary.RDF, "rdf:"), (vocabulary.RDFS, ""))


def short(term: str) -> str:
    """A canonical term without the namespaces of the demo."""
    if term == f"<{vocabulary.RDF_TYPE}>":
        return "a"
    for namespace, prefix in _NAMESPACES:
        if term.startswith(f"<{namespace}"):
            return f"{prefix}{term[len(namespace) + 1 : -1]}"
    return term


def sentence(terms: Sequence[str]) -> str:
    """A fact as one line."""
    return " ".join(short(term) for term in terms)
