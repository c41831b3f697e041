"""Comparison of terms by value, `min` and `max`. Invariant: values of two kinds have no order.

`min` and `max` return an argument, the first among equals.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.triple_terms import components
from streamreasoner.values.literal import literal
from streamreasoner.values.numbers import NUMERIC
from streamreasoner.values.valuation import ValueKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.values.literal import ValuedLiteral


class Operator(Enum):
    """Comparison of two values."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    def accepts(self, order: int | None) -> bool:
        """Whether it holds for values in this order: -1, 0, 1, or None if they have no order."""
        return order in _SATISFYING[self]


_SATISFYING: Mapping[Operator, tuple[int | None, ...]] = {
    Operator.EQ: (0,),
    # Values that cannot be compared are different.
    Operator.NE: (-1, 1, None),
    Operator.LT: (-1,),
    Operator.LE: (-1, 0),
    Operator.GT: (1,),
    Operator.GE: (0, 1),
}


def least(*arguments: str) -> str | None:
    """The least argument; None if they cannot be compared."""
    return _extreme(-1, arguments)


def greatest(*arguments: str) -> str | None:
    """The greatest argument; None if they cannot be compared."""
    return _extreme(1, arguments)


def compare(left: str, right: str) -> int | None:
    """Order of two canonical terms by value: -1, 0 or 1; None if they are not comparable."""
    if left == right:
        return 0
    if is_triple_term(left) and is_triple_term(right):
        return _equal_objects(left, right)
    a, b = literal(left), literal(right)
    if a is None or b is None or _family(a) != _family(b) or _family(a) is ValueKind.NONE:
        return None
    if ValueKind.DOUBLE in (a.value.kind, b.value.kind):
        return _sign(a.value.double, b.value.double)
    return _sign(_key(a), _key(b))


def _equal_objects(left: str, right: str) -> int | None:
    """0 if two triple terms differ in equal objects at most; they have no order."""
    while is_triple_term(left) and is_triple_term(right):
        *nodes, left = components(left)
        *others, right = components(right)
        if nodes != others:
            return None
    return 0 if compare(left, right) == 0 else None


def _extreme(sign: int, arguments: tuple[str, ...]) -> str | None:
    best = arguments[0]
    for argument in arguments[1:]:
        order = compare(argument, best)
        if order is None:
            return None
        if order == sign:
            best = argument
    return best


def _family(operand: ValuedLiteral) -> ValueKind:
    """The kind of values that can be compared with each other: all numbers are one."""
    kind = operand.value.kind
    return ValueKind.EXACT if kind is not ValueKind.NONE and operand.datatype in NUMERIC else kind


def _key(operand: ValuedLiteral) -> tuple[int, int, str]:
    text = operand.lexical if operand.value.kind is ValueKind.STRING else ""
    return operand.value.whole, operand.value.fraction, text


def _sign(left: Any, right: Any) -> int | None:
    """Order of two values of one type; None if one is NaN."""
    if left < right:
        return -1
    if left > right:
        return 1
    return 0 if left == right else None
