"""A graph to shapes. Invariant: every use of SHACL's vocabulary is understood or reported.

Source: Shapes Constraint Language (SHACL), W3C Recommendation of 20 July 2017, sections 2 to 4.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.rdf.terms import parse
from streamreasoner.rdf.vocabulary import OWL, RDF_TYPE, RDFS
from streamreasoner.shapes.graph import iri
from streamreasoner.shapes.parameters import COUNTS, MANY, ONCE, UnsupportedError
from streamreasoner.shapes.shape import CLASS, NODE, OBJECTS, SUBJECTS, Component, Shape, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.lang.ast import Span
    from streamreasoner.shapes.graph import Graph
    from streamreasoner.shapes.places import ShapePlaces

_LISTS = ("and", "or")
_SHAPES = ("node", "not", "and", "or", "property")
_TARGETS = (CLASS, NODE, SUBJECTS, OBJECTS)
_OTHERS = ("path", "property", "message", "severity", "flags", "ignoredProperties", *_TARGETS)
_TEXTS = ("name", "description", "order", "group", "defaultValue")
_PATHS = ("inversePath", "alternativePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath")
_SUPPORTED = frozenset((*ONCE, *MANY, *_OTHERS, *_TEXTS))
_TYPE, _RDFS_CLASS, _OWL_CLASS = f"<{RDF_TYPE}>", f"<{RDFS}Class>", f"<{OWL}Class>"
_IMPORTS = f"<{OWL}imports>"
_SHAPE_TYPES = frozenset({iri("NodeShape"), iri("PropertyShape")})
_PLACEHOLDER = re.compile(r"\{[?$](\w+)\}")


class Reader:
    """Reads the shapes of a graph.

    Attributes:
        diagnostics: What is not supported, or wrong.
    """

    def __init__(self, graph: Graph, places: ShapePlaces) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._graph = graph
        self._places = places
        self._parents: dict[str, tuple[str, str]] = {}
        self._names: dict[str, str] = {}

    def shapes(self) -> dict[str, Shape]:
        """The shapes by their nodes, in the order of the text."""
        nodes = list(self._nodes())
        shapes = {node: self._shape(node) for node in nodes}
        self._check_recursion(shapes)
        return shapes

    def _nodes(self) -> Iterator[str]:
        """Whatever is said to be a shape, or is described like one."""
        referenced: dict[str, tuple[str, str]] = {}
        for subject, predicates in self._graph.triples.items():
            if _IMPORTS in predicates:
                place = self._places.first(_IMPORTS)
                self._report("owl:imports is not followed", place, "import each file of shapes")
            for role in _SHAPES:
                for value in predicates.get(iri(role), ()):
                    members = self._graph.members(value) if role in _LISTS else [value]
                    for member in members or ():
                        referenced.setdefault(member, (subject, role))
        self._parents = {
            node: parent for node, parent in referenced.items() if not _is_below(node, referenced)
        }
        for subject, predicates in self._graph.triples.items():
            used = set(self._graph.used(subject))
            typed = not _SHAPE_TYPES.isdisjoint(predicates.get(_TYPE, ()))
            if typed or subject in referenced or not used <= set(_PATHS):
                yield subject
        yield from (node for node in referenced if node not in self._graph.triples)

    def _shape(self, node: str) -> Shape:
        place = self._place(node)
        for name in self._graph.used(node):
            if name not in _SUPPORTED:
                self._report(
                    f"sh:{name} is not supported",
                    self._places.find(iri(name), place),
                    "express it as a rule with a head that is marked with `!`",
                )
        components = [*self._components(node, place)]
        paths = self._values(node, "path", place, most=1)
        path = self._path(paths[0], place) if paths else None
        if path is None:
            for component in components:
                if component.name in COUNTS:
                    self._report(f"sh:{component.name} needs a sh:path", component.span)
        elif any(component.name == "closed" for component in components):
            self._report("sh:closed is supported in node shapes only", place)
        return Shape(
            node,
            self._name(node),
            path,
            tuple(self._targets(node, place)),
            tuple(components),
            tuple(self._graph.objects(node, iri("property"))),
            self._message(node, place),
            self._severity(node, place),
            place,
        )

    def _place(self, node: str) -> Span:
        """Where a shape begins; one without a name at its path, after the shape that has it."""
        if node.startswith("<"):
            return self._places.first(node)
        if node not in self._parents:
            return self._places.first(iri("NodeShape"))
        parent, role = self._parents[node]
        start = self._places.find(iri(role), self._place(parent))
        path = self._graph.objects(node, iri("path"))
        return self._places.find(path[0], start) if path else start

    def _name(self, node: str) -> str:
        """A name that no other shape has, from IRIs and paths."""
        if node in self._names:
            return self._names[node]
        if node.startswith("<"):
            words = _local(node)
        elif node in self._parents:
            parent, role = self._parents[node]
            path = self._graph.objects(node, iri("path"))
            steps = self._steps(path[0]) if path else None
            words = self._name(parent) + "_" + ("_".join(map(_word, steps)) if steps else role)
        else:
            words = "shape"
        taken = set(self._names.values())
        name, count = words, 1
        while name in taken:
            count += 1
            name = f"{words}_{count}"
        self._names[node] = name
        return name

    def _path(self, node: str, place: Span) -> tuple[Step, ...] | None:
        steps = self._steps(node)
        if steps is None:
            used = next(iter(self._graph.used(node)), "path")
            self._report(
                "this path is not supported" if used == "path" else f"sh:{used} is not supported",
                self._places.find(iri(used), place),
                "a path is a predicate, its sh:inversePath, or a list of them",
            )
        return steps

    def _steps(self, node: str) -> tuple[Step, ...] | None:
        members = self._graph.members(node)
        steps = [self._step(member) for member in ([node] if members is None else members)]
        found = tuple(step for step in steps if step is not None)
        return found if found and len(found) == len(steps) else None

    def _step(self, node: str) -> Step | None:
        if node.startswith("<"):
            return Step(node)
        inverse = self._graph.objects(node, iri("inversePath"))
        is_inverse = len(inverse) == 1 and inverse[0].startswith("<")
        return Step(inverse[0], inverse=True) if is_inverse else None

    def _targets(self, node: str, place: Span) -> Iterator[tuple[str, str]]:
        for kind in _TARGETS:
            for term in self._graph.objects(node, iri(kind)):
                span = self._places.find(iri(kind), place)
                if term.startswith("_:") or (kind != NODE and not term.startswith("<")):
                    self._report(f"sh:{kind} is {_kind(term)}", span, "name an IRI")
                else:
                    yield kind, term
        types = self._graph.objects(node, _TYPE)
        if _RDFS_CLASS in types:
            yield CLASS, node
        elif _OWL_CLASS in types and not any(
            self._graph.objects(node, iri(kind)) for kind in _TARGETS
        ):
            span = self._places.find(_OWL_CLASS, place)
            hint = "add sh:targetClass, or the type rdfs:Class"
            self._report("a shape that is an owl:Class has no implicit target", span, hint)

    def _components(self, node: str, place: Span) -> Iterator[Component]:
        for name, read in {**ONCE, **MANY}.items():
            span = self._places.find(iri(name), place)
            for value in self._values(node, name, place, 1 if name in ONCE else None):
                try:
                    values = read(name, value, self._graph, node)
                except UnsupportedError as error:
                    self._report(str(error), self._places.find(iri(error.name), place))
                else:
                    if values is not None:
                        yield Component(name, values, span)

    def _message(self, node: str, place: Span) -> str | None:
        texts = self._values(node, "message", place, most=1)
        if not texts:
            return None
        text = parse(texts[0]).value
        if not texts[0].startswith('"'):
            self._report("sh:message is not a text", place)
        if any(name not in {"this", "value"} for name in _PLACEHOLDER.findall(text)):
            hint = "its placeholders are {?this} and {?value}"
            self._report("sh:message has other placeholders", place, hint)
        return _PLACEHOLDER.sub(r"{?\1}", text)

    def _severity(self, node: str, place: Span) -> str:
        severity = next(iter(self._values(node, "severity", place, most=1)), iri("Violation"))
        if not severity.startswith("<"):
            self._report("sh:severity is not an IRI", place)
        return severity

    def _values(self, node: str, name: str, place: Span, most: int | None = None) -> list[str]:
        values = self._graph.objects(node, iri(name))
        if most is not None and len(values) > most:
            span = self._places.find(iri(name), place)
            self._report(f"a shape has {len(values)} values of sh:{name}", span, "give it one")
        return values[:most]

    def _check_recursion(self, shapes: dict[str, Shape]) -> None:
        done: set[str] = set()

        def visit(node: str, path: tuple[str, ...]) -> None:
            if node in path:
                shape = shapes[node]
                self._report(f"the shape {shape.name} is recursive", shape.span)
            elif node not in done:
                for other in (*shapes[node].properties, *shapes[node].references):
                    visit(other, (*path, node))
            done.add(node)

        for node in shapes:
            visit(node, ())

    def _report(self, message: str, span: Span, help_: str | None = None) -> None:
        self.diagnostics.append(Diagnostic("SR223", message, span, help_))


def _is_below(node: str, parents: Mapping[str, tuple[str, str]]) -> bool:
    """Whether a shape is one of those that have it, directly or not."""
    seen = {node}
    above = node
    while above in parents:
        above, _ = parents[above]
        if above in seen:
            return above == node
        seen.add(above)
    return False


def _local(term: str) -> str:
    """A name in the rule language, of the last part of an IRI."""
    local = re.split(r"[/#:]", term[1:-1].rstrip("/#:"))[-1]
    words = re.sub(r"[^A-Za-z0-9]+", "_", local).strip("_")
    return words if re.match("[A-Za-z]", words) else f"shape_{words}".rstrip("_")


def _word(step: Step) -> str:
    return f"inverse_{_local(step.predicate)}" if step.inverse else _local(step.predicate)


def _kind(term: str) -> str:
    return "a blank node" if term.startswith("_:") else "a literal"
