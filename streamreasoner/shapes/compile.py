"""Texts of shapes to a program. Invariant: its rules are placed in the texts of the shapes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from streamreasoner.lang import parser
from streamreasoner.lang.ast import ARITIES, Hidden, PredicateIndicator, Prefix, Program, Rule, Span
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.parser import ParsedText
from streamreasoner.lang.places import Places, placed
from streamreasoner.lang.printer import PREFIX_NAME
from streamreasoner.shapes.graph import TurtleError, read_graph
from streamreasoner.shapes.reading.places import ShapePlaces
from streamreasoner.shapes.reading.read import Reader
from streamreasoner.shapes.rules.early import separated
from streamreasoner.shapes.rules.orders import wrong_orders
from streamreasoner.shapes.rules.tables import in_tables
from streamreasoner.shapes.rules.writer import RuleWriter
from streamreasoner.sparql.rules.rulebook import without_single_uses
from streamreasoner.system.garbage import without_collections

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.lang.ast import Directive
    from streamreasoner.shapes.graph import Graph
    from streamreasoner.shapes.rules.shape_rules import Statement, Violated
    from streamreasoner.shapes.shape import Shape


_Node = TypeVar("_Node")


@dataclass(frozen=True, slots=True)
class CompiledShapes:
    """What some texts of shapes stand for.

    Attributes:
        readings: A program of rules for each text.
        violated: The constraints by the predicates of their violations.
        shapes: The shapes by their nodes.
    """

    readings: tuple[ParsedText, ...]
    violated: Mapping[str, Violated]
    shapes: Mapping[str, Shape]


def compile_shapes(texts: Mapping[str, str]) -> CompiledShapes:
    """Read shapes in Turtle as a program of constraints; shapes of one text may be of another.

    Args:
        texts: The texts, by their names in diagnostics.
    """
    try:
        return _compiled(tuple(texts.items()))
    except RecursionError:
        source, text = next(iter(texts.items()))
        place = Places(source, text).span(0, 1)
        message = "shapes, paths or expressions are nested too deeply to be read"
        hint = "refer to inner shapes by IRIs, or write fewer of them into each other"
        return _refused(texts, [Diagnostic("SR223", message, place, hint)])


@lru_cache(maxsize=1)  # a program that is checked is often validated by, too
@without_collections
def _compiled(sources: tuple[tuple[str, str], ...]) -> CompiledShapes:
    texts = dict(sources)
    try:
        graph = read_graph(texts)
    except TurtleError as error:
        return _refused(texts, [_malformed(texts, error)])
    places = ShapePlaces(texts, graph.prefixes)
    reader = Reader(graph, places)
    shapes = reader.shapes()
    inferring = reader.rules()
    # Recursion is reported, and would not end in the search for shapes that say nothing.
    diagnostics = reader.diagnostics or _unusable(shapes)
    if diagnostics:
        return _refused(texts, diagnostics)
    prefixes = _prefixes(graph)
    writer = RuleWriter(shapes, inferring, graph, prefixes)
    rules, directives, problems = _parsed([*writer.statements()], texts)
    rules = in_tables(rules, writer.inferred)
    diagnostics = [*writer.diagnostics, *problems, *wrong_orders(rules, writer.inferred)]
    apart = separated(rules, writer.inferred)
    rules = [*apart.rules]
    told = [*reader.warnings, *apart.warnings]
    helpers = {
        head.predicate: len(head.arguments)
        for rule in rules
        for head in rule.heads
        if not head.violation and head.predicate not in ARITIES
    }
    beginning = places.first("")
    directives += (Prefix(name, iri, beginning) for name, iri in prefixes.items())
    if helpers:
        named = (PredicateIndicator(name, arity, beginning) for name, arity in helpers.items())
        directives.append(Hidden(tuple(named), beginning))
    readings = []
    for source, text in texts.items():
        program = Program(
            source,
            text,
            tuple(each for each in directives if each.span.source == source),
            tuple(each for each in rules if each.span.source == source),
        )
        mine = tuple(each for each in diagnostics if each.span.source == source)
        warnings = tuple(each for each in told if each.span.source == source)
        readings.append(ParsedText(program, mine, complete=not diagnostics, warnings=warnings))
    return CompiledShapes(tuple(readings), writer.violated, shapes)


def _prefixes(graph: Graph) -> dict[str, str]:
    """The prefixes of all texts, the first of those with one name; rules have fewer names."""
    prefixes: dict[str, str] = {}
    for each in graph.prefixes.values():
        for name, iri in each.items():
            if PREFIX_NAME.fullmatch(name):
                prefixes.setdefault(name, iri)
    return prefixes


def _parsed(
    statements: Sequence[tuple[Statement, Span]], texts: Mapping[str, str]
) -> tuple[list[Rule], list[Directive], list[Diagnostic]]:
    """The rules and directives of statements, all in their places."""
    rules: list[Rule] = []
    directives: list[Directive] = []
    lines = [(text, span) for text, span in statements if isinstance(text, str)]
    reading = parser.read("\n".join(text for text, _ in lines), next(iter(texts)))
    written = iter(reading.program.rules)

    def at(place: Span) -> Span:
        return lines[place.line - 1][1]

    def located(node: _Node, span: Span) -> _Node:
        return placed(node, lambda _: span)

    pending = next(written, None)
    line = 0
    for statement, span in statements:
        if isinstance(statement, Rule):
            rules.append(located(statement, span))
            continue
        line += 1
        while pending is not None and pending.span.line == line:
            rules.append(located(without_single_uses(pending), span))
            pending = next(written, None)
    directives += (located(each, at(each.span)) for each in reading.program.directives)
    problems = [replace(each, span=at(each.span)) for each in reading.diagnostics]
    # Two constraints may demand the same of the same values.
    return list(dict.fromkeys(rules)), directives, problems


def _unusable(shapes: Mapping[str, Shape]) -> list[Diagnostic]:
    """Report property shapes without a path."""
    problems = []
    for shape in shapes.values():
        for node in shape.properties:
            if shapes[node].path is None:
                message = f"the property shape {shapes[node].name} has no path"
                hint = "give it a sh:path, or refer to it by sh:node"
                problems.append(Diagnostic("SR223", message, shapes[node].span, hint))
    return problems


def _malformed(texts: Mapping[str, str], error: TurtleError) -> Diagnostic:
    text = texts[error.source]
    start = sum(len(each) + 1 for each in text.split("\n")[: error.line - 1])
    start = min(start, max(len(text) - 1, 0))
    end = text.find("\n", start)
    span = Places(error.source, text).span(start, len(text) if end < 0 else max(end, start + 1))
    return Diagnostic("SR224", f"this is not Turtle: {error}", span)


def _refused(texts: Mapping[str, str], diagnostics: Sequence[Diagnostic]) -> CompiledShapes:
    def readings() -> Iterator[ParsedText]:
        for source, text in texts.items():
            mine = tuple(each for each in diagnostics if each.span.source == source)
            yield ParsedText(Program(source, text, (), ()), mine, complete=False)

    return CompiledShapes(tuple(readings()), {}, {})
