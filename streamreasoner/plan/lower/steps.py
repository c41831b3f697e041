"""Rules in normal form to relational algebra, step by step. Invariant: all trees are equivalent.

The first five steps are the textbook ones for plain Datalog; three more lower negation, tests and
computed values. A step takes a tree and returns a tree.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, assert_never, cast

from streamreasoner.lang import ast
from streamreasoner.lang.binding import bindings
from streamreasoner.plan import algebra
from streamreasoner.plan.expressions import Names, extended, fresh
from streamreasoner.plan.operands import Column, Comparison, Pattern, Same, Test, Value
from streamreasoner.plan.substitution import substituted
from streamreasoner.values.comparison import Operator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from streamreasoner.plan.operands import Operand

    Step: TypeAlias = Callable[[algebra.PlanTree], algebra.PlanTree]


def incomplete_expression(rule: ast.Rule) -> algebra.PlanTree:
    """The product of the atoms of the body, with all constraints still in Incomplete."""
    scans: list[algebra.PlanTree] = []
    equations: list[algebra.Equation] = []
    for number, atom in enumerate(rule.atoms):
        columns = [f"${number}.{position}" for position in range(atom.arity)]
        scans.append(algebra.Scan(Pattern(atom.reads, tuple(map(Column, columns)))))
        equations += [
            algebra.Equation(column, argument)
            for column, argument in zip(columns, atom.arguments, strict=True)
            if not isinstance(argument, ast.Wildcard)
        ]
    bound = bindings(rule)
    equations += [algebra.Equation(name, expression) for name, expression in bound.assignments]
    return algebra.Incomplete(
        algebra.product(tuple(scans)), tuple(equations), bound.filters, rule.head
    )


def constants_to_selections(tree: algebra.PlanTree) -> algebra.PlanTree:
    """`edge(?x, ex:a)`: select the column of a constant."""

    def change(node: algebra.Incomplete) -> algebra.Incomplete:
        below, rest = node.input, list[algebra.Equation]()
        columns = algebra.columns_of(below)
        for equation in node.equations:
            match equation.expression:
                case ast.Constant(term) if equation.column in columns:
                    below = algebra.Select(below, Same(equation.column, Value(term)))
                case _:
                    rest.append(equation)
        return replace(node, input=below, equations=tuple(rest))

    return _in_incomplete(tree, change)


def equalities_to_selections(tree: algebra.PlanTree) -> algebra.PlanTree:
    """`edge(?x, ?y), edge(?y, ?z)`: name the first column of a variable, select others to equal it.

    An expression, which remains to be computed, names its first column `#0`.
    """

    def change(node: algebra.Incomplete) -> algebra.Incomplete:
        columns = algebra.columns_of(node.input)
        rest: list[algebra.Equation] = []
        names: dict[ast.Expression, str] = {}
        named: dict[str, Operand] = {}
        equal: list[Same] = []
        for equation in node.equations:
            column, expression = equation.column, equation.expression
            if column not in columns:
                rest.append(equation)
            elif expression in names:
                equal.append(Same(names[expression], Column(column)))
            elif isinstance(expression, ast.Variable):
                names[expression] = expression.name
                named[column] = Column(expression.name)
            else:
                names[expression] = fresh(rest)
                named[column] = Column(names[expression])
                rest.append(algebra.Equation(names[expression], expression))
        below: algebra.PlanTree = reduce(algebra.Select, equal, substituted(node.input, named))
        return replace(node, input=below, equations=tuple(rest))

    return _in_incomplete(tree, change)


def head_to_projection(tree: algebra.PlanTree) -> algebra.PlanTree:
    """Project to the arguments of the head, with the operand of an aggregate in its place."""

    def change(node: algebra.Incomplete) -> algebra.PlanTree:
        head = node.head
        if head is None:
            return node
        names = Names(node.equations)
        arguments = tuple(
            names.column(argument.arguments[0])
            if isinstance(argument, ast.Aggregate)
            else names.operand(argument)
            for argument in head.arguments
        )
        below = replace(node, equations=names.equations, head=None)
        return algebra.Project(_complete(below), Pattern(head.predicate, arguments))

    return _in_incomplete(tree, change)


def products_to_joins(tree: algebra.PlanTree) -> algebra.PlanTree:
    """Merge columns that a selection makes equal; their trees join on them."""
    equal: dict[str, Operand] = {
        node.condition.other.name: Column(node.condition.column)
        for node in algebra.walk(tree)
        if isinstance(node, algebra.Select)
        and isinstance(node.condition, Same)
        and isinstance(node.condition.other, Column)
    }

    def merged(node: algebra.PlanTree, below: list[algebra.PlanTree]) -> algebra.PlanTree:
        match node:
            case algebra.Scan():
                return substituted(node, equal)
            case algebra.Product():
                return reduce(algebra.joined, below)
            case algebra.Select(_, Same(_, Column())):
                return below[0]
            case _:
                return algebra.with_inputs(node, below)

    return algebra.folded(tree, merged)


def negations_to_antijoins(tree: algebra.PlanTree) -> algebra.PlanTree:
    """`not edge(?x, _)`: keep the rows that agree with no fact."""

    def change(node: algebra.Incomplete) -> algebra.PlanTree:
        names = Names(node.equations)
        patterns: list[Pattern] = []
        rest: list[ast.Literal] = []
        for literal in node.literals:
            match literal:
                case ast.Negation(ast.Atom() as atom):
                    operands = tuple(
                        None if isinstance(argument, ast.Wildcard) else names.operand(argument)
                        for argument in atom.arguments
                    )
                    patterns.append(Pattern(atom.reads, operands))
                case _:
                    rest.append(literal)
        below = _complete(replace(node, equations=names.equations, literals=tuple(rest)))
        for pattern in patterns:
            below = algebra.Antijoin(below, algebra.Scan(pattern))
        return below

    return _in_incomplete(tree, change)


def conditions_to_selections(tree: algebra.PlanTree) -> algebra.PlanTree:
    """`?x < ?y + 1`: select rows by comparisons and tests."""

    def change(node: algebra.Incomplete) -> algebra.PlanTree:
        names = Names(node.equations)
        conditions = [condition(literal, names.operand) for literal in node.literals]
        below = _complete(replace(node, equations=names.equations, literals=()))
        for each in conditions:
            below = algebra.Select(below, each)
        return below

    return _in_incomplete(tree, change)


def equations_to_extensions(tree: algebra.PlanTree) -> algebra.PlanTree:
    """`?e = ?d + 1`: compute the remaining values from existing columns."""
    return _in_incomplete(tree, lambda node: extended(node.input, node.equations))


STEPS: Mapping[str, Step] = {
    "constants to selections": constants_to_selections,
    "equalities to selections": equalities_to_selections,
    "head to projection": head_to_projection,
    "products to joins": products_to_joins,
    "negations to antijoins": negations_to_antijoins,
    "conditions to selections": conditions_to_selections,
    "equations to extensions": equations_to_extensions,
}
"""The steps after the incomplete expression, in order."""


def condition(
    literal: ast.Literal, operand: Callable[[ast.Expression], Operand]
) -> Comparison | Test:
    """The condition that a literal means, of the operands of its expressions."""
    match literal:
        case ast.Comparison(left, operator, right):
            return Comparison(operand(left), Operator(operator), operand(right))
        case ast.Call(function, arguments):
            return Test(function, tuple(map(operand, arguments)), negated=False)
        case ast.Negation(ast.Call(function, arguments)):
            return Test(function, tuple(map(operand, arguments)), negated=True)
        case ast.Atom() | ast.Negation() | ast.NegatedBody() | ast.Disjunction():
            raise algebra.PlanError(f"{literal} is not a condition on values.")
        case _:
            assert_never(literal)


def _in_incomplete(
    tree: algebra.PlanTree, change: Callable[[algebra.Incomplete], algebra.PlanTree]
) -> algebra.PlanTree:
    """The tree with another incomplete part, which has nothing but links above it."""
    _, links = algebra.spine(tree)
    place = next((i for i, each in enumerate(links) if isinstance(each, algebra.Incomplete)), None)
    if place is None:
        return tree
    changed = change(cast("algebra.Incomplete", links[place]))
    for link in links[place + 1 :]:
        changed = algebra.with_inputs(
            link, (changed, link.negated) if isinstance(link, algebra.Antijoin) else (changed,)
        )
    return changed


def _complete(node: algebra.Incomplete) -> algebra.PlanTree:
    """The input, if the incomplete part is empty."""
    return node if node.equations or node.literals or node.head else node.input
