"""Backends as executors. Invariant: one program, with a rule for each thing that is computed.

A row is a fact whose first argument is its number; the rule for it derives `result(number, value)`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from driver import Driver
from values.executors import Aggregates, Applies, Compares
from values.tables import XSD

from streamreasoner.plan.operands import NEGATE
from streamreasoner.program import check_text
from streamreasoner.values.builtins import FUNCTIONS, MONOTONE_AGGREGATES, TESTS
from streamreasoner.values.comparison import Operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from streamreasoner.engine.session import Store

    Fact = tuple[str, tuple[str, ...], int]
    Member = tuple[int, int, int]

PASSING = (f'"NaN"^^<{XSD}double>', f'"9223372036854775807"^^<{XSD}integer>', "<urn:passing>")
"""Terms that each group has for an epoch: a backend has to forget what they did to its sums."""


class Backend(Compares, Applies, Aggregates):
    """A backend that evaluates generated rules.

    It has no order of its own to ask for: its `min` and `max` choose by it.

    Args:
        new_store: Makes an empty store; None for one in the memory of this process.
    """

    def __init__(self, new_store: Callable[[], Store] | None = None) -> None:
        self._new_store = new_store

    def compare(self, pairs):
        """A rule for each operator, over the same pairs."""
        rules = [
            f'result(?i, "{operator.value}") :- pair(?i, ?a, ?b), ?a {operator.value} ?b .'
            for operator in Operator
        ]
        facts = [("pair", (number(i), *pair), 1) for i, pair in enumerate(pairs)]
        found = defaultdict(set)
        for row, operator in self._results(rules, facts):
            found[row].add(operator.strip('"'))
        return [frozenset(found[number(i)]) for i in range(len(pairs))]

    def apply(self, calls):
        """A rule for each function and number of arguments; two for a test, if it has a value."""
        names: dict[tuple[str, int], str] = {}
        facts = []
        for i, (function, arguments) in enumerate(calls):
            name = names.setdefault((function, len(arguments)), f"call{len(names)}")
            facts.append((name, (number(i), *arguments), 1))
        rules = [
            rule
            for (function, count), name in names.items()
            for rule in _rules_of(function, count, name)
        ]
        found = dict(self._results(rules, facts))
        return [found.get(number(i)) for i in range(len(calls))]

    def aggregate(self, groups):
        """A rule for each aggregate, over the members of its groups."""
        names = {function: f"member{i}" for i, function in enumerate(dict(groups))}
        rules = [
            f"result_of_{name}(?i, {_aggregate(function)}) :- {name}(?i, ?v, _) ."
            for function, name in names.items()
        ]
        facts = [
            fact
            for i, (function, members) in enumerate(groups)
            for fact in _members(function, names[function], number(i), members)
        ]
        passing = [
            (names[function], (number(i), term, "<urn:passing>"), 1)
            for i, (function, _) in enumerate(groups)
            for term in PASSING
        ]
        predicates = [f"result_of_{name}" for name in names.values()]
        retracted = [(*fact, -times) for *fact, times in passing]
        found = dict(self._results(rules, facts + passing, retracted, predicates=predicates))
        return [found.get(number(i)) for i in range(len(groups))]

    def _results(
        self, rules: Iterable[str], *epochs: list[Fact], predicates: Sequence[str] = ("result",)
    ) -> Iterator[tuple[str, str]]:
        """The row and the value of each result after some epochs."""
        options = {} if self._new_store is None else {"store": self._new_store()}
        driver = Driver(check_text("\n".join(rules)), **options)
        for epoch in epochs:
            driver.apply(sorted(epoch))
        return (arguments for _, arguments in driver.closure(predicates))


def number(row: int) -> str:
    """The number of a row, as a term."""
    return f"<row:{row}>"


def _rules_of(function: str, count: int, name: str) -> list[str]:
    """The rules that apply a function to the facts of a predicate."""
    arguments = [f"?a{i}" for i in range(count)]
    listed = ", ".join(arguments)
    row = f"{name}(?i, {listed})"
    if function in TESTS:
        test = f"{function}({listed})"
        return [f"result(?i, true) :- {row}, {test} .", f"result(?i, false) :- {row}, not {test} ."]
    if function == NEGATE:
        return [f"result(?i, -{listed}) :- {row} ."]
    value = f"{function}({listed})" if function in FUNCTIONS else f" {function} ".join(arguments)
    return [f"result(?i, {value}) :- {row} ."]


def _aggregate(function: str) -> str:
    name, _, parameter = function.partition(" ")
    if name == "count":
        return f"{name}({parameter} ?v)"
    return f"{name}({', '.join(('?v', *filter(None, [_parameter(parameter)])))})"


def _parameter(text: str) -> str:
    return text if not text or text.isdecimal() else f'"{text}"'


def _members(
    function: str, name: str, row: str, members: Sequence[tuple[str, int]]
) -> Iterator[Fact]:
    """The facts that give a group its members, as often as their multiplicities say.

    A match is a present fact, so what matches twice is two facts. The candidates of `min` and `max`
    have multiplicities themselves: one is derived, the others are asserted.
    """
    for term, times in members:
        if function in MONOTONE_AGGREGATES:
            yield name, (row, term, number(0)), 1
            yield f"result_of_{name}", (row, term), times - 1
        elif times > 0:
            yield from ((name, (row, term, number(i)), 1) for i in range(times))
        else:
            yield name, (row, term, number(0)), times
