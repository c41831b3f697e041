"""Where EXISTS may name variables of outside. Invariant: there, substitution and joining agree.

By section 18.6 the pattern of EXISTS is evaluated with the variables of the solution replaced by
their values. For triple patterns and filters of the group that is a join. Inside OPTIONAL, MINUS,
BIND and sub-queries it may be something else, and is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang.ast import QUAD, TRIPLE, Atom, Variable
from streamreasoner.sparql.algebra import (
    Alternative,
    BasicGraphPattern,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Join,
    LeftJoin,
    Minus,
    Repeat,
    Select,
    Sequence,
    Service,
    Union,
    Values,
    in_scope,
    mentioned,
)
from streamreasoner.sparql.rules.rulebook import UnsupportedError

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Span
    from streamreasoner.sparql.algebra import Pattern
    from streamreasoner.sparql.rules.bodies import Body
    from streamreasoner.sparql.rules.rulebook import Rulebook


def check_correlation(pattern: Pattern, body: Body, book: Rulebook, span: Span) -> None:
    """Refuse the pattern of an EXISTS that names variables of a body where that is no join."""
    while isinstance(pattern, Filter):
        pattern = pattern.pattern
    _Check(body, book, span).visit(pattern)


class _Check:
    def __init__(self, body: Body, book: Rulebook, span: Span) -> None:
        self._body, self._book, self._span = body, book, span

    def visit(self, pattern: Pattern) -> None:  # noqa: C901 - one for each operator
        """Refuse a pattern, or a part of it."""
        match pattern:
            case BasicGraphPattern(triples):
                for each in triples:
                    self._ends(each.subject, each.predicate, each.object)
            case Join(left, right) | Union(left, right):
                self.visit(left)
                self.visit(right)
            case LeftJoin(left, right, condition):
                self.visit(left)
                read = (
                    mentioned(right)
                    if condition is None
                    else mentioned(right) | mentioned(condition)
                )
                self._apart(read - certain(left), "OPTIONAL")
            case Minus(left, right):
                self.visit(left)
                self._apart(mentioned(right), "MINUS")
            case Filter(condition, inner):
                self.visit(inner)
                self._apart(mentioned(condition) - certain(inner), "a filter of a group in it")
            case Extend(inner, variable, expression):
                self.visit(inner)
                self._apart({variable.name} | (mentioned(expression) - certain(inner)), "BIND")
            case Graph(_, inner):
                self.visit(inner)
            case Values() | Select() | Group():
                self._apart(frozenset(in_scope(pattern)), "VALUES or a sub-query")
            case Service():
                pass
            case _:
                assert_never(pattern)

    def _apart(self, names: frozenset[str] | set[str], where: str) -> None:
        for name in sorted(names):
            if self._book.variable(name) in self._body.names:
                raise UnsupportedError(
                    f"EXISTS names ?{name} of outside in {where}",
                    self._span,
                    "match the variable in the group of EXISTS itself first, by a triple pattern",
                )

    def _ends(self, subject: object, predicate: object, value: object) -> None:
        """A path of no steps leads from a term to itself, from a variable if that is a node."""
        if not _may_be_empty(predicate):
            return
        for end in (subject, value):
            if isinstance(end, Variable) and self._book.variable(end.name) in self._body.names:
                name = self._book.variable(end.name)
                if not any(_has_node(literal, name) for literal in self._body.literals):
                    raise UnsupportedError(
                        f"a path of no steps may lead from ?{end.name} to itself in EXISTS",
                        self._span,
                        "match the variable as subject or object of a triple pattern",
                    )


def certain(pattern: Pattern) -> frozenset[str]:  # noqa: PLR0911 - one for each operator
    """The variables that are bound in every solution of a pattern."""
    match pattern:
        case BasicGraphPattern() | Service():
            return frozenset(in_scope(pattern))
        case Join(left, right):
            return certain(left) | certain(right)
        case Union(left, right):
            return certain(left) & certain(right)
        case LeftJoin(left, _) | Minus(left, _) | Extend(left, _, _) | Filter(_, left):
            return certain(left)
        case Graph(name, inner):
            return certain(inner) | ({name.name} if isinstance(name, Variable) else frozenset())
        case Values(variables, rows):
            columns = zip(variables, zip(*rows, strict=True), strict=False)
            return frozenset(each.name for each, column in columns if None not in column)
        case Select(inner, variables):
            return certain(inner) & {each.name for each in variables}
        case Group():
            return frozenset()
        case _:
            assert_never(pattern)


def _may_be_empty(predicate: object) -> bool:
    match predicate:
        case Repeat(inner, least):
            return least == 0 or _may_be_empty(inner)
        case Inverse(inner):
            return _may_be_empty(inner)
        case Sequence(parts):
            return all(map(_may_be_empty, parts))
        case Alternative(parts):
            return any(map(_may_be_empty, parts))
        case _:
            return False


def _has_node(literal: object, name: str) -> bool:
    return (
        isinstance(literal, Atom)
        and literal.predicate in {TRIPLE, QUAD}
        and any(isinstance(each, Variable) and each.name == name for each in literal.arguments[::2])
    )
