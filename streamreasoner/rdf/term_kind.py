"""Which kind a term is. Invariant: nothing else outside of kernels looks at how it begins.

A term is given by its text in N-Triples 1.2, canonical or not: where it begins tells its kind,
whether or not the rest is valid. `rdf.texts` tells the same of columns.
"""

from __future__ import annotations

from enum import Enum

IRI_START, BLANK_NODE_START, LITERAL_START, TRIPLE_TERM_START = "<", "_:", '"', "<<"
_STARTS = (IRI_START, BLANK_NODE_START, LITERAL_START)


class TermKind(Enum):
    """The kind of a term."""

    IRI = "IRI"
    BLANK_NODE = "blank node"
    LITERAL = "literal"
    TRIPLE_TERM = "triple term"


_KINDS = {
    IRI_START: TermKind.IRI,
    BLANK_NODE_START[0]: TermKind.BLANK_NODE,
    LITERAL_START: TermKind.LITERAL,
}


def kind_of(term: str) -> TermKind | None:
    """The kind of a term, also of one that is malformed; None if it begins as none does."""
    return TermKind.TRIPLE_TERM if is_triple_term(term) else _KINDS.get(term[:1])


def begins_term(text: str) -> bool:
    """Whether any text, such as the name of a column, begins like a term."""
    return text.startswith(_STARTS)


def is_iri(term: str) -> bool:
    """Whether it is an IRI."""
    return term.startswith(IRI_START) and not term.startswith(TRIPLE_TERM_START)


def is_blank_node(term: str) -> bool:
    """Whether it is a blank node."""
    return term.startswith(BLANK_NODE_START)


def is_resource(term: str) -> bool:
    """Whether it is an IRI or a blank node, which alone can be a subject or name a graph."""
    return is_iri(term) or is_blank_node(term)


def is_literal(term: str) -> bool:
    """Whether it is a literal, ill-typed ones included."""
    return term.startswith(LITERAL_START)


def is_triple_term(term: str) -> bool:
    """Whether it is a triple term."""
    return term.startswith(TRIPLE_TERM_START)
