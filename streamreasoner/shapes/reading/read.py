"""A graph to shapes. Invariant: every property of SHACL that a shape has is understood or reported.

Source: Shapes Constraint Language (SHACL), W3C Recommendation of 20 July 2017, sections 2 to 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.rdf.term_kind import is_blank_node, is_iri
from streamreasoner.rdf.terms import parse
from streamreasoner.rdf.vocabulary import OWL, RDF_TYPE, RDFS, SH, XSD_STRING
from streamreasoner.shapes.graph import iri
from streamreasoner.shapes.paths import local_name, path_words, read_path
from streamreasoner.shapes.reading.inferences import Inferences
from streamreasoner.shapes.reading.parameters import MANY, OF_PATHS, ONCE, UnsupportedError, is_true
from streamreasoner.shapes.reading.queries import Queries
from streamreasoner.shapes.reading.vocabulary import (
    ADVANCED,
    DESCRIBING,
    LISTS,
    OF_REPORTS,
    ROLES,
    TARGETS,
    UNDERSTOOD,
    why_not_supported,
)
from streamreasoner.shapes.shape import CLASS, NODE, QUALIFIED, Component, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.lang.ast import Span
    from streamreasoner.shapes.graph import Graph
    from streamreasoner.shapes.inference import ShapeRule
    from streamreasoner.shapes.reading.places import ShapePlaces
    from streamreasoner.sparql.algebra import Path

_TYPE = f"<{RDF_TYPE}>"
_CLASSES = (f"<{RDFS}Class>", f"<{OWL}Class>")
_IMPORTS = f"<{OWL}imports>"
_ENTAILMENT = iri("entailment")


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
        self._left_out: dict[tuple[str, str], tuple[Span, str, int]] = {}
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        self._classes = graph.classes_below(_CLASSES)
        self._queries = Queries(graph, self._report)
        self._inferences = Inferences(graph, places, self._queries, self._free, self._report)

    def shapes(self) -> dict[str, Shape]:
        """The shapes by their nodes, in the order of the text."""
        nodes = list(self._nodes())
        shapes = {node: self._shape(node) for node in nodes}
        for shape in shapes.values():
            inferring = (node for rule in shape.rules for node in rule.references)
            for node in dict.fromkeys((*shape.references, *inferring)):
                if node not in self._graph.triples:
                    message = f"the shape {shapes[node].name} is not described, so nothing fails it"
                    self._warn(message, shape.span, "give the file that describes it, too")
        self._check_recursion(shapes)
        return shapes

    def rules(self) -> tuple[ShapeRule, ...]:
        """The rules of no shape; those of shapes are theirs."""
        return tuple(self._inferences.of_no_shape())

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is left out: each with its first place in a file."""
        return tuple(
            Diagnostic(
                "SR510", message if count == 1 else f"{message} ({count:,} times)", span, hint
            )
            for (message, _), (span, hint, count) in self._left_out.items()
        )

    def _nodes(self) -> Iterator[str]:  # noqa: C901 - each way to name a shape
        """Whatever is said to be a shape, or is described like one."""
        types = self._graph.classes_below((iri("NodeShape"), iri("PropertyShape")))
        parameters = {iri(name) for name in DESCRIBING} | self._queries.parameters
        self._check_entailment()
        referenced: dict[str, tuple[str, str]] = {}
        for subject, predicates in self._graph.triples.items():
            if _IMPORTS in predicates:
                self._warn(
                    "owl:imports is not followed",
                    self._places.first(_IMPORTS),
                    "give the files that it names, too",
                )
            for property_, role in ROLES.items():
                for value in predicates.get(property_, ()):
                    members = self._graph.members(value) if role in LISTS else [value]
                    if role == "condition" and value in self._graph.triples:
                        members = self._graph.members(value) or members
                    for member in members or ():
                        referenced.setdefault(member, (subject, role))
        owners = dict(referenced)
        for subject, predicates in self._graph.triples.items():
            for rule in predicates.get(iri("rule"), ()):
                owners.setdefault(rule, (subject, "rule"))
        self._parents = {
            node: parent for node, parent in owners.items() if not _is_below(node, owners)
        }
        for subject, predicates in self._graph.triples.items():
            described = not parameters.isdisjoint(predicates)
            typed = not types.isdisjoint(predicates.get(_TYPE, ()))
            if typed or described or subject in referenced:
                yield subject
        yield from (node for node in referenced if node not in self._graph.triples)

    def _check_entailment(self) -> None:
        """Report regimes that data is not read under; a processor has to (section 1.5)."""
        for predicates in self._graph.triples.values():
            for regime in predicates.get(_ENTAILMENT, ()):
                if regime != iri("Rules"):
                    self._report(
                        f"the entailment regime {regime} is not evaluated by shapes",
                        'import rules that derive what it entails, such as `@import "rdfs" .`, next'
                        " to the shapes, and remove sh:entailment",
                        self._places.first(_ENTAILMENT),
                    )

    def _shape(self, node: str) -> Shape:
        place = self._place(node)
        self._check_vocabulary(node, place)
        paths = self._values(node, "path", place, most=1)
        path = self._path(paths[0], place) if paths else None
        off = any(self._flag(node, "deactivated", place))
        components = [*self._components(node, place, has_path=bool(paths))]
        name = self._name(node)
        return Shape(
            node,
            name,
            path,
            () if off else tuple(self._targets(node, place)),
            () if off else tuple(components),
            () if off else tuple(self._graph.objects(node, iri("property"))),
            tuple(self._messages(node, place)),
            self._severity(node, place),
            place,
            () if off else tuple(self._inferences.of_shape(node, name, place)),
            () if off else tuple(self._inferences.selected(node, place)),
        )

    def _check_vocabulary(self, node: str, place: Span) -> None:
        for name in self._graph.used(node):
            if name in UNDERSTOOD:
                continue
            span = self._places.find(iri(name), place)
            if name in ADVANCED:
                self._warn(f"sh:{name} is not evaluated", span, ADVANCED[name])
            elif name in OF_REPORTS:
                message = f"sh:{name} is of validation reports, and demands nothing of a node"
                self._warn(message, span, "name a value with sh:hasValue or sh:in")
            else:
                self._report(*why_not_supported(name), span)

    def _place(self, node: str) -> Span:
        """Where a shape begins; one without a name at its path, after the shape that has it."""
        if is_iri(node):
            return self._places.first(node)
        if node not in self._parents:
            return self._places.first(iri("NodeShape"))
        parent, role = self._parents[node]
        start = self._places.find(iri(role), self._place(parent))
        named = next(self._named(node), None)
        return start if named is None else self._places.find(named, start)

    def _named(self, node: str) -> Iterator[str]:
        """The predicates in the path of a shape, in the order of the text."""
        seen: set[str] = set()
        nodes = list(self._graph.objects(node, iri("path")))
        while nodes:
            part = nodes.pop(0)
            if is_iri(part):
                yield part
            elif part not in seen:
                seen.add(part)
                values = self._graph.triples.get(part, {}).values()
                nodes[:0] = [value for each in values for value in each]

    def _name(self, node: str) -> str:
        """A name that no other shape has, from IRIs and paths."""
        if node in self._names:
            return self._names[node]
        if is_iri(node):
            words = local_name(node)
        elif node in self._parents:
            parent, role = self._parents[node]
            paths = [
                read_path(self._graph, each) for each in self._graph.objects(node, iri("path"))
            ]
            words = f"{self._name(parent)}_{path_words(paths[0]) if paths and paths[0] else role}"
        else:
            words = "shape"
        self._names[node] = self._free(words)
        return self._names[node]

    def _free(self, words: str) -> str:
        """A name that neither a shape nor a rule has."""
        name = words
        while name in self._taken:
            self._counts[words] = self._counts.get(words, 1) + 1
            name = f"{words}_{self._counts[words]}"
        self._taken.add(name)
        return name

    def _path(self, node: str, place: Span) -> Path | None:
        path = read_path(self._graph, node)
        if path is None:
            self._report(
                "this path is not one of SHACL",
                "a path is a predicate, a list of paths, or a node with one of sh:inversePath, "
                "sh:alternativePath, sh:zeroOrMorePath, sh:oneOrMorePath and sh:zeroOrOnePath",
                self._places.find(iri("path"), place),
            )
        return path

    def _targets(self, node: str, place: Span) -> Iterator[tuple[str, str]]:
        for kind in TARGETS:
            for term in self._graph.objects(node, iri(kind)):
                span = self._places.find(iri(kind), place)
                if is_blank_node(term) or (kind != NODE and not is_iri(term)):
                    self._report(f"sh:{kind} is a {parse(term).kind.value}", "name an IRI", span)
                else:
                    yield kind, term
        if is_iri(node) and not self._classes.isdisjoint(self._graph.objects(node, _TYPE)):
            yield CLASS, node

    def _components(self, node: str, place: Span, *, has_path: bool) -> Iterator[Component]:
        for name, read in {**ONCE, **MANY}.items():
            span = self._places.find(iri(name), place)
            for value in self._values(node, name, place, 1 if name in ONCE else None):
                if name in QUALIFIED and not self._values(node, "qualifiedValueShape", place, 1):
                    message = f"sh:{name} demands nothing without a sh:qualifiedValueShape"
                    self._warn(message, span, "name the shape whose values are counted")
                    continue
                if name in OF_PATHS and not has_path:
                    self._report(f"sh:{name} needs a sh:path", "make it a property shape", span)
                    continue
                try:
                    values = read(name, value, self._graph, node)
                except UnsupportedError as error:
                    self._report(str(error), None, self._places.find(iri(error.name), place))
                else:
                    if values is None and name == "uniqueLang" and is_true(name, value):
                        self._warn(
                            "sh:uniqueLang demands nothing but with the value true",
                            span,
                            "write true",
                        )
                    if values is not None:
                        yield Component(name, values, span, _component(name))
        span = self._places.find(iri("sparql"), place)
        yield from self._queries.constraints(node, span)
        yield from self._queries.components(node, place, has_path=has_path)

    def _flag(self, node: str, name: str, place: Span) -> Iterator[bool]:
        for value in self._values(node, name, place, most=1):
            try:
                yield is_true(name, value)
            except UnsupportedError as error:
                self._report(str(error), None, self._places.find(iri(name), place))

    def _messages(self, node: str, place: Span) -> Iterator[str]:
        for text in self._graph.objects(node, iri("message")):
            if not is_text(text):
                span = self._places.find(iri("message"), place)
                self._report("sh:message is not a text", "write a string", span)
            else:
                yield text

    def _severity(self, node: str, place: Span) -> str:
        severity = next(iter(self._values(node, "severity", place, most=1)), iri("Violation"))
        if not is_iri(severity):
            self._report("sh:severity is not an IRI", "write sh:Warning, or an IRI of yours", place)
        return severity

    def _values(self, node: str, name: str, place: Span, most: int | None = None) -> list[str]:
        values = self._graph.objects(node, iri(name))
        if most is not None and len(values) > most:
            span = self._places.find(iri(name), place)
            self._report(f"a shape has {len(values)} values of sh:{name}", "give it one", span)
        return values[:most]

    def _check_recursion(self, shapes: Mapping[str, Shape]) -> None:
        done: set[str] = set()

        def visit(node: str, path: tuple[str, ...]) -> None:
            if node in path:
                shape = shapes[node]
                names = " -> ".join(shapes[each].name for each in (*path[path.index(node) :], node))
                hint = f"it refers to itself: {names}; write what is recursive as a rule"
                self._report(f"the shape {shape.name} is recursive", hint, shape.span)
            elif node not in done:
                for other in (*shapes[node].properties, *shapes[node].references):
                    visit(other, (*path, node))
            done.add(node)

        for node in shapes:
            visit(node, ())

    def _report(self, message: str, help_: str | None, span: Span) -> None:
        self.diagnostics.append(Diagnostic("SR223", message, span, help_))

    def _warn(self, message: str, span: Span, help_: str) -> None:
        first, hint, count = self._left_out.get((message, span.source), (span, help_, 0))
        self._left_out[message, span.source] = first, hint, count + 1


def is_text(term: str) -> bool:
    """Whether a term is a string, with or without a language."""
    parsed = parse(term)
    return parsed.language is not None or parsed.datatype == XSD_STRING


def _component(name: str) -> str:
    """The IRI of a constraint component of SHACL."""
    return f"<{SH}{name[0].upper()}{name[1:]}ConstraintComponent>"


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
