"""Constant folding. Invariant: a computation without a value is left for run time.

A constant replaces its column everywhere except in a head: strata are computed from heads as
written, where the argument is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.plan.algebra import Extend, Project, Relation, Select, mapped, walk
from streamreasoner.plan.operands import COPY, Comparison, Computation, Operand, Test, Value
from streamreasoner.plan.substitution import substituted
from streamreasoner.values import builtins
from streamreasoner.values.comparison import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.plan.operands import Condition


def fold_constants(tree: Relation) -> Relation:
    """Replace constant computations by their values, and drop conditions that always hold."""
    match tree:
        case Project(below, head):
            values: dict[str, Operand] = {}
            while constants := _constants(below):
                below = substituted(below, constants)
                values |= constants
            for column in head.columns:
                if column in values:
                    below = Extend(below, Computation(column, COPY, (values[column],)))
            return Project(mapped(below, _without_truths), head)
        case _:
            return tree


def _constants(tree: Relation) -> dict[str, Operand]:
    """The columns with constant values."""
    return {
        node.computation.column: Value(term)
        for node in walk(tree)
        if isinstance(node, Extend) and (term := _term(node.computation)) is not None
    }


def _term(computation: Computation) -> str | None:
    terms = _terms(computation.arguments)
    if terms is None:
        return None
    if computation.function == COPY:
        return terms[0]
    return builtins.apply(computation.function, terms)


def _without_truths(node: Relation) -> Relation:
    return node.input if isinstance(node, Select) and _holds(node.condition) else node


def _holds(condition: Condition) -> bool:
    """Whether a condition on constants is true."""
    match condition:
        case Comparison(Value(left), operator, Value(right)):
            return operator.accepts(compare(left, right))
        case Test(function, arguments, negated):
            terms = _terms(arguments)
            return terms is not None and builtins.test(function, terms) is (not negated)
        case _:
            return False


def _terms(operands: Sequence[Operand]) -> list[str] | None:
    terms = [operand.term for operand in operands if isinstance(operand, Value)]
    return terms if len(terms) == len(operands) else None
