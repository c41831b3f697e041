"""Constraints and constraint components in SPARQL. Invariant: their queries are read, or reported.

Source: Shapes Constraint Language (SHACL), W3C Recommendation of 20 July 2017, sections 5 and 6.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from streamreasoner.errors import ProgramError
from streamreasoner.rdf.term_kind import is_literal
from streamreasoner.rdf.terms import parse
from streamreasoner.rdf.vocabulary import OWL, RDF_TYPE, SH
from streamreasoner.shapes.graph import SHAPES_GRAPH, iri
from streamreasoner.shapes.paths import local_name
from streamreasoner.shapes.reading.parameters import MANY, ONCE, UnsupportedError, is_true
from streamreasoner.shapes.shape import Component, ConstraintQuery
from streamreasoner.sparql.parse import parse_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from streamreasoner.lang.ast import Span
    from streamreasoner.lang.diagnostic import Diagnostic
    from streamreasoner.shapes.graph import Graph
    from streamreasoner.sparql.algebra import Query

    Report = Callable[[str, str | None, Span], None]

_TYPE, _IMPORTS = f"<{RDF_TYPE}>", f"<{OWL}imports>"
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_HINT = "declare prefixes with sh:declare, and name what declares them with sh:prefixes"

_KINDS = {"construct": "a rule in SPARQL"}


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter of a constraint component: its property, its variable, whether it is optional."""

    path: str
    name: str
    optional: bool


class Queries:
    """Reads the queries of shapes.

    Args:
        graph: The graph of the shapes.
        report: Takes what is wrong: message, help and place.
    """

    def __init__(self, graph: Graph, report: Report) -> None:
        self._graph = graph
        self._report = report
        types = graph.classes_below((iri("ConstraintComponent"),))
        self._components = {
            node: tuple(self._parameters(node))
            for node, predicates in graph.triples.items()
            if not node.startswith(f"<{SH}") and not types.isdisjoint(predicates.get(_TYPE, ()))
        }
        self._parsed: dict[tuple[str, str], Query | None] = {}

    @property
    def parameters(self) -> frozenset[str]:
        """The properties that declare a constraint."""
        return frozenset(each.path for component in self._components.values() for each in component)

    def constraints(self, node: str, span: Span) -> Iterator[Component]:
        """The constraints in SPARQL of a shape."""
        for source in self._graph.objects(node, iri("sparql")):
            if self._is_off(source, span):
                continue
            query = self.query(source, "select", span)
            if query is not None:
                yield Component(
                    "sparql",
                    (),
                    span,
                    f"<{SH}SPARQLConstraintComponent>",
                    tuple(self._graph.objects(source, iri("message"))),
                    source,
                    ConstraintQuery(query, self._terms(node)),
                )

    def components(self, node: str, span: Span, *, has_path: bool) -> Iterator[Component]:
        """The constraints of a shape by the constraint components that the graph has."""
        kind = "propertyValidator" if has_path else "nodeValidator"
        for component, parameters in self._components.items():
            needed = [each for each in parameters if not each.optional]
            if not needed or not all(self._graph.objects(node, each.path) for each in needed):
                continue
            validators = [
                *self._graph.objects(component, iri(kind)),
                *self._graph.objects(component, iri("validator")),
            ]
            for terms in self._bindings(node, parameters, span) if validators else ():
                yield from self._validated(component, validators[0], terms, node, span)

    def _validated(
        self, component: str, validator: str, terms: Mapping[str, str], node: str, span: Span
    ) -> Iterator[Component]:
        """The constraint of a component with its parameters, checked by a validator."""
        form = "ask" if self._graph.objects(validator, iri("ask")) else "select"
        query = self.query(validator, form, span)
        if query is None:
            return
        name = local_name(component)
        yield Component(
            name if name not in {*ONCE, *MANY, "sparql"} else f"custom_{name}",
            (),
            span,
            component,
            tuple(
                self._graph.objects(validator, iri("message"))
                or self._graph.objects(component, iri("message"))
            ),
            None,
            ConstraintQuery(query, {**terms, **self._terms(node)}),
        )

    def _bindings(
        self, node: str, parameters: tuple[_Parameter, ...], span: Span
    ) -> Iterator[dict[str, str]]:
        """The values of parameters: of one parameter each, of several one for all."""
        if len(parameters) == 1:
            (only,) = parameters
            yield from ({only.name: value} for value in self._graph.objects(node, only.path))
            return
        terms: dict[str, str] = {}
        for each in parameters:
            values = self._graph.objects(node, each.path)
            if len(values) > 1:
                message = f"a shape has {len(values)} values of {each.path}"
                self._report(message, "give it one: the component has other parameters, too", span)
            terms.update((each.name, value) for value in values[:1])
        yield terms

    def _terms(self, node: str) -> dict[str, str]:
        return {"currentShape": node, "shapesGraph": SHAPES_GRAPH}

    def _parameters(self, component: str) -> Iterator[_Parameter]:
        for each in self._graph.objects(component, iri("parameter")):
            for path in self._graph.objects(each, iri("path")):
                name = _VARIABLE.fullmatch(re.split(r"[/#:]", path[1:-1])[-1])
                optional = self._graph.objects(each, iri("optional"))
                if name is not None:
                    is_optional = any(value.startswith(('"true"', '"1"')) for value in optional)
                    yield _Parameter(path, name[0], is_optional)

    def _is_off(self, source: str, span: Span) -> bool:
        try:
            flags = self._graph.objects(source, iri("deactivated"))
            return any(is_true("deactivated", value) for value in flags)
        except UnsupportedError as error:
            self._report(str(error), None, span)
            return False

    def query(self, source: str, form: str, span: Span) -> Query | None:
        """The query of a constraint, validator, rule or target; None if it is reported."""
        key = source, form
        if key not in self._parsed:
            self._parsed[key] = self._read(source, form, span)
        return self._parsed[key]

    def _read(self, source: str, form: str, span: Span) -> Query | None:
        texts = self._graph.objects(source, iri(form))
        if len(texts) != 1 or not is_literal(texts[0]):
            what = _KINDS.get(form, "a constraint in SPARQL")
            self._report(f"{what} has one sh:{form}", "write its query", span)
            return None
        prefixes = dict(self._prefixes(source))
        prologue = "".join(f"PREFIX {name}: <{each}> " for name, each in prefixes.items())
        try:
            query = parse_query(prologue + parse(texts[0]).value, f"sh:{form}")
        except ProgramError as error:
            for each in cast("tuple[Diagnostic, ...]", error.diagnostics):
                line = each.span.line
                message = f"the query of sh:{form} is wrong in its line {line}: {each.message}"
                self._report(message, _HINT if "prefix" in each.message else each.help, span)
            return None
        if query.form != form.upper():
            self._report(
                f"the query of sh:{form} has the form {query.form}", f"write {form.upper()}", span
            )
            return None
        return query

    def _prefixes(self, source: str) -> Iterator[tuple[str, str]]:
        """The prefixes of a query: those that its ontologies and what they import declare."""
        ontologies = list(self._graph.objects(source, iri("prefixes")))
        for ontology in ontologies:
            imported = self._graph.objects(ontology, _IMPORTS)
            ontologies += (each for each in imported if each not in ontologies)
            for declared in self._graph.objects(ontology, iri("declare")):
                for name in self._graph.objects(declared, iri("prefix")):
                    for each in self._graph.objects(declared, iri("namespace")):
                        yield parse(name).value, parse(each).value
