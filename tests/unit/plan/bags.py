"""Naive evaluation of relational algebra. Invariant: the multiplicity of a row is its number of
matches.

Incomplete parts of a tree are evaluated as the oracle evaluates rules, so the trees of all steps of
a rule can be compared.
"""  # noqa: D205

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

from oracle import arithmetic, holds
from oracle.builtins import call, compare, test
from oracle.expressions import term

from streamreasoner.lang.ast import Aggregate, Variable
from streamreasoner.lang.traversal import variables
from streamreasoner.plan import algebra as ra
from streamreasoner.plan.operands import Column, Comparison, Same, Test, Value
from streamreasoner.values.formula import compute

OPERATORS = {"+", "-", "*", "/", "%", "**"}


class Change(defaultdict):
    """The present facts after a change, and those `before` it."""

    def __init__(self, before):
        super().__init__(list)
        self.before = before


def rows(node, present):
    """Bag of rows, as sorted (column, term) pairs; as argument tuples if the node derives facts.

    Args:
        node: The tree.
        present: The present facts: argument tuples by predicate, each once. A Change if the tree
            reads deltas, or the facts of an age.
    """
    match node:
        case ra.Project(below, head):
            return _bag(
                (tuple(_operand(each, row) for each in head.arguments), count)
                for row, count in _rows(below, present)
            )
        case ra.Incomplete(below, equations, literals, head):
            found = []
            for row, count in _rows(below, present):
                bound = _solved(dict(row), list(equations))
                if bound is None or not all(holds(each, bound, present) for each in literals):
                    continue
                if head is None:
                    found.append((_row({name: bound[name] for name in ra.columns_of(node)}), count))
                else:
                    arguments = tuple(term(_inner(each), bound) for each in head.arguments)
                    found += [] if None in arguments else [(arguments, count)]
            return _bag(found)
        case _:
            return _bag(_algebra(node, present))


def _algebra(node, present):  # noqa: C901, PLR0912 - one case each
    match node:
        case ra.Scan(pattern, age):
            seen = present.before if age is ra.Age.OLD else present
            for row in _matches(pattern, seen):
                yield row, 1
        case ra.Delta(pattern, negated):
            sign = -1 if negated else 1
            for row in _matches(pattern, present):
                yield row, sign
            for row in _matches(pattern, present.before):
                yield row, -sign
        case ra.Product(inputs):
            for combination in product(*(_rows(each, present) for each in inputs)):
                yield _merged(combination)
        case ra.Join(left, right):
            for pair in product(_rows(left, present), _rows(right, present)):
                if all(pair[0][0][name] == pair[1][0][name] for name in node.on):
                    yield _merged(pair)
        case ra.Select(below, condition):
            for row, count in _rows(below, present):
                if _satisfies(row, condition):
                    yield _row(row), count
        case ra.Antijoin(below, negated):
            for row, count in _rows(below, present):
                if not any(
                    all(row[name] == other[name] for name in ra.columns_of(negated))
                    for other in _negated(negated, present)
                ):
                    yield _row(row), count
        case ra.Extend(below, computation):
            for row, count in _rows(below, present):
                value = _computed(row, computation)
                if value is not None and row.get(computation.column, value) == value:
                    yield _row({**row, computation.column: value}), count


def _rows(node, present):
    return [(dict(row), count) for row, count in rows(node, present).items()]


def _negated(node, present):
    """The rows of a negated scan, or of its projection, by column name."""
    match node:
        case ra.Project(below, head):
            names = head.columns
            return [{name: row[name] for name in names} for row, _ in _rows(below, present)]
        case _:
            return [row for row, _ in _rows(node, present)]


def _row(row):
    return tuple(sorted(row.items()))


def _merged(parts):
    row, count = {}, 1
    for part, times in parts:
        row |= part
        count *= times
    return _row(row), count


def _bag(pairs):
    found = Counter()
    for row, count in pairs:
        found[row] += count
    return found


def _matches(pattern, present):
    """The rows of the facts that match."""
    for fact in present[pattern.predicate]:
        row = {}
        if all(_fits(*each, row) for each in zip(pattern.arguments, fact, strict=True)):
            yield _row(row)


def _fits(argument, given, row):
    match argument:
        case None:
            return True
        case Value(wanted):
            return wanted == given
        case Column(name):
            return row.setdefault(name, given) == given


def _operand(operand, row):
    return operand.term if isinstance(operand, Value) else row[operand.name]


def _computed(row, computation):
    operands = [_operand(each, row) for each in computation.arguments]
    match computation.function:
        case "copy":
            return operands[0]
        case "negate":
            return arithmetic.arithmetic("-", operands)
        case operator if operator in OPERATORS:
            return arithmetic.arithmetic(operator, operands)
        case function:
            return (
                call(function, operands)
                if isinstance(function, str)
                else compute(function, operands)
            )


def _satisfies(row, condition):
    match condition:
        case Same(column, other):
            return row[column] == _operand(other, row)
        case Comparison(left, operator, right):
            return compare(_operand(left, row), operator.value, _operand(right, row))
        case Test(function, arguments, negated):
            return test(function, [_operand(each, row) for each in arguments]) is (not negated)


def _solved(bound, equations):
    """The columns extended by equations; None if an equation conflicts or has no value."""
    while equations:
        for equation in equations:
            column, expression = equation.column, equation.expression
            if all(each.name in bound for each in variables(expression)):
                value = term(expression, bound)
                if value is None or bound.setdefault(column, value) != value:
                    return None
            elif isinstance(expression, Variable) and column in bound:
                bound[expression.name] = bound[column]
            else:
                continue
            equations.remove(equation)
            break
        else:
            raise AssertionError(f"Nothing says what {equations} need.")
    return bound


def _inner(argument):
    return argument.arguments[0] if isinstance(argument, Aggregate) else argument
