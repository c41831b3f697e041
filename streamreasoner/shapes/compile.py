"""A text of shapes to a program. Invariant: its rules are placed in the text of the shapes."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

from streamreasoner.errors import TermError
from streamreasoner.lang import parser
from streamreasoner.lang.ast import Hidden, PredicateIndicator, Prefix, Program, Rule, Span
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.parser import ParsedText
from streamreasoner.lang.places import Places
from streamreasoner.lang.printer import PREFIX_NAME
from streamreasoner.shapes.graph import read_graph
from streamreasoner.shapes.places import ShapePlaces
from streamreasoner.shapes.read import Reader
from streamreasoner.shapes.rules import RuleWriter, can_fail

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Directive
    from streamreasoner.shapes.shape import Shape

_Node = TypeVar("_Node")


def compile_shapes(text: str, source: str) -> ParsedText:
    """Read shapes in Turtle as a program of constraints.

    Args:
        text: The shapes.
        source: Name of the text in diagnostics.
    """
    try:
        graph = read_graph(text)
    except (SyntaxError, TermError) as error:
        return _refused(text, source, [_malformed(text, source, error)])
    places = ShapePlaces(source, text, graph.prefixes)
    reader = Reader(graph, places)
    shapes = reader.shapes()
    # Recursion is reported, and would not end in the search for shapes that say nothing.
    diagnostics = reader.diagnostics or _unusable(shapes)
    if diagnostics:
        return _refused(text, source, diagnostics)
    beginning = places.first("")
    # Turtle has names of prefixes that rules have not.
    prefixes = {name: iri for name, iri in graph.prefixes.items() if PREFIX_NAME.fullmatch(name)}
    directives: list[Directive] = [Prefix(name, iri, beginning) for name, iri in prefixes.items()]
    rules: list[Rule] = []
    for statement, span in RuleWriter(shapes, prefixes).statements():
        reading = parser.read(statement, source)
        diagnostics += (replace(each, span=span) for each in reading.diagnostics)
        rules += (_placed(rule, span) for rule in reading.program.rules)
        directives += (_placed(each, span) for each in reading.program.directives)
    helpers = {
        head.predicate: len(head.arguments)
        for rule in rules
        for head in rule.heads
        if not head.violation
    }
    if helpers:
        named = (PredicateIndicator(name, arity, beginning) for name, arity in helpers.items())
        directives.append(Hidden(tuple(named), beginning))
    program = Program(source, text, tuple(directives), tuple(rules))
    return ParsedText(program, tuple(diagnostics), complete=not diagnostics)


def _unusable(shapes: dict[str, Shape]) -> list[Diagnostic]:
    """Report shapes that others refer to, but that say nothing or have no path."""
    problems = []
    for shape in shapes.values():
        for node in shape.properties:
            if shapes[node].path is None:
                message = f"the property shape {shapes[node].name} has no path"
                problems.append(Diagnostic("SR223", message, shapes[node].span))
        for node in shape.references:
            if not can_fail(shapes[node], shapes):
                message = f"the shape {shapes[node].name} has no constraint"
                problems.append(Diagnostic("SR223", message, shape.span))
    return problems


def _placed(node: _Node, span: Span) -> _Node:
    """A node of an AST with another span, and all below it."""

    def placed(value: object) -> object:
        if isinstance(value, Span):
            return span
        if isinstance(value, tuple):
            return tuple(map(placed, value))
        if is_dataclass(value) and not isinstance(value, type):
            return replace(
                value, **{each.name: placed(getattr(value, each.name)) for each in fields(value)}
            )
        return value

    return cast("_Node", placed(node))


def _malformed(text: str, source: str, error: SyntaxError | TermError) -> Diagnostic:
    line = getattr(error, "lineno", None) or 1
    start = sum(len(each) + 1 for each in text.split("\n")[: line - 1])
    start = min(start, max(len(text) - 1, 0))
    end = text.find("\n", start)
    span = Places(source, text).span(start, len(text) if end < 0 else max(end, start + 1))
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return Diagnostic("SR224", f"this is not Turtle: {message}", span)


def _refused(text: str, source: str, diagnostics: list[Diagnostic]) -> ParsedText:
    return ParsedText(Program(source, text, (), ()), tuple(diagnostics), complete=False)
