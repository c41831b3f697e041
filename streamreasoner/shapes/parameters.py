"""Parameters of constraints. Invariant: a value that has no meaning for a rule is refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.rdf.terms import parse
from streamreasoner.rdf.vocabulary import XSD_BOOLEAN, XSD_DATE, XSD_DATE_TIME
from streamreasoner.shapes.graph import iri
from streamreasoner.values.numbers import number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from streamreasoner.shapes.graph import Graph

    Values: TypeAlias = tuple[str, ...] | None

COUNTS = ("minCount", "maxCount")
_KINDS = ("IRI", "BlankNode", "Literal", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral")
_NODE_KINDS = {iri(kind): kind for kind in _KINDS}
_TRUE = frozenset({f'"true"^^<{XSD_BOOLEAN}>', f'"1"^^<{XSD_BOOLEAN}>'})
_FALSE = frozenset({f'"false"^^<{XSD_BOOLEAN}>', f'"0"^^<{XSD_BOOLEAN}>'})
_WHOLE = re.compile(r"\+?[0-9]{1,18}")
_FLAGS = frozenset("ism")


class UnsupportedError(Exception):
    """A value of a parameter is not supported; `str` is what it has to be."""

    def __init__(self, name: str, allowed: str) -> None:
        super().__init__(f"sh:{name} is not {allowed}")
        self.name = name


def _iri(name: str, value: str, *_: object) -> Values:
    if not value.startswith("<"):
        raise UnsupportedError(name, "an IRI")
    return (value,)


def _shape(_: str, value: str, *__: object) -> Values:
    return (value,)


def _term(name: str, value: str, *_: object) -> Values:
    if value.startswith("_:"):
        raise UnsupportedError(name, "an IRI or a literal")
    return (value,)


def _node_kind(name: str, value: str, *_: object) -> Values:
    if value not in _NODE_KINDS:
        raise UnsupportedError(name, f"one of {', '.join(_KINDS)}")
    return (_NODE_KINDS[value],)


def _count(name: str, value: str, *_: object) -> Values:
    text = parse(value).value
    if number(value) is None or _WHOLE.fullmatch(text) is None:
        raise UnsupportedError(name, "an integer of 0 or more")
    return None if name == "minCount" and int(text) == 0 else (str(int(text)),)


def _bound(name: str, value: str, *_: object) -> Values:
    if number(value) is None and parse(value).datatype not in {XSD_DATE, XSD_DATE_TIME}:
        raise UnsupportedError(name, "a number, an xsd:date or an xsd:dateTime")
    return (value,)


def _pattern(name: str, value: str, graph: Graph, node: str) -> Values:
    flags = graph.objects(node, iri("flags"))
    text = "".join(sorted({flag for each in flags for flag in parse(each).value}))
    if not _FLAGS.issuperset(text):
        raise UnsupportedError("flags", "of the letters i, s and m")
    if not value.startswith('"'):
        raise UnsupportedError(name, "a string")
    return parse(value).value, text


def _terms(name: str, value: str, graph: Graph, _: str) -> Values:
    members = graph.members(value)
    if members is None or any(member.startswith("_:") for member in members):
        raise UnsupportedError(name, "a list of IRIs and literals")
    return tuple(members)


def _shapes(name: str, value: str, graph: Graph, _: str) -> Values:
    members = graph.members(value)
    if not members:
        raise UnsupportedError(name, "a list of shapes")
    return tuple(members)


def _closed(name: str, value: str, graph: Graph, node: str) -> Values:
    if value in _FALSE:
        return None
    if value not in _TRUE:
        raise UnsupportedError(name, "true or false")
    allowed = [
        path
        for each in graph.objects(node, iri("property"))
        for path in graph.objects(each, iri("path"))
        if path.startswith("<")
    ]
    for each in graph.objects(node, iri("ignoredProperties")):
        members = graph.members(each)
        if members is None:
            raise UnsupportedError("ignoredProperties", "a list")
        allowed += members
    return tuple(dict.fromkeys(allowed))


ONCE: Mapping[str, Callable[[str, str, Graph, str], Values]] = {
    **dict.fromkeys((*COUNTS, "minLength", "maxLength"), _count),
    **dict.fromkeys(("minInclusive", "minExclusive", "maxInclusive", "maxExclusive"), _bound),
    "datatype": _iri,
    "nodeKind": _node_kind,
    "pattern": _pattern,
    "in": _terms,
    "closed": _closed,
}
"""Parameters that a shape has at most once: takes name, value, graph and shape.

Each returns the values of a component, None if there is nothing to check.
"""

MANY: Mapping[str, Callable[[str, str, Graph, str], Values]] = {
    "class": _iri,
    "hasValue": _term,
    "node": _shape,
    "not": _shape,
    "and": _shapes,
    "or": _shapes,
}
"""The same for parameters that a shape may have several times, each a constraint of its own."""
