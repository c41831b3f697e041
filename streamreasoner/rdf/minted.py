"""IRIs that this program makes. Invariant: the same thing has the same IRI, everywhere."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIGITS = 32


def minted(kind: str, text: str) -> str:
    """The IRI `<urn:streamreasoner:KIND:HASH>`; the hash is 128 bits of SHA-256 of the text."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"<urn:streamreasoner:{kind}:{digest[:_DIGITS]}>"


def fact_iri(predicate: str, arguments: Sequence[str]) -> str:
    """The IRI of a fact, which has canonical terms, in provenance."""
    return minted("fact", " ".join((predicate, *arguments)))
