"""Calls that make names, as functions of a solution. Invariant: a solution has its names always.

UUID() and STRUUID() are digests of the solution, as BNODE() is, so that a triple that has one can
be taken back, and is the same when the solution comes back.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar, cast

from streamreasoner.lang.ast import NOWHERE, Constant, Span
from streamreasoner.lang.places import placed
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.sparql.algebra import Apply

if TYPE_CHECKING:
    from collections.abc import Callable

_Node = TypeVar("_Node")


def with_lasting_names(node: _Node) -> _Node:
    """A value of the algebra whose names of nodes are those of the solution."""
    match node:
        case Apply("STRUUID" | "UUID" as name, (), span):
            return cast("_Node", placed(_LASTING[name], lambda _: span))
        case _:
            return cast("_Node", rebuilt(node, with_lasting_names))


def with_numbered_nodes(node: _Node) -> _Node:
    """A value whose calls that make names have a number in it, not in the text."""
    numbers = count()

    def put(part: object) -> object:
        match part:
            case Apply("BNODE" | "uuid" as name, (), span):
                return Apply(name, (), replace(span, start=next(numbers)))
            case _:
                return rebuilt(part, put)

    return cast("_Node", put(node))


def rebuilt(node: _Node, put: Callable[[Any], Any]) -> _Node:
    """A node with other parts; what has none, as it is."""
    match node:
        case tuple():
            return cast("_Node", tuple(map(put, node)))
        case Span():
            return node
        case _ if is_dataclass(node) and not isinstance(node, type):
            values = {each.name: put(getattr(node, each.name)) for each in fields(node)}
            return cast("_Node", replace(node, **values))
        case _:
            return node


def _lasting() -> dict[str, Apply]:
    text = Apply("uuid", (), NOWHERE)
    start = Constant(to_ntriples("urn:uuid:"), NOWHERE)
    node = Apply("IRI", (Apply("CONCAT", (start, text), NOWHERE),), NOWHERE)
    return {"STRUUID": text, "UUID": node}


_LASTING = _lasting()
