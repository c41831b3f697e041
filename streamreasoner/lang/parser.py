"""Text to Program. Invariant: every mistake is a diagnostic with a span; no other error leaves.

The grammar is `datalog.lark`; this is the one module that knows lark.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput
from lark.exceptions import UnexpectedToken
from lark.lexer import PatternStr

from streamreasoner.lang import syntax_error
from streamreasoner.lang.ast import Program, Rule, Span
from streamreasoner.lang.build import Builder
from streamreasoner.lang.constants import ConstantReader
from streamreasoner.lang.diagnostic import Diagnostic, refuse
from streamreasoner.lang.statements import blank, statements

if TYPE_CHECKING:
    from lark.tree import Meta

_MOST_SYNTAX_ERRORS = 20


@dataclass(frozen=True, slots=True)
class Reading:
    """What could be read of a text, and the diagnostics for the rest.

    Attributes:
        program: The statements that could be read.
        diagnostics: Mistakes, in no particular order.
        complete: Whether no statement is left out of `program`.
    """

    program: Program
    diagnostics: tuple[Diagnostic, ...]
    complete: bool


def parse(text: str, source: str = "<rules>") -> Program:
    """Read a rule text.

    Args:
        text: The rules.
        source: Name of the text in diagnostics, such as its file name.

    Raises:
        ProgramError: With a diagnostic for every mistake of syntax, term or prefix.
    """
    reading = read(text, source)
    if reading.diagnostics:
        raise refuse(reading.diagnostics, {source: text})
    return reading.program


def read(text: str, source: str) -> Reading:
    """Read as much of a rule text as possible; a broken statement does not hide the others."""
    diagnostics: list[Diagnostic] = []
    remaining = text
    lost_prefixes = False
    while len(diagnostics) < _MOST_SYNTAX_ERRORS:
        try:
            tree = _grammar().parse(remaining)
            break
        except UnexpectedInput as error:
            diagnostics.append(_syntax_diagnostic(error, remaining, source))
            start, end = _statement_around(text, diagnostics[-1].span)
            lost_prefixes |= "@prefix" in text[start:end]
            remaining = blank(remaining, start, end)
    else:
        return Reading(Program(source, text, (), ()), tuple(diagnostics), complete=False)
    complete = not diagnostics
    constants = ConstantReader(diagnostics, prefixes_lost=lost_prefixes)
    try:
        items = _build(tree, Builder(constants, diagnostics), source)
    except RecursionError:
        message = "expressions or groups are nested too deeply to be read"
        diagnostics.append(Diagnostic("SR101", message, Span(source, 1, 1, 1, 2, 0, 1)))
        return Reading(Program(source, text, (), ()), tuple(diagnostics), complete=False)
    directives = tuple(item for item in items if not isinstance(item, Rule))
    rules = tuple(item for item in items if isinstance(item, Rule))
    return Reading(Program(source, text, directives, rules), tuple(diagnostics), complete)


@cache
def _grammar() -> Lark:
    text = files(__package__).joinpath("datalog.lark").read_text(encoding="utf-8")
    return Lark(
        text, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=True
    )


@cache
def _literal_tokens() -> dict[str, str]:
    """Return the names lark gives to tokens that are fixed text, mapped to that text."""
    return {
        terminal.name: terminal.pattern.value
        for terminal in _grammar().terminals
        if isinstance(terminal.pattern, PatternStr)
    }


def _statement_around(text: str, span: Span) -> tuple[int, int]:
    spans = statements(text)
    return next((item for item in spans if span.start < item[1]), spans[-1])


def _syntax_diagnostic(error: UnexpectedInput, text: str, source: str) -> Diagnostic:
    if isinstance(error, UnexpectedToken):
        token = error.token
        names = error.accepts or error.expected
        if token.type == "$END":
            return _end_of_text(token, names, source, text)
        span = _span(token, source)
        found = ":-" if text.startswith(":-", span.start) else str(token)
    else:
        assert isinstance(error, UnexpectedCharacters)  # noqa: S101  (lark has no third kind here)
        names = error.allowed or set()
        line, column, start = error.line, error.column, error.pos_in_stream or 0
        span = Span(source, line, column, line, column + 1, start, start + 1)
        found = text[start]
    expected = frozenset(_literal_tokens().get(name, name) for name in names)
    name = syntax_error.name_before(text, span.start) if expected == {"("} else None
    if name is not None:
        return _bare_name(name, span, text)
    code = syntax_error.code(text, span.start, expected)
    if code == "SR103":
        return Diagnostic(code, syntax_error.unclosed(text, span.start), span)
    message = syntax_error.message(found, expected)
    return Diagnostic(code, message, span, syntax_error.hint(text, span.start, expected))


def _bare_name(name: str, span: Span, text: str) -> Diagnostic:
    """Point at the name, not at what stands where its parenthesis is missing."""
    start = text.rindex(name, 0, span.start)
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    end_column = column + len(name)
    at_name = Span(span.source, line, column, line, end_column, start, start + len(name))
    hint = f"a predicate is written `{name}(…)`, a variable `?{name}`, an IRI `ex:{name}`"
    return Diagnostic("SR101", f"name `{name}` without parentheses", at_name, hint)


def _end_of_text(token: Token, names: set[str], source: str, text: str) -> Diagnostic:
    """Point behind the last token, where the missing text belongs."""
    end = max(token.end_pos or 0, 0)
    line, column = token.end_line or 1, token.end_column or 1
    start = max(end - 1, 0)
    span = Span(source, line, max(column - 1, 1), line, max(column, 2), start, max(end, 1))
    expected = frozenset(_literal_tokens().get(name, name) for name in names)
    hint = "end the statement with a dot" if "." in expected else None
    message = syntax_error.message(text[start:end], expected).partition(", ")[2]
    return Diagnostic("SR102", f"the text ends here, {message}", span, hint)


def _build(tree: Tree[Token], builder: Builder, source: str) -> Any:
    """Call the builder's method for every node, children first."""
    children = [
        _build(child, builder, source) if isinstance(child, Tree) else child
        for child in tree.children
    ]
    if tree.meta.empty:
        return children
    return getattr(builder, tree.data)(_span(tree.meta, source), children)


def _span(place: Meta | Token, source: str) -> Span:
    start = place.start_pos or 0
    return Span(
        source,
        place.line or 1,
        place.column or 1,
        place.end_line or 1,
        place.end_column or 2,
        start,
        place.end_pos or start + 1,
    )
