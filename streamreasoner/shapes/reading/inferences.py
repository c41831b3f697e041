"""Rules of shapes, and targets in SPARQL. Invariant: each is read, or reported by name.

Sources: see `shapes.inference`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Variable
from streamreasoner.rdf.term_kind import is_blank_node, is_iri, is_literal, is_resource
from streamreasoner.rdf.terms import parse
from streamreasoner.rdf.vocabulary import RDF_TYPE, SH
from streamreasoner.shapes.graph import iri
from streamreasoner.shapes.inference import ShapeRule, Term, This, Triple
from streamreasoner.shapes.paths import local_name
from streamreasoner.shapes.reading.expressions import ExpressionError, Expressions
from streamreasoner.shapes.reading.parameters import UnsupportedError, is_true
from streamreasoner.shapes.reading.vocabulary import OF_RULES, UNDERSTOOD, why_not_supported
from streamreasoner.values.numbers import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streamreasoner.lang.ast import Span
    from streamreasoner.shapes.graph import Graph
    from streamreasoner.shapes.inference import NodeExpression
    from streamreasoner.shapes.reading.places import ShapePlaces
    from streamreasoner.shapes.reading.queries import Queries, Report
    from streamreasoner.sparql.algebra import Query

_TYPE = f"<{RDF_TYPE}>"
_TRIPLE, _SPARQL = iri("TripleRule"), iri("SPARQLRule")
_PARTS = ("subject", "predicate", "object")
_REFUSED = {
    "ruleProcessor": "write the layers and the order of the rules: sh:layer, sh:order",
    "expectedPredicate": "derive its values by a rule of their own",
    "jsFunctionName": "write it as a sh:SPARQLRule",
}
"""Properties of rules that are not supported, and what to do."""


class Inferences:
    """Reads the rules of shapes.

    Args:
        graph: The graph of the shapes.
        places: Where things stand.
        queries: Reads their queries.
        named: Gives a name that nothing else has, from words.
        report: Takes what is wrong.
    """

    def __init__(
        self,
        graph: Graph,
        places: ShapePlaces,
        queries: Queries,
        named: Callable[[str], str],
        report: Report,
    ) -> None:
        self._graph = graph
        self._places = places
        self._queries = queries
        self._named = named
        self._report = report
        self._expressions = Expressions(graph)

    def of_shape(self, node: str, name: str, place: Span) -> Iterator[ShapeRule]:
        """The rules of a shape."""
        title = node[1:-1] if is_iri(node) else name
        for rule in self._graph.objects(node, iri("rule")):
            yield from self._rule(rule, self._span(rule, place), name, title, node)

    def of_no_shape(self) -> Iterator[ShapeRule]:
        """The rules in SPARQL that are not those of a shape."""
        linked = {
            rule
            for predicates in self._graph.triples.values()
            for rule in predicates.get(iri("rule"), ())
        }
        for node, predicates in self._graph.triples.items():
            if node not in linked and _SPARQL in predicates.get(_TYPE, ()):
                span = self._places.first(node if is_iri(node) else _SPARQL)
                yield from self._rule(node, span, "rules", "")

    def selected(self, node: str, place: Span) -> Iterator[Query]:
        """The queries that select targets of a shape."""
        span = self._places.find(iri("target"), place)
        for target in self._graph.objects(node, iri("target")):
            if not self._graph.objects(target, iri("select")):
                types = self._graph.objects(target, _TYPE)
                kind = f" of the type {parse(types[0]).value}" if types else ""
                hint = "write its query: sh:target [ a sh:SPARQLTarget ; sh:select … ]"
                self._report(f"the target{kind} has no sh:select", hint, span)
                continue
            query = self._queries.query(target, "select", span)
            if query is not None and Variable("this", span) not in query.select.variables:
                self._report("the query of a target does not select ?this", "select ?this", span)
            elif query is not None:
                yield query

    def _span(self, rule: str, place: Span) -> Span:
        if is_iri(rule):
            return self._places.first(rule)
        start = self._places.find(iri("rule"), place)
        values = self._graph.objects(rule, iri("object"))
        return self._places.find(values[0], start) if values else start

    def _rule(
        self, node: str, span: Span, shape: str, title: str, owner: str | None = None
    ) -> Iterator[ShapeRule]:
        for name in self._graph.used(node):
            if name in _REFUSED:
                self._report(f"sh:{name} of a rule is not supported", _REFUSED[name], span)
                return
            # A rule may be a shape, too.
            if name not in OF_RULES | UNDERSTOOD:
                place = self._places.find(iri(name), span)
                self._report(*why_not_supported(name, OF_RULES), place)
                return
        try:
            if self._flag(node, "deactivated"):
                return
            derived = self._derived(node, span)
            once = self._flag(node, "runOnce")
            layer, own = (self._number(node, each) for each in ("layer", "order"))
            order = Decimal(0) if owner is None else self._number(owner, "order"), own
        except ExpressionError as error:
            self._report(str(error), error.hint, span)
            return
        except UnsupportedError as error:
            self._report(str(error), None, span)
            return
        if derived is None:
            return
        words = local_name(node) if is_iri(node) else f"{shape}_rule"
        called = node[1:-1] if is_iri(node) else title or words
        conditions = tuple(self._conditions(node))
        yield ShapeRule(
            node, self._named(words), called, derived, conditions, layer, order, once, span
        )

    def _derived(self, node: str, span: Span) -> Triple | Query | None:
        """What a rule derives; None if it is reported."""
        types = self._graph.objects(node, _TYPE)
        triple = [each for each in _PARTS if self._graph.objects(node, iri(each))]
        query = self._graph.objects(node, iri("construct"))
        if (triple or _TRIPLE in types) and (query or _SPARQL in types):
            raise ExpressionError(
                "a rule is a sh:TripleRule and a sh:SPARQLRule", "write two rules, or one of them"
            )
        if query or _SPARQL in types:
            return self._queries.query(node, "construct", span)
        if not triple:
            kinds = ", ".join(parse(each).value.replace(SH, "sh:") for each in types)
            raise ExpressionError(
                f"the rule of the type {kinds} is not supported"
                if kinds
                else "a rule says nothing",
                "write a sh:TripleRule or a sh:SPARQLRule",
            )
        return self._triple(node)

    def _triple(self, node: str) -> Triple:
        parts: list[NodeExpression] = []
        for each in _PARTS:
            values = self._graph.objects(node, iri(each))
            if not values and each == "subject":
                parts.append(This())  # as SHACL 1.2 has it
                continue
            if len(values) != 1:
                raise ExpressionError(
                    f"a triple rule has {len(values)} values of sh:{each}", "give it one"
                )
            parts.append(self._expressions.read(values[0]))
        subject, predicate, value = parts
        if isinstance(subject, Term) and not is_resource(subject.term):
            what = "literal" if is_literal(subject.term) else "triple term"
            raise ExpressionError(f"sh:subject of a rule is a {what}", "name a node")
        if isinstance(predicate, Term) and not is_iri(predicate.term):
            raise ExpressionError("sh:predicate of a rule is not an IRI", "name a property")
        return Triple(subject, predicate, value)

    def _conditions(self, node: str) -> Iterator[str]:
        for value in self._graph.objects(node, iri("condition")):
            members = self._graph.members(value)
            yield from (value,) if members is None or value not in self._graph.triples else members

    def _flag(self, node: str, name: str) -> bool:
        return any(is_true(name, value) for value in self._graph.objects(node, iri(name)))

    def _number(self, node: str, name: str) -> Decimal:
        values = self._graph.objects(node, iri(name))
        if len(values) > 1:
            raise ExpressionError(f"a rule has {len(values)} values of sh:{name}", "give it one")
        for value in values:
            if is_blank_node(value) or number(value) is None:
                raise ExpressionError(f"sh:{name} of a rule is not a number", "write a number")
            return Decimal(parse(value).value)
        return Decimal(0)
