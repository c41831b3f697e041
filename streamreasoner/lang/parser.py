"""Text to Program. Invariant: every mistake is a diagnostic with a span; no other error escapes.

The grammar is `datalog.lark`; this is the only module that knows lark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput
from lark.exceptions import UnexpectedToken
from lark.lexer import PatternStr

from streamreasoner.lang import limits
from streamreasoner.lang.ast import Program, Rule, Span
from streamreasoner.lang.constants import ConstantReader
from streamreasoner.lang.diagnostic import Diagnostic, refuse
from streamreasoner.lang.parsing import syntax_error
from streamreasoner.lang.parsing.build import Builder
from streamreasoner.lang.places import Places
from streamreasoner.lang.statements import blank, statements
from streamreasoner.system.garbage import without_collections

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_SYNTAX_ERRORS = 20
_MAX_REREAD = 200_000  # characters

_NESTED = frozenset({"group", "application", "distinct", "operation", "negative", "triple_term"})
_KEYWORDS = frozenset({"TRUE", "FALSE"})
_OPERATORS = frozenset({"PLUS", "MINUS", "TIMES", "DIVIDE", "MODULO", "POWER"})

_RULE_SET = re.compile(r"\b(?:RULE|DATA)\b[^{}]*\{", re.IGNORECASE)
_NAME_IT = (
    "let the name of its file end in `.srl`, or give its media type in Python, "
    "`application/sparql-rl`"
)


@dataclass(frozen=True, slots=True)
class ParsedText:
    """The readable part of a text, and the diagnostics of the rest.

    Attributes:
        program: The statements that could be read.
        diagnostics: In no particular order.
        complete: Whether `program` has all statements of the text.
        warnings: Constructs of the text that are legal but probably mistakes.
        is_rule_set: Whether the text is of SPARQL-RL, whose conditions are about all such texts.
    """

    program: Program
    diagnostics: tuple[Diagnostic, ...]
    complete: bool
    warnings: tuple[Diagnostic, ...] = ()
    is_rule_set: bool = False


def parse(text: str, source: str = "<rules>") -> Program:
    """Read a rule text.

    Args:
        text: The rules.
        source: Name of the text in diagnostics, such as its file name.

    Raises:
        ProgramError: With a diagnostic for every mistake in syntax, terms or prefixes.
    """
    reading = read(text, source)
    if reading.diagnostics:
        raise refuse(reading.diagnostics, {source: text})
    return reading.program


@without_collections
def read(text: str, source: str) -> ParsedText:
    """Read as much of a rule text as possible; a broken statement does not hide the others."""
    diagnostics: list[Diagnostic] = []
    # A byte order mark may begin a text.
    remaining = f" {text[1:]}" if text.startswith("\ufeff") else text
    lost_prefixes = False
    # Each mistake rereads the text before it, so a long text allows fewer of them.
    reread = 0
    spans: list[tuple[int, int]] = []
    while len(diagnostics) < _MAX_SYNTAX_ERRORS and reread < _MAX_REREAD:
        try:
            tree = _grammar().parse(remaining)
            break
        except UnexpectedInput as error:
            diagnostics.append(_syntax_diagnostic(error, remaining, source))
            reread += diagnostics[-1].span.start
            spans = spans or statements(text)
            start, end = _statement_around(spans, diagnostics[-1].span)
            lost_prefixes |= "prefix" in text[start:end].lower()
            remaining = blank(remaining, start, end)
    else:
        return ParsedText(Program(source, text, (), ()), tuple(diagnostics), complete=False)
    complete = not diagnostics
    constants = ConstantReader(diagnostics, prefixes_lost=lost_prefixes)
    try:
        items = _Walk(Builder(constants, diagnostics), Places(source, text)).statements(tree)
    except _TooDeepError as error:
        diagnostics.append(error.diagnostic)
        return ParsedText(Program(source, text, (), ()), tuple(diagnostics), complete=False)
    directives = tuple(item for item in items if not isinstance(item, Rule))
    rules = tuple(item for item in items if isinstance(item, Rule))
    return ParsedText(Program(source, text, directives, rules), tuple(diagnostics), complete)


@cache
def _grammar() -> Lark:
    text = files(__package__).joinpath("datalog.lark").read_text(encoding="utf-8")
    return Lark(
        text, parser="lalr", lexer="contextual", keep_all_tokens=True, maybe_placeholders=False
    )


@cache
def _tokens_with_text() -> frozenset[str]:
    """Return the names of the tokens whose text matters."""
    named = {terminal.name for terminal in _grammar().terminals} - _literal_tokens().keys()
    return frozenset(named | _OPERATORS | _KEYWORDS)


@cache
def _literal_tokens() -> dict[str, str]:
    """Map the names that lark gives to fixed tokens to their text."""
    return {
        terminal.name: terminal.pattern.value
        for terminal in _grammar().terminals
        if isinstance(terminal.pattern, PatternStr)
    }


def _statement_around(spans: Sequence[tuple[int, int]], span: Span) -> tuple[int, int]:
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
    """Point at the name, not at the token after it."""
    start = text.rindex(name, 0, span.start)
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    end_column = column + len(name)
    at_name = Span(span.source, line, column, line, end_column, start, start + len(name))
    directive = syntax_error.directive_like(name, text[start + len(name) : start + 1000])
    if directive is not None:
        hint = f"write `{directive}`"
        if _RULE_SET.search(text):
            hint += f"; if this is SPARQL-RL, {_NAME_IT}"
        return Diagnostic("SR105", f"`{name}` is a SPARQL directive", at_name, hint)
    if text.startswith(":", start + len(name)):
        return Diagnostic(
            "SR101", f"a term that begins with `{name}:`", at_name, syntax_error.TRIPLE
        )
    hint = f"a predicate is written `{name}(…)`, a variable `?{name}`, an IRI `ex:{name}`"
    return Diagnostic("SR101", f"name `{name}` without parentheses", at_name, hint)


def _end_of_text(token: Token, names: set[str], source: str, text: str) -> Diagnostic:
    """Point to the end of the last token, where the missing text belongs."""
    end = max(token.end_pos or 0, 0)
    line, column = token.end_line or 1, token.end_column or 1
    start = max(end - 1, 0)
    span = Span(source, line, max(column - 1, 1), line, max(column, 2), start, max(end, 1))
    expected = frozenset(_literal_tokens().get(name, name) for name in names)
    hint = "end the statement with a dot" if "." in expected else None
    message = syntax_error.message(text[start:end], expected).partition(", ")[2]
    return Diagnostic("SR102", f"the text ends here, {message}", span, hint)


class _TooDeepError(Exception):
    """The nesting exceeds `limits.NESTING`."""

    def __init__(self, span: Span) -> None:
        super().__init__()
        message = f"expressions and groups are nested more than {limits.NESTING} deep here"
        hint = "move parts of it into variables, `?part = …`, or into predicates"
        self.diagnostic = Diagnostic("SR108", message, span, hint)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Calls the builder's method for every node of a parse tree, children first."""

    builder: Builder
    places: Places

    def statements(self, root: Tree[Token]) -> list[Any]:
        """Return the values of the statements, without those that could not be built."""
        values = (self._value(child, 0)[0] for child in root.children if isinstance(child, Tree))
        return [value for value in values if value is not None]

    def _value(self, tree: Tree[Token], depth: int) -> tuple[Any, int, int]:
        """Return the value of a node, and the offsets of its start and end."""
        depth += tree.data in _NESTED
        if depth > limits.NESTING:
            raise _TooDeepError(self.places.span(*_first_token(tree)))
        values: list[Any] = []
        start = -1
        end = 0
        named = _tokens_with_text()
        for child in tree.children:
            if isinstance(child, Tree):
                value, first, end = self._value(child, depth)
                values.append(value)
            else:
                first, end = child.start_pos or 0, child.end_pos or 0
                if child.type in named:
                    values.append(child)
            if start < 0:
                start = first
        span = self.places.span(start, end)
        return getattr(self.builder, tree.data)(span, values), start, end


def _first_token(tree: Tree[Token]) -> tuple[int, int]:
    first: Tree[Token] | Token = tree
    while isinstance(first, Tree):
        first = first.children[0]
    return first.start_pos or 0, first.end_pos or 0


def _span(token: Token, source: str) -> Span:
    start = token.start_pos or 0
    return Span(
        source,
        token.line or 1,
        token.column or 1,
        token.end_line or 1,
        token.end_column or 2,
        start,
        token.end_pos or start + 1,
    )
