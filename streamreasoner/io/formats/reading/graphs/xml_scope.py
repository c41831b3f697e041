"""What an element of RDF/XML is and inherits. Invariant: no attribute is left out in silence.

Elements for nodes and for properties alternate (RDF 1.2 XML Syntax, "Grammar Productions").
pyoxigraph leaves out what the grammar does not allow at an element, so that it is found here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from streamreasoner.rdf.vocabulary import RDF

Attributes: TypeAlias = "list[tuple[str, str]]"
"""Names, as they are written, and values."""

_ITS = "http://www.w3.org/2005/11/its"
_DIRECTION, _VERSION = f"{_ITS}dir", f"{RDF}version"
PARSE_TYPE = f"{RDF}parseType"
_WITH_DIRECTIONS = ("1.2", "1.2-basic")
_ANNOTATIONS = {f"{RDF}{name}" for name in ("annotation", "annotationNodeID")}
_WITH_PARSE_TYPE = {
    *(_DIRECTION, _VERSION, f"{_ITS}version", PARSE_TYPE, f"{RDF}ID"),
    *_ANNOTATIONS,
}
_OF_PROPERTIES = {*_ANNOTATIONS, PARSE_TYPE, f"{RDF}resource", f"{RDF}datatype"}
_OF_NODES = f"{RDF}about"


class Role(Enum):
    """What an element is."""

    ROOT = "The root element"
    NODE = "An element for a node"
    PROPERTY = "An element for a property"


@dataclass(frozen=True, slots=True)
class Scope:
    """What an element inherits, or has itself.

    Attributes:
        names: Declarations of namespaces, by attribute.
        base: What a relative `xml:base` is resolved against.
        version: The version of RDF, empty if none is announced.
        direction: The base direction of literals, empty for none.
        role: What the element is.
        children: What the elements in it are.
    """

    names: dict[str, str]
    base: str | None
    version: str = ""
    direction: str = ""
    role: Role = Role.ROOT
    children: Role = Role.ROOT

    def expanded(self, name: str) -> str:
        """The name of an attribute with its namespace in place of its prefix."""
        prefix, _, local = name.rpartition(":")
        return f"{self.names.get(f'xmlns:{prefix}', '') if prefix else ''}{local}"

    def element(self, name: str) -> str:
        """The name of an element, which may be in the default namespace."""
        return self.expanded(name) if ":" in name else f"{self.names.get('xmlns', '')}{name}"

    def in_literal(self, pairs: Attributes) -> Scope:
        """The scope of an element of an XML literal, where only names are declared."""
        declared = {key: value for key, value in pairs if key.startswith("xmlns")}
        return replace(self, names={**self.names, **declared}) if declared else self

    def inner(self, name: str, pairs: Attributes) -> Scope:
        """The scope of an element of RDF/XML."""
        scope = self.in_literal(pairs)
        own = {scope.expanded(key): value for key, value in pairs}
        version = own.get(_VERSION, self.version)
        direction = self.direction
        if version in _WITH_DIRECTIONS:
            direction = own.get(_DIRECTION, direction)
        role, children = self.children, Role.PROPERTY
        if role is Role.ROOT:
            is_graph = scope.element(name) == f"{RDF}RDF"
            role, children = (Role.ROOT, Role.NODE) if is_graph else (Role.NODE, Role.PROPERTY)
        elif role is Role.PROPERTY and own.get(PARSE_TYPE) != "Resource":
            children = Role.NODE
        return replace(scope, version=version, direction=direction, role=role, children=children)

    def mistake(self, pairs: Attributes) -> str:
        """A sentence about the attributes that the element cannot have; empty if it has none."""
        named = {name: self.expanded(name) for name, _ in pairs if not name.startswith("xml")}
        # Attributes of the root, such as the schema that a document follows, are not data.
        ours = {name: iri for name, iri in named.items() if iri.startswith(RDF)}
        parse_type = next((name for name, iri in named.items() if iri == PARSE_TYPE), None)
        match self.role:
            case Role.ROOT:
                wrong = [name for name, iri in ours.items() if iri != _VERSION]
                advice = "write it at the element that it is about"
            case Role.NODE:
                wrong = [name for name, iri in ours.items() if iri in _OF_PROPERTIES]
                advice = "write it at an element for a property"
            case Role.PROPERTY if parse_type is not None:
                wrong = [name for name, iri in named.items() if iri not in _WITH_PARSE_TYPE]
                advice = f"with {parse_type} it has rdf:ID and annotations only"
            case Role.PROPERTY:
                wrong = [name for name, iri in ours.items() if iri == _OF_NODES]
                advice = "write it at an element for a node"
        if not wrong:
            return ""
        return f"{self.role.value} cannot have the attribute {' and '.join(wrong)}: {advice}."

    def with_direction(self, pairs: Attributes) -> Attributes:
        """The attributes of the element, with the direction that it has or inherits."""
        kept = [(name, value) for name, value in pairs if self.expanded(name) != _DIRECTION]
        if not self.direction or self.version not in _WITH_DIRECTIONS:
            return kept
        bound = (key for key, iri in self.names.items() if iri == _ITS and key != "xmlns")
        if (declaration := next(bound, None)) is None:
            declaration = "xmlns:its-of-an-outer-element"
            kept.append((declaration, _ITS))
        return [*kept, (f"{declaration.removeprefix('xmlns:')}:dir", self.direction)]
