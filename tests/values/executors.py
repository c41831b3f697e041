"""What computes with values, behind one protocol. Invariant: an executor's bases say what it does.

An executor takes and returns canonical terms. One that does all four is an `Executor`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache, cmp_to_key
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from values.tables import FALSE, TRUE

from streamreasoner.explain import ground
from streamreasoner.lang.ast import NOWHERE, BinaryOperation, Call, Constant, UnaryMinus
from streamreasoner.plan import term_evaluation
from streamreasoner.plan.operands import NEGATE, Comparison, Computation, Test, Value
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import parse
from streamreasoner.values import builtins
from streamreasoner.values.builtins import FUNCTIONS, TESTS
from streamreasoner.values.comparison import Operator, compare
from streamreasoner.values.kernels import comparing, exact, functions, ordering
from streamreasoner.values.order import order_key
from streamreasoner.values.sums import results
from streamreasoner.values.valuation import NO_VALUE, value
from streamreasoner.values.value_columns import Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamreasoner.lang.ast import Expression

CODES = {name: code for code, name in enumerate(functions.NAMES)}
TRUTHS = {True: TRUE, False: FALSE, None: None}


class Compares(ABC):
    """Compares terms by value."""

    @abstractmethod
    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[frozenset[str]]:
        """The comparisons that hold between the terms of each pair, as operators."""


class Orders(ABC):
    """Knows the total order of terms."""

    @abstractmethod
    def order(self, terms: Sequence[str]) -> list[str]:
        """The terms in the total order."""


class Applies(ABC):
    """Applies built-ins and arithmetic operators."""

    @abstractmethod
    def apply(self, calls: Sequence[tuple[str, Sequence[str]]]) -> list[str | None]:
        """The value of each (function, arguments), for a test a boolean; None if it has none."""


class Aggregates(ABC):
    """Aggregates terms."""

    @abstractmethod
    def aggregate(
        self, groups: Sequence[tuple[str, Sequence[tuple[str, int]]]]
    ) -> list[str | None]:
        """The value of each (aggregate, terms with multiplicities); None if it has none.

        A multiplicity is a number of matches; a term that is retracted too often has no match.
        """


class Executor(Compares, Orders, Applies, Aggregates, ABC):
    """Computes everything that the language computes with values."""


class Functions(Executor):
    """The functions in Python, which backends and explanations call."""

    def compare(self, pairs):
        """Compare with `functions.order`, as explanations do."""
        return [_accepted(compare(left, right)) for left, right in pairs]

    def order(self, terms):
        """Sort by the bytes of a key."""
        return sorted(terms, key=order_key)

    def apply(self, calls):
        """Apply with `builtins.apply` and `builtins.test`."""
        return [
            TRUTHS[builtins.test(function, arguments)]
            if function in TESTS
            else builtins.apply(function, arguments)
            for function, arguments in calls
        ]

    def aggregate(self, groups):
        """Aggregate with `functions.sums`; without a match there is no group."""
        values: list[str | None] = []
        for name, members in groups:
            matched = [(term, times) for term, times in members if times > 0]
            values += (results(name, matched) if matched else ()) or (None,)
        return values


class Kernels(Compares, Orders, Applies):
    """The compiled comparisons and functions of term ids.

    Attributes:
        computed: What they computed themselves, without Python: (function, value).
    """

    def __init__(self) -> None:
        self._dictionary = Dictionary()
        self._values = Values(self._dictionary)
        self.computed: set[tuple[str, str | None]] = set()

    def compare(self, pairs):
        """Compare with `kernels.comparing`."""
        ids = self._ids(chain.from_iterable(pairs))
        table = self._values.table
        orders = (comparing.compare(table, ids[left], ids[right]) for left, right in pairs)
        return [_accepted(None if order == comparing.INCOMPARABLE else order) for order in orders]

    def order(self, terms):
        """Sort with `kernels.ordering`."""
        ids = self._ids(terms)
        table = self._values.table
        by_id = cmp_to_key(lambda left, right: ordering.order(table, left, right))
        return sorted(terms, key=lambda term: by_id(ids[term]))

    def apply(self, calls):
        """Apply with `kernels.functions`, and with Python what those leave to it."""
        return [self._applied(function, arguments) for function, arguments in calls]

    def _applied(self, function: str, arguments: Sequence[str]) -> str | None:
        ids = self._ids(arguments)
        cells = np.array([ids[term] for term in arguments], np.int32)
        code = CODES.get(function, len(CODES))
        result = functions.apply(self._values.table, code, cells, len(cells))
        if result == exact.DELEGATED:
            return Functions().apply([(function, arguments)])[0]
        assert len(self._values) == len(self._dictionary)
        if result == exact.NO_VALUE:
            value = None
        elif function in TESTS:
            value = TRUTHS[bool(result)]
        else:
            value = self._dictionary.decode(np.array([result])).to_pylist()[0]
            self._check_value(result, value)
        self.computed.add((function, value))
        return value

    def _check_value(self, number: int, text: str) -> None:
        """The value of a term that a kernel made is that of its text."""
        found = self._values
        literal = parse(text)
        expected = value(literal.value, literal.datatype) if literal.datatype else NO_VALUE
        columns = found.kind, found.whole, found.fraction, found.double
        fields = (int(expected.kind), expected.whole, expected.fraction, expected.double)
        # NaN differs from itself, but not its text.
        assert str([column[number].item() for column in columns]) == str([*fields])

    def _ids(self, terms: Iterable[str]) -> dict[str, int]:
        """Ids of terms whose values are known to the kernels."""
        ids = {term: self._dictionary.intern(term) for term in terms}
        self._values.extend()
        return ids


class Explanations(Compares, Applies):
    """Plans on terms, which explanations run, and the values that they print."""

    def compare(self, pairs):
        """Compare with `plan.term_evaluation`."""
        return [
            frozenset(
                operator.value
                for operator in Operator
                if term_evaluation.holds(Comparison(Value(left), operator, Value(right)), {})
            )
            for left, right in pairs
        ]

    def apply(self, calls):
        """Apply with `plan.term_evaluation`, and functions also with `explain.ground`."""
        return [
            _truth(function, arguments) if function in TESTS else _value(function, arguments)
            for function, arguments in calls
        ]


@cache
def _accepted(order: int | None) -> frozenset[str]:
    return frozenset(operator.value for operator in Operator if operator.accepts(order))


def _truth(function: str, arguments: Sequence[str]) -> str | None:
    operands = tuple(map(Value, arguments))
    for truth, negated in ((TRUE, False), (FALSE, True)):
        if term_evaluation.holds(Test(function, operands, negated), {}):
            return truth
    return None


def _value(function: str, arguments: Sequence[str]) -> str | None:
    computed = term_evaluation.value(Computation("x", function, tuple(map(Value, arguments))), {})
    assert ground.value(_expression(function, arguments), {}) == computed
    return computed


def _expression(function: str, arguments: Sequence[str]) -> Expression:
    constants = tuple(Constant(term, NOWHERE) for term in arguments)
    if function in FUNCTIONS:
        return Call(function, constants, NOWHERE)
    if function == NEGATE:
        return UnaryMinus(*constants, NOWHERE)
    left, right = constants
    return BinaryOperation(function, left, right, NOWHERE)
