"""Ranges of integers in bodies, as atoms. Invariant: a range is as large as its text says.

`?i = range(0, 3)` becomes `range#0:3:1(?i)`, a predicate with the facts 0, 1 and 2. The bounds are
written in the rule, so no input can make a range large.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.values.functions.integers import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

RANGE = "range"
"""The name of ranges, each of which is one side of an equality."""

MAX_RANGE = 10_000
"""Maximum number of integers in a range."""

_BOUNDS = (2, 3)


class Ranges:
    """Replaces the ranges of one rule.

    Attributes:
        facts: The integers of the ranges, as facts of helpers.
        diagnostics: What is wrong with a range.
    """

    def __init__(self) -> None:
        self.facts: list[ast.Atom] = []
        self.diagnostics: list[Diagnostic] = []

    def rule(self, rule: ast.Rule) -> ast.Rule:
        """The rule with atoms for its ranges, other than those in braces."""
        for head in rule.heads:
            self._misplaced(head)
        return replace(rule, body=self.conjunction(rule.body))

    def conjunction(self, literals: tuple[ast.Literal, ...]) -> tuple[ast.Literal, ...]:
        """Literals with atoms for their ranges."""
        return tuple(map(self._literal, literals))

    def _literal(self, literal: ast.Literal) -> ast.Literal:
        match literal:
            case ast.Disjunction(alternatives):
                return replace(literal, alternatives=tuple(map(self.conjunction, alternatives)))
            case ast.Comparison(ast.Variable() as variable, "=", ast.Call("range") as call):
                return self._atom(variable, call)
            case ast.Comparison(ast.Call("range") as call, "=", ast.Variable() as variable):
                return self._atom(variable, call)
            case _:
                self._misplaced(literal)
                return literal

    def _misplaced(self, node: ast.Expression | ast.Literal) -> None:
        if isinstance(node, ast.Call) and node.function == RANGE:
            hint = "write `?i = range(0, 10)` as a literal of the body, and use ?i"
            self._report("a range is one side of an equality with a variable", node, hint)
        if not isinstance(node, ast.BodyAggregate | ast.NegatedBody):
            for child in traversal.children(node):
                self._misplaced(child)

    def _atom(self, variable: ast.Variable, call: ast.Call) -> ast.Atom:
        numbers = self._numbers(call)
        name = f"{RANGE}#{numbers.start}:{numbers.stop}:{numbers.step}"
        for number in numbers:
            constant = ast.Constant(to_ntriples(number), call.span)
            self.facts.append(ast.Atom(name, (constant,), call.span))
        return ast.Atom(name, (variable,), call.span)

    def _numbers(self, call: ast.Call) -> range:
        """The integers of a range; the first one if there is something wrong."""
        bounds = [
            whole(argument.term) if isinstance(argument, ast.Constant) else None
            for argument in call.arguments
        ]
        match [bound for bound in bounds if bound is not None]:
            case [start, stop, *steps] if len(bounds) in _BOUNDS and len(steps) == len(bounds) - 2:
                numbers = self._sized(start, stop, steps, call)
            case _:
                numbers = range(1)
                self._report(
                    "the bounds of a range are 2 integers, and perhaps a step, in the rule itself",
                    call,
                    "write the largest range there can be, and compare:"
                    " `?i = range(0, 1000), ?i < ?n`",
                )
        return numbers

    def _sized(self, start: int, stop: int, steps: Sequence[int], call: ast.Call) -> range:
        step = steps[0] if steps else 1
        numbers = range(start, stop, step) if step else range(0)
        if 0 < len(numbers) <= MAX_RANGE:
            return numbers
        self._report(
            f"a range has 1 to {MAX_RANGE:,} integers, found {len(numbers):,}",
            call,
            "it begins with the first bound and ends before the second;"
            " more integers belong in a file of facts",
        )
        return range(1)

    def _report(self, message: str, node: ast.Call, hint: str) -> None:
        self.diagnostics.append(Diagnostic("SR235", message, node.span, hint))
