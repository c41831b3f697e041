"""Backends as executors. Invariant: one program, with a rule for each thing that is computed.

A row is a fact whose first argument is its number; the rule for it derives `result(number, value)`.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from driver import Driver
from values.executors import Aggregates, Applies, Compares
from values.tables import XSD

from streamreasoner.backends.spark.backend import SparkBackend
from streamreasoner.backends.spark.epoch.groups import results, winning
from streamreasoner.backends.spark.queries.columns import (
    LATTICE,
    MULTIPLICITY,
    OLD,
    PREDICATE,
    TRANSITION,
    argument,
    fact,
)
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.operands import NEGATE, RESULT, Column, Pattern
from streamreasoner.plan.program_plan import Lattice, Reduction
from streamreasoner.program import check_text
from streamreasoner.values.builtins import FUNCTIONS, MONOTONE_AGGREGATES, TESTS
from streamreasoner.values.comparison import Operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from streamreasoner.backends.spark.epoch.term_lookup import TermLookup
    from streamreasoner.backends.spark.queries.spark_rows import QueryRunner, SparkRows
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


class DataFrames(Aggregates):
    """Aggregation on Spark's executors, to which the Spark backend leaves many candidates.

    It does nothing else of its own: on rows of data frames, conditions and functions are the same
    Python functions as in the driver.

    Args:
        store: An empty store in Spark.
    """

    def __init__(self, store: Store) -> None:
        backend = store.backend(lower(check_text("result(?i, ?v) :- member(?i, ?v, _) .")))
        assert isinstance(backend, SparkBackend)
        self._runner: QueryRunner = backend._runner  # noqa: SLF001 - the parts of the backend
        self._terms: TermLookup = backend._terms  # noqa: SLF001 - that are under test

    def aggregate(self, groups):
        """A frame of candidates for each function."""
        texts = chain.from_iterable((number(i), *dict(row[1])) for i, row in enumerate(groups))
        ids = self._terms.intern_all(texts)
        values: dict[int, int] = {}
        for function in dict(groups):
            members = [
                (ids[number(i)], ids[term], times)
                for i, (name, candidates) in enumerate(groups)
                if name == function
                for term, times in candidates
            ]
            aggregated = self._best if function in MONOTONE_AGGREGATES else self._total
            values.update(aggregated(function, members))
        terms = self._terms.texts(values.values())
        found = {row: terms[value] for row, value in values.items()}
        return [found.get(ids[number(i)]) for i in range(len(groups))]

    def _total(self, function: str, members: Sequence[Member]) -> dict[int, int]:
        """The results of a reduction; its candidates are matches, whose number is not negative."""
        matches = [max(times, 0) for *_, times in members]
        candidates = self._frame(members, {OLD: [0] * len(members), MULTIPLICITY: matches})
        head = Pattern("result", (Column("#0"), Column(RESULT)))
        reduction = Reduction("member", function, head)
        changed = results(self._runner, self._terms, reduction, candidates, 2).arrow()
        assert set(changed[MULTIPLICITY].to_pylist()) == {1}
        return _by_group(changed)

    def _best(self, function: str, members: Sequence[Member]) -> dict[int, int]:
        """The winners of a lattice."""
        nothing = [0] * len(members)
        multiplicities = [times for *_, times in members]
        columns = {LATTICE: nothing, "upto": multiplicities, "before": nothing, TRANSITION: nothing}
        candidates = self._frame(members, {PREDICATE: ["result"] * len(members), **columns})
        lattice = Lattice(Pattern("result", (None, None)), 1, function)
        changed = winning(self._runner, self._terms, lattice, candidates, fact(3)).arrow()
        return _by_group(changed.filter(pc.equal(changed[TRANSITION], 1)))

    def _frame(
        self, members: Sequence[Member], columns: Mapping[str, Sequence[object]]
    ) -> SparkRows:
        """Candidates with some more columns, as a frame."""
        rows, values, _ = zip(*members, strict=True)
        cells = {argument(0): rows, argument(1): values, argument(2): [0] * len(rows), **columns}
        table = pa.table([pa.array(cells[name]) for name in cells], list(cells))
        return self._runner.from_frame(self._runner.from_table(table).frame)


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


def _by_group(table: pa.Table) -> dict[int, int]:
    """Id of the value by id of the row."""
    return dict(zip(*(table[argument(i)].to_pylist() for i in range(2)), strict=True))
