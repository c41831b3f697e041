"""The version of RDF that a document needs. Invariant: it is announced only where it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from streamreasoner.rdf.texts import are_triple_terms

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 'VERSION "1.2"\n'
"""What a document in Turtle or TriG begins with if it has terms that RDF 1.1 lacks."""


def has_new_terms(terms: pa.Array) -> bool:
    """Whether a column has a term that RDF 1.1 lacks: a triple term, or a base direction."""
    directional = pc.match_substring_regex(terms, r'"@[A-Za-z0-9-]+--(?:ltr|rtl)\z')
    return bool(pc.any(pc.or_(are_triple_terms(terms), directional)).as_py())
