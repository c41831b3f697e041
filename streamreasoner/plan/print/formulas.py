"""Formulas as text. Invariant: an operation in an operation is in parentheses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from streamreasoner.plan.operands import NEGATE
from streamreasoner.values import formula as formulas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
