"""Parameters of constraints. Invariant: a value that has no meaning for a rule is refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.rdf.term_kind import is_iri, is_literal
from streamreasoner.rdf.terms import parse, to_ntriples
from streamreasoner.rdf.vocabulary import XSD_BOOLEAN, XSD_DATE, XSD_DATE_TIME, XSD_STRING
from streamreasoner.shapes.graph import iri
from streamreasoner.shapes.shape import QUALIFIED
from streamreasoner.sparql.regex_flags import FLAGS, flagged
from streamreasoner.values.numbers import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from streamreasoner.shapes.graph import Graph

    Values: TypeAlias = tuple[str, ...] | None

COUNTS = ("minCount", "maxCount")
_KINDS = ("IRI", "BlankNode", "Literal", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral")
_NODE_KINDS = {iri(kind): kind for kind in _KINDS}
_TRUE = frozenset({f'"true"^^<{XSD_BOOLEAN}>', f'"1"^^<{XSD_BOOLEAN}>'})
_FALSE = frozenset({f'"false"^^<{XSD_BOOLEAN}>', f'"0"^^<{XSD_BOOLEAN}>'})
_WHOLE = re.compile(r"\+?[0-9]{1,18}")


class UnsupportedError(Exception):
    """A value of a parameter is not supported; `str` is what it has to be."""

    def __init__(self, name: str, allowed: str) -> None:
        super().__init__(f"sh:{name} is not {allowed}")
        self.name = name


def is_true(name: str, value: str) -> bool:
    """Whether a boolean is true.

    Raises:
        UnsupportedError: It is not a boolean.
    """
    if value not in _TRUE | _FALSE:
        raise UnsupportedError(name, "true or false")
    return value in _TRUE


def _iri(name: str, value: str, *_: object) -> Values:
    if not is_iri(value):
        raise UnsupportedError(name, "an IRI")
    return (value,)


def _term(_: str, value: str, *__: object) -> Values:
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
    ordered = {XSD_BOOLEAN, XSD_DATE, XSD_DATE_TIME, XSD_STRING}
    if number(value) is None and parse(value).datatype not in ordered:
        raise UnsupportedError(
            name, "a number, a string, a boolean, an xsd:date or an xsd:dateTime"
        )
    return (value,)


def _pattern(name: str, value: str, graph: Graph, node: str) -> Values:
    if not is_literal(value):
        raise UnsupportedError(name, "a string")
    text = parse(value).value
    flags = "".join(parse(each).value for each in graph.objects(node, iri("flags")))
    pattern = flagged(text, flags)
    if pattern is None:
        raise UnsupportedError("flags", f"of the letters {', '.join(sorted(FLAGS))}")
    return to_ntriples(text), to_ntriples(pattern)


def _terms(name: str, value: str, graph: Graph, _: str) -> Values:
    members = graph.members(value)
    if members is None:
        raise UnsupportedError(name, "a list")
    return tuple(members)


def _languages(name: str, value: str, graph: Graph, _: str) -> Values:
    members = graph.members(value)
    if members is None or not all(parse(each).datatype == XSD_STRING for each in members):
        raise UnsupportedError(name, "a list of strings")
    return tuple(members)


def _unique(name: str, value: str, *_: object) -> Values:
    # The specification has the literal `true` here, not the value: "1" demands nothing.
    return () if is_true(name, value) and value.startswith('"true"') else None


def _shapes(name: str, value: str, graph: Graph, _: str) -> Values:
    members = graph.members(value)
    if not members:
        raise UnsupportedError(name, "a list of shapes")
    return tuple(members)


def _qualified(name: str, value: str, graph: Graph, node: str) -> Values:
    """The number, the shape that is counted, and the shapes of siblings, if these are apart."""
    count = _count("minCount" if name == "qualifiedMinCount" else "maxCount", value)
    (shape,) = graph.objects(node, iri("qualifiedValueShape"))
    if count is None:
        return None
    siblings: dict[str, None] = {}
    for each in graph.objects(node, iri("qualifiedValueShapesDisjoint")):
        if is_true("qualifiedValueShapesDisjoint", each):
            siblings = dict.fromkeys(_siblings(graph, node))
    siblings.pop(shape, None)
    return (*count, shape, *siblings)


def _siblings(graph: Graph, node: str) -> Iterator[str]:
    """What the property shapes of the same shapes count."""
    for predicates in graph.triples.values():
        properties = predicates.get(iri("property"), ())
        if node in properties:
            for each in properties:
                yield from graph.objects(each, iri("qualifiedValueShape"))


def _closed(name: str, value: str, graph: Graph, node: str) -> Values:
    if not is_true(name, value):
        return None
    allowed = [
        path
        for each in graph.objects(node, iri("property"))
        for path in graph.objects(each, iri("path"))
        if is_iri(path)
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
    "languageIn": _languages,
    "uniqueLang": _unique,
    "closed": _closed,
    **dict.fromkeys(sorted(QUALIFIED), _qualified),
}
"""Parameters that a shape has at most once: takes name, value, graph and shape.

Each returns the values of a component, None if there is nothing to check.
"""

MANY: Mapping[str, Callable[[str, str, Graph, str], Values]] = {
    "class": _iri,
    "hasValue": _term,
    "equals": _iri,
    "disjoint": _iri,
    "lessThan": _iri,
    "lessThanOrEquals": _iri,
    "node": _term,
    "not": _term,
    "and": _shapes,
    "or": _shapes,
    "xone": _shapes,
}
"""The same for parameters that a shape may have several times, each a constraint of its own."""

OF_PATHS = frozenset((*COUNTS, "uniqueLang", "lessThan", "lessThanOrEquals", *QUALIFIED))
"""Parameters of property shapes only."""
