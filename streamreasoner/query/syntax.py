"""Facts, patterns and rules as users type them. Invariant: carets point into the command as typed.

They are read by the rule language's parser. The prefix declarations are prepended to the first
line, and the command's name is blanked out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamreasoner.counts import counted
from streamreasoner.errors import ProgramError
from streamreasoner.facts import Fact, FactPattern
from streamreasoner.lang.ast import ARITIES, Constant, Prefix, Span, TripleTerm, Variable, Wildcard
from streamreasoner.lang.diagnostic import Diagnostic, refuse, render
from streamreasoner.lang.parser import read
from streamreasoner.lang.printer import print_directive
from streamreasoner.lang.statements import blank, is_open, is_terminated
from streamreasoner.program.checked import CHECKS
from streamreasoner.program.unknown import unknown_predicate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamreasoner.lang.ast import Atom, Base, Expression, Program

SOURCE = "<input>"
"""The file name of a command's text in diagnostics."""

_RULE_HELP = "a fact is the head alone; the shell adds rules with `rule`"
_NAME = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*\.?\s*(?:(?:#|//|%)[^\n]*\s*)?")


@dataclass(frozen=True, slots=True)
class Scope:
    """Resolves the names in a command.

    Attributes:
        directives: Prefixes and bases, in order.
        arities: Number of arguments of every predicate of the program.
        hidden: Those of them that no message lists.
        lead: What comes before the command's text in its statement.
    """

    directives: tuple[Prefix | Base, ...]
    arities: Mapping[str, int]
    hidden: frozenset[str] = frozenset()
    lead: str = ""

    @property
    def header(self) -> str:
        """The directives in the rule language, to prepend to a command's first line."""
        directives = (f"{print_directive(directive)} " for directive in self.directives)
        return "".join((*directives, self.lead))


def read_facts(text: str, start: int, scope: Scope) -> tuple[Fact, ...]:
    """The facts in a command, from an offset.

    Raises:
        ProgramError: They are not facts of the program; carets show where.
    """
    heads = _facts(text, start, scope)
    return tuple(map(_fact, heads))


def read_fact(text: str, start: int, scope: Scope) -> Fact:
    """The only fact in a command, from an offset.

    Raises:
        ProgramError: It is not one fact of the program; carets show where.
    """
    head, *others = _facts(text, start, scope)
    if others:
        more = Diagnostic("SR101", "more than one fact", others[0].span, "name one at a time")
        raise error_of([more], text, scope)
    return _fact(head)


def _facts(text: str, start: int, scope: Scope) -> list[Atom]:
    program = _statements(text, start, scope)
    # Checked here, because an error from the epoch would have no location.
    diagnostics = [item for check in CHECKS for item in check(program)]
    heads = [head for rule in program.rules for head in rule.heads]
    diagnostics += (item for head in heads for item in misfits(head, scope))
    if not diagnostics:
        diagnostics += (
            Diagnostic("SR205", f"{_kind(item)} in a fact", item.span, "write a constant")
            for head in heads
            for item in head.arguments
            if not isinstance(item, Constant)
        )
    if diagnostics:
        raise error_of(diagnostics, text, scope)
    return heads


def _fact(head: Atom) -> Fact:
    terms = (item.term for item in head.arguments if isinstance(item, Constant))
    return Fact(head.predicate, tuple(terms))


def _kind(argument: Expression) -> str:
    return "wildcard" if isinstance(argument, Wildcard) else "expression"


_AS_VARIABLE = (
    "write a variable in its place; a rule, or `list` in the shell, takes triple terms apart"
)


def read_pattern(text: str, start: int, scope: Scope, *, triple_terms: bool = False) -> FactPattern:
    """The predicate, or the atom of constants, variables and wildcards, from an offset.

    Args:
        text: The command.
        start: The offset.
        scope: Resolves its names.
        triple_terms: Whether arguments may be patterns of triple terms.

    Raises:
        ProgramError: It is neither, or not in the program; carets show where.
    """
    named = read_name(text, start, scope)
    if named is not None:
        return named
    program = _statements(text, start, scope)
    head, *others = [head for rule in program.rules for head in rule.heads]
    arguments = tuple(
        argument
        for argument in head.arguments
        if isinstance(argument, Constant | Variable | Wildcard)
        or (triple_terms and isinstance(argument, TripleTerm) and _is_pattern(argument))
    )
    diagnostics = [
        Diagnostic("SR101", "more than one atom", other.span, "ask for one at a time")
        for other in others
    ]
    diagnostics += (
        Diagnostic(
            "SR107",
            "an expression, where a term is expected",
            argument.span,
            _AS_VARIABLE if isinstance(argument, TripleTerm) and not triple_terms else None,
        )
        for argument in head.arguments
        if argument not in arguments
    )
    diagnostics += misfits(head, scope)
    if diagnostics:
        raise error_of(diagnostics, text, scope)
    return FactPattern(head.predicate, arguments)


def _is_pattern(term: TripleTerm) -> bool:
    """Whether a triple term has terms and patterns of triple terms only."""
    return all(
        _is_pattern(part)
        if isinstance(part, TripleTerm)
        else isinstance(part, Constant | Variable | Wildcard)
        for part in term.parts
    )


def read_name(text: str, start: int, scope: Scope) -> FactPattern | None:
    """The predicate, if there is nothing but a name from an offset.

    Raises:
        ProgramError: It is not in the program; a caret shows where.
    """
    name = _NAME.fullmatch(text, start)
    if name is None:
        return None
    if name[1] not in scope.arities:
        span = _span(text, *name.span(1))
        raise refuse([_unknown_predicate(name[1], span, scope)], {SOURCE: text})
    return FactPattern(name[1])


def read_prefix(text: str, scope: Scope) -> Prefix:
    """The prefix that a command declares.

    Raises:
        ProgramError: It is not one declaration; carets show where.
    """
    program = _read(text, text, scope)
    *_, declared = program.directives
    if (
        not isinstance(declared, Prefix)
        or program.rules
        or len(program.directives) != len(scope.directives) + 1
    ):
        message = Diagnostic("SR105", "more than one declaration", declared.span)
        raise error_of([message], text, scope)
    return declared


def read_rules(text: str, start: int, scope: Scope) -> str:
    """The rules in a command, from an offset, as a separate program text.

    Raises:
        ProgramError: A syntax error; carets show where.
    """
    masked = blank(text, 0, start)
    _read(text, masked, scope)
    return scope.header + masked


def read_update(text: str, start: int, scope: Scope) -> str:
    """The request of SPARQL Update in a command, from an offset, after the prefixes in scope.

    Raises:
        ProgramError: It is none; carets show where.
    """
    # Most processes read no SPARQL, so they do not import how.
    from streamreasoner.sparql.parse import parse_update  # noqa: PLC0415

    header = "".join(
        f"PREFIX {each.name}: <{each.iri}> " if isinstance(each, Prefix) else f"BASE <{each.iri}> "
        for each in scope.directives
    )
    request = f"{header}{blank(text, 0, start)}"
    try:
        parse_update(request, SOURCE)
    except ProgramError as error:
        found = [item for item in error.diagnostics if isinstance(item, Diagnostic)]
        raise refuse(_moved(found, text, len(header)), {SOURCE: text}) from None
    return request


def relocated(
    error: ProgramError, source: str, text: str, scope: Scope, texts: Mapping[str, str]
) -> ProgramError:
    """An error in the text from `read_rules`, with carets moved to the command as typed.

    Args:
        error: The error.
        source: The file name of the rules in it.
        text: The command.
        scope: The scope it was read with.
        texts: The texts of the program, by file name.
    """
    diagnostics = [item for item in error.diagnostics if isinstance(item, Diagnostic)]
    here = [item for item in diagnostics if item.span.source == source]
    others = [item for item in diagnostics if item.span.source != source]
    if not diagnostics:
        return error
    return refuse([*_shifted(here, text, scope), *others], {SOURCE: text, **texts})


def rule_warnings(warnings: Iterable[Diagnostic], source: str, text: str, scope: Scope) -> str:
    """The rendered warnings about the rules from `read_rules`.

    Args:
        warnings: The program's warnings.
        source: The file name of the rules in them.
        text: The command.
        scope: The scope it was read with.
    """
    here = [item for item in warnings if item.span.source == source]
    return render(_shifted(here, text, scope), {SOURCE: text})


def _statements(text: str, start: int, scope: Scope) -> Program:
    """Parse one or more heads without bodies; the last dot is optional."""
    program = read_statements(text, start, scope)
    diagnostics = [
        Diagnostic("SR101", "a rule, where facts are expected", rule.span, _RULE_HELP)
        for rule in program.rules
        if rule.body
    ]
    diagnostics += (
        Diagnostic("SR101", "a directive, where facts are expected", directive.span)
        for directive in program.directives[len(scope.directives) :]
    )
    if diagnostics:
        raise error_of(diagnostics, text, scope)
    return program


def read_statements(text: str, start: int, scope: Scope) -> Program:
    """The statements in a command, from an offset; the last dot is optional.

    Raises:
        ProgramError: A syntax error; carets show where.
    """
    masked = blank(text, 0, start)
    if not is_terminated(masked) and not is_open(masked):
        # On a line of its own, because the last line may end with a comment.
        masked += "\n."
    return _read(text, masked, scope)


def _read(text: str, masked: str, scope: Scope) -> Program:
    reading = read(scope.header + masked, SOURCE)
    if reading.diagnostics:
        raise error_of(reading.diagnostics, text, scope)
    return reading.program


def misfits(atom: Atom, scope: Scope) -> Iterator[Diagnostic]:
    """Report an atom that the program has no predicate for."""
    predicate, arity = atom.predicate, atom.arity
    expected = scope.arities.get(predicate)
    if expected is None:
        yield _unknown_predicate(predicate, atom.span, scope)
    elif arity != expected:
        message = f"'{predicate}' has {counted(expected, 'argument')} in the program, not {arity}"
        hint = "write `_` where any term will do" if predicate in ARITIES else None
        yield Diagnostic("SR210", message, atom.span, hint)


def _unknown_predicate(name: str, span: Span, scope: Scope) -> Diagnostic:
    visible = {known: arity for known, arity in scope.arities.items() if known not in scope.hidden}
    message, hint = unknown_predicate(name, visible)
    return Diagnostic("SR211", message, span, hint)


def error_of(diagnostics: Iterable[Diagnostic], text: str, scope: Scope) -> ProgramError:
    """Mistakes in what was read with a scope, with carets moved to the command as typed."""
    return refuse(_shifted(diagnostics, text, scope), {SOURCE: text})


def _shifted(diagnostics: Iterable[Diagnostic], text: str, scope: Scope) -> list[Diagnostic]:
    """Move diagnostics of header plus command to the command alone."""
    return _moved(diagnostics, text, len(scope.header))


def _moved(diagnostics: Iterable[Diagnostic], text: str, offset: int) -> list[Diagnostic]:
    return [replace(item, span=_shifted_span(item.span, offset, text)) for item in diagnostics]


def _shifted_span(span: Span, offset: int, text: str) -> Span:
    start, end = span.start - offset, span.end - offset
    if start >= len(text):
        # The span is the added dot: point behind the text.
        return _span(text, len(text), len(text) + 1)
    return replace(
        span,
        source=SOURCE,
        column=span.column - (offset if span.line == 1 else 0),
        end_column=span.end_column - (offset if span.end_line == 1 else 0),
        start=start,
        end=end,
    )


def _span(text: str, start: int, end: int) -> Span:
    """A span inside one line of a command."""
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    return Span(SOURCE, line, column, line, column + end - start, start, end)
