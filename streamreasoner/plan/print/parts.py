"""Parts of plans as text. Invariant: equal plans have equal texts.

Variables are `?x`, columns added by lowering `#0` and `$1.0`, constants as in the rule language,
shortened by prefixes. `==` is the same term, `=` an equal value, `:=` a new column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang.ast import NOWHERE, Constant, bracketed
from streamreasoner.lang.constants import RDF_TYPE
from streamreasoner.lang.printer import print_expression, print_literal
from streamreasoner.plan import algebra, operands
from streamreasoner.plan.operands import NEGATE
from streamreasoner.values import formula as formulas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Text:
    """Prints the parts of a plan.

    Attributes:
        prefixes: Prefix name to IRI.
    """

    prefixes: Mapping[str, str]

    def tree(self, root: algebra.PlanTree, depth: int = 0) -> Iterator[str]:
        """One line per node, with its inputs indented below it."""
        waiting = [(root, depth)]
        while waiting:
            node, depth = waiting.pop()
            yield _INDENT * depth + self._node(node)
            waiting += [(below, depth + 1) for below in reversed(algebra.inputs(node))]

    def atom(self, predicate: str, arguments: Iterable[str]) -> str:
        """`edge(?x, ex:a)`, or `[?s, a, ?o]` for a triple."""
        printed = list(arguments)
        if printed and predicate == bracketed(len(printed)):
            return f"[{', '.join(printed)}]"
        return f"{predicate}({', '.join(printed)})"

    def pattern(self, pattern: operands.Pattern) -> str:
        """A pattern, with `_` at open positions."""
        return self.atom(
            pattern.predicate,
            (
                self.argument(pattern.predicate, position, argument)
                for position, argument in enumerate(pattern.arguments)
            ),
        )

    def arrangement(self, arrangement: algebra.Arrangement, arity: int) -> str:
        """`[key, ex:knows, _]`: the positions of the key, and the constants of all facts."""
        constants = dict(arrangement.constants)
        cells = [
            self.argument(arrangement.predicate, position, operands.Value(constants[position]))
            if position in constants
            else "key"
            if position in arrangement.key
            else "_"
            for position in range(arity)
        ]
        return self.atom(arrangement.predicate, cells)

    def rule(self, tree: algebra.Project) -> str:
        """A rule of the plan on one line."""
        patterns = tree.patterns
        parts = [*map(self.pattern, patterns)]
        parts += [f"not {self.pattern(negated)}" for negated in tree.negated]
        bound = {name for pattern in patterns for name in pattern.columns}
        for condition in tree.conditions:
            if isinstance(condition, operands.Computation):
                checks = condition.column in bound
                bound.add(condition.column)
                parts.append(self.computation(condition, checks=checks))
            else:
                parts.append(self.condition(condition))
        return f"{self.pattern(tree.head)} <- {', '.join(parts)}"

    def argument(self, predicate: str, position: int, argument: operands.Operand | None) -> str:
        """An argument of a pattern; rdf:type as the predicate of a triple is `a`."""
        is_predicate = position == 1 and predicate in {bracketed(3), bracketed(4)}
        if is_predicate and argument == operands.Value(RDF_TYPE):
            return "a"
        return "_" if argument is None else self.operand(argument)

    def operand(self, operand: operands.Operand) -> str:
        """A column or a constant."""
        match operand:
            case operands.Column(name):
                return self.column(name)
            case operands.Value(term):
                return print_expression(Constant(term, NOWHERE), self.prefixes)
            case _:
                assert_never(operand)

    def column(self, name: str) -> str:
        """`?x` for a variable of the rule; columns added by lowering keep their prefix."""
        return name if name.startswith(("#", "$")) else f"?{name}"

    def condition(self, condition: operands.Condition) -> str:
        """A condition on a row."""
        match condition:
            case operands.Same(column, other):
                return f"{self.column(column)} == {self.operand(other)}"
            case operands.Comparison(left, operator, right):
                return f"{self.operand(left)} {operator.value} {self.operand(right)}"
            case operands.Test(function, arguments, negated):
                text = f"{function}({', '.join(map(self.operand, arguments))})"
                return f"not {text}" if negated else text
            case _:
                assert_never(condition)

    def computation(self, computation: operands.Computation, *, checks: bool) -> str:
        """A new column and its value, or the required value of an existing column."""
        arguments = [self.operand(argument) for argument in computation.arguments]
        match computation.function:
            case operator if operator in INFIX:
                value = f" {operator} ".join(arguments)
            case function if function == operands.NEGATE:
                value = f"-{arguments[0]}"
            case function if function == operands.COPY:
                value = arguments[0]
            case str() as function:
                value = f"{function}({', '.join(arguments)})"
            case formula:
                text = FormulaText(arguments, lambda term: self.operand(operands.Value(term)))
                value = text.formula(formula)
        return f"{self.column(computation.column)} {'==' if checks else ':='} {value}"

    def _node(self, node: algebra.PlanTree) -> str:  # noqa: PLR0911 - one case each
        match node:
            case algebra.Scan(pattern) | algebra.Delta(pattern):
                return f"{type(node).__name__} {self.pattern(pattern)}"
            case algebra.Product():
                return "Product"
            case algebra.Join():
                return f"Join on {', '.join(self.column(name) for name in sorted(node.on))}"
            case algebra.Select(_, condition):
                return f"Select {self.condition(condition)}"
            case algebra.Antijoin():
                return "Antijoin"
            case algebra.Extend(_, computation):
                return f"Extend {self.computation(computation, checks=node.checks)}"
            case algebra.Project(_, head):
                return f"Project {self.pattern(head)}"
            case algebra.Incomplete():
                return self._incomplete(node)
            case _:
                assert_never(node)

    def _incomplete(self, node: algebra.Incomplete) -> str:
        head = "" if node.head is None else f" {print_literal(node.head, self.prefixes)}"
        parts = [
            f"{self.column(equation.column)} == "
            f"{print_expression(equation.expression, self.prefixes)}"
            for equation in node.equations
        ]
        parts += [print_literal(literal, self.prefixes) for literal in node.literals]
        return f"Incomplete{head}{' where ' if parts else ''}{', '.join(parts)}"


INFIX = frozenset({"+", "-", "*", "/", "%", "**"})


@dataclass(frozen=True, slots=True)
class FormulaText:
    """Prints a formula as the expression it was.

    Attributes:
        arguments: The texts of its arguments.
        constant: Prints a term.
    """

    arguments: Sequence[str]
    constant: Callable[[str], str]

    def formula(self, formula: formulas.Formula) -> str:
        """A formula."""
        match formula:
            case formulas.Argument(place):
                return self.arguments[place]
            case formulas.Fixed(term):
                return self.constant(term)
            case formulas.Applied(function, operands) if function in INFIX:
                return f"({f' {function} '.join(map(self.formula, operands))})"
            case formulas.Applied(function, operands):
                return f"{'-' if function == NEGATE else function}({self._list(operands)})"
            case formulas.FirstValue(operands):
                return f"coalesce({self._list(operands)})"
            case formulas.Choice(condition, then, otherwise):
                return f"if({self._condition(condition)}, {self._list((then, otherwise))})"
            case _:
                assert_never(formula)

    def _condition(self, condition: formulas.Condition) -> str:
        match condition:
            case formulas.Compared(left, operator, right):
                return f"{self.formula(left)} {operator.value} {self.formula(right)}"
            case formulas.Tested(function, operands, negated):
                return f"{'not ' if negated else ''}{function}({self._list(operands)})"
            case formulas.Every(conditions):
                return f"({', '.join(map(self._condition, conditions))})"
            case formulas.Some(conditions):
                return f"({' | '.join(map(self._condition, conditions))})"
            case _:
                assert_never(condition)

    def _list(self, operands: Sequence[formulas.Formula]) -> str:
        return ", ".join(map(self.formula, operands))
