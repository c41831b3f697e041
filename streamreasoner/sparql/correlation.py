"""Where EXISTS is a join. Invariant: elsewhere, values of outside stand in its pattern.

By section 18.6 the pattern of EXISTS is evaluated with the variables of the solution replaced by
their values. As SPARQL 1.2 clarifies, each triple pattern of it is joined with the solution. For
most patterns that is a join with the whole. It may be something else where a part is left out or
chosen before that join: in OPTIONAL, MINUS, filters, BIND and slices.

Variables that a sub-query does not select, and those that the pattern assigns, are its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang.ast import Variable
from streamreasoner.sparql.algebra import (
    BasicGraphPattern,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Select,
    Service,
    Union,
    Values,
    in_scope,
    mentioned,
)

if TYPE_CHECKING:
    from streamreasoner.sparql.algebra import Pattern


def seen(pattern: Pattern) -> frozenset[str]:
    """The variables of the pattern of an EXISTS that may have values outside of it."""
    return mentioned(pattern) - _assigned(pattern)


def is_join(  # noqa: PLR0911 - one for each operator
    pattern: Pattern, names: frozenset[str]
) -> bool:
    """Whether a pattern with values in place of some variables is the join with these values."""
    match pattern:
        case Join(left, right) | Union(left, right):
            return is_join(left, names) and is_join(right, names)
        case LeftJoin(left, right, condition):
            read = mentioned(right) | (frozenset() if condition is None else mentioned(condition))
            return _is_apart(left, read, names) and is_join(right, names)
        case Minus(left, right):
            return _is_apart(left, mentioned(right), names) and is_join(right, names)
        case Filter(read, inner) | Extend(inner, _, read):
            return _is_apart(inner, mentioned(read), names)
        case Graph(_, inner) | Group(inner):
            return is_join(inner, names)
        case Select(inner, variables):
            selected = names.intersection(each.name for each in variables)
            is_slice = pattern.offset or pattern.limit is not None
            return not (is_slice and selected) and is_join(inner, selected)
        case BasicGraphPattern() | Values() | Service():
            return True
        case _:
            assert_never(pattern)


def _is_apart(pattern: Pattern, read: frozenset[str], names: frozenset[str]) -> bool:
    """Whether a pattern is a join, and binds what else is read of some variables."""
    return is_join(pattern, names) and names.isdisjoint(read - certain(pattern))


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


def _assigned(pattern: Pattern) -> frozenset[str]:
    """The variables that a pattern gives values of expressions."""
    match pattern:
        case BasicGraphPattern() | Values() | Service():
            return frozenset()
        case Join(left, right) | Union(left, right) | LeftJoin(left, right) | Minus(left, right):
            return _assigned(left) | _assigned(right)
        case Extend(inner, variable, _):
            return _assigned(inner) | {variable.name}
        case Filter(_, inner) | Graph(_, inner):
            return _assigned(inner)
        case Group(inner, _, results):
            return _assigned(inner) | {each.name for each, _ in results}
        case Select(inner, variables):
            return _assigned(inner) & {each.name for each in variables}
        case _:
            assert_never(pattern)
