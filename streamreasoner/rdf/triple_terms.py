"""Triple terms and their parts. Invariant: nothing else takes a triple term apart.

A triple term can only contain others as its object, so that it is read from left to right without
recursion: `<<( s p <<( s p o )>> )>>`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.rdf.term_kind import is_blank_node, is_triple_term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OPENING, _CLOSING = "<<( ", " )>>"
_HEAD = re.compile(r"<<\([ \t]*(<[^<>]*>|_:[^\s<>]+)[ \t]*(<[^<>]*>)[ \t]*")


def components(term: str) -> tuple[str, str, str]:
    """Subject, predicate and object of a canonical triple term, which are canonical too."""
    # Neither an IRI nor a blank node contains a space.
    subject, predicate, rest = term[len(_OPENING) : -len(_CLOSING)].split(" ", 2)
    return subject, predicate, rest


def triple_term(subject: str, predicate: str, object: str) -> str:  # noqa: A002 - as RDF names it
    """The canonical triple term of three canonical terms."""
    return f"{_OPENING}{subject} {predicate} {object}{_CLOSING}"


def renamed(term: str, rename: Callable[[str], str]) -> str:
    """A canonical term in which blank nodes have other names, those of triple terms included."""
    if is_blank_node(term):
        return rename(term)
    if not is_triple_term(term):
        return term
    heads, innermost = nested_parts(term)
    result = rename(innermost) if is_blank_node(innermost) else innermost
    for subject, predicate in reversed(heads):
        node = rename(subject) if is_blank_node(subject) else subject
        result = triple_term(node, predicate, result)
    return result


def blank_nodes(term: str) -> Iterator[str]:
    """The blank nodes of a canonical term, from left to right."""
    heads, innermost = nested_parts(term)
    yield from filter(is_blank_node, (*(subject for subject, _ in heads), innermost))


def parts(term: str) -> Iterator[str]:
    """A canonical term and, of a triple term, all that it contains, the outermost first."""
    yield term
    while is_triple_term(term):
        subject, predicate, term = components(term)
        yield from (subject, predicate, term)


def nested_parts(term: str) -> tuple[list[tuple[str, str]], str]:
    """Subjects and predicates of a canonical triple term, and its innermost object; see `unnested`.

    Another term is its own innermost object.
    """
    heads = []
    while is_triple_term(term):
        subject, predicate, term = components(term)
        heads.append((subject, predicate))
    return heads, term


def levels(term: str) -> int:
    """How deep a canonical term is nested: 0 if it is not a triple term."""
    return len(nested_parts(term)[0])


def unnested(text: str) -> tuple[list[tuple[str, str]], str] | None:
    """Subjects and predicates of a triple term, from the outermost, and the innermost object.

    Args:
        text: A triple term as it is written; its parts are not validated.

    Returns:
        The parts as they are written; None if it is not well-formed.
    """
    heads = []
    start, end = 0, len(text)
    while is_triple_term(text[start : start + 2]):
        head, tail = _HEAD.match(text, start, end), _last(text, end)
        if head is None or tail is None:
            return None
        heads.append((head[1], head[2]))
        start, end = head.end(), tail
    return (heads, text[start:end]) if start < end else None


def _last(text: str, end: int) -> int | None:
    """Where the blanks before the closing mark start that ends a text; None without a mark."""
    if not text.endswith(_CLOSING[1:], 0, end):
        return None
    end -= len(_CLOSING) - 1
    while end > 0 and text[end - 1] in " \t":
        end -= 1
    return end
