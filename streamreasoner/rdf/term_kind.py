"""Which kind a term is. Invariant: nothing else outside of kernels looks at its first character.

A term is given by its text in N-Triples, canonical or not: where it begins tells its kind, whether
or not the rest is valid. `rdf.texts` tells the same of columns.
"""

from __future__ import annotations

from enum import Enum

IRI_START, BLANK_NODE_START, LITERAL_START = "<", "_:", '"'
_TRIPLE_TERM_START = "<<"
_STARTS = (IRI_START, BLANK_NODE_START, LITERAL_START)


class TermKind(Enum):
    """The kind of a term."""

    IRI = "IRI"
    BLANK_NODE = "blank node"
    LITERAL = "literal"


_KINDS = {start[0]: kind for start, kind in zip(_STARTS, TermKind, strict=True)}


def kind_of(term: str) -> TermKind | None:
    """The kind of a term, also of one that is malformed; None if it begins as none does."""
    return _KINDS.get(term[:1])


def begins_term(text: str) -> bool:
    """Whether any text, such as the name of a column, begins like a term."""
    return text.startswith(_STARTS)


def is_iri(term: str) -> bool:
    """Whether it is an IRI."""
    return term.startswith(IRI_START)


def is_blank_node(term: str) -> bool:
    """Whether it is a blank node."""
    return term.startswith(BLANK_NODE_START)


def is_literal(term: str) -> bool:
    """Whether it is a literal, ill-typed ones included."""
    return term.startswith(LITERAL_START)


def is_triple_term(term: str) -> bool:
    """Whether it is a triple term of RDF 1.2, which is refused wherever terms are read."""
    return term.startswith(_TRIPLE_TERM_START)
