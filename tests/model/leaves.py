"""The leaves of plan evaluation as nested loops. Invariant: each is the definition of its node."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from oracle.arithmetic import arithmetic
from oracle.builtins import FUNCTIONS, call, compare, test

from streamreasoner.plan.operands import COPY, NEGATE, Column, Comparison, Value
from streamreasoner.values.formula import Choice, FirstValue, compute


@dataclass(frozen=True, slots=True)
class Row:
    """A partial match: ids by column, the latest iteration, and the product of the signs."""

    ids: dict[str, int]
    iteration: int
    sign: int


@dataclass(frozen=True, slots=True)
class NestedLoops:
    """Evaluates delta plans, whose relations are lists of rows and whose heads are a Counter.

    Attributes:
        terms: Terms of ids.
        deltas: Fact -> {iteration: change of its transition}.
        seen: By age, fact -> {iteration: transition}.
    """

    terms: object
    deltas: dict
    seen: dict

    def delta(self, node):
        """The changes of matching facts."""
        sign = -1 if node.negated else 1
        return [
            Row(ids, iteration, sign * change)
            for fact, changes in self.deltas.items()
            if (ids := self._matched(node.pattern, fact, {})) is not None
            for iteration, change in changes.items()
        ]

    def join(self, scan, left):
        """Each row with each transition of each fact that matches under its ids."""
        return [
            Row(ids, max(row.iteration, iteration), row.sign * transition)
            for row in left
            for fact, transitions in self.seen[scan.age].items()
            if (ids := self._matched(scan.pattern, fact, row.ids)) is not None
            for iteration, transition in transitions.items()
        ]

    def antijoin(self, scan, left):
        """Each row, less the row with each transition of its fact."""
        return left + [
            Row(row.ids, max(row.iteration, iteration), -row.sign * transition)
            for row in left
            for iteration, transition in self.seen[scan.age]
            .get(self._fact(scan.pattern, row.ids), {})
            .items()
        ]

    def select(self, condition, left):
        """The rows for which the condition holds."""
        return [row for row in left if self._holds(condition, row.ids)]

    def extend(self, computation, left):
        """The rows with a value that is new, or equal to the one they have."""
        name = computation.column
        return [
            Row({**row.ids, name: value}, row.iteration, row.sign)
            for row in left
            if (value := self._value(computation, row.ids)) is not None
            and row.ids.get(name, value) == value
        ]

    def project(self, left, head):
        """The multiplicities of heads: (fact, iteration) -> the sum of the signs."""
        heads = Counter()
        for row in left:
            heads[self._fact(head, row.ids), row.iteration + 1] += row.sign
        return Counter({head: sign for head, sign in heads.items() if sign})

    def _matched(self, pattern, fact, ids):
        """The ids extended by matching a fact; None if it does not match."""
        predicate, args = fact
        if predicate != pattern.predicate:
            return None
        extended = dict(ids)
        for argument, identifier in zip(pattern.arguments, args, strict=True):
            match argument:
                case Value(term) if self.terms.id(term) != identifier:
                    return None
                case Column(name) if extended.setdefault(name, identifier) != identifier:
                    return None
        return extended

    def _fact(self, pattern, ids):
        return pattern.predicate, tuple(self._id(each, ids) for each in pattern.arguments)

    def _id(self, operand, ids):
        return ids[operand.name] if isinstance(operand, Column) else self.terms.id(operand.term)

    def _texts(self, operands, ids):
        return [self.terms.text(self._id(operand, ids)) for operand in operands]

    def _holds(self, condition, ids):
        if isinstance(condition, Comparison):
            left, right = self._texts((condition.left, condition.right), ids)
            return compare(left, condition.operator.value, right)
        return test(condition.function, self._texts(condition.arguments, ids)) is (
            not condition.negated
        )

    def _value(self, computation, ids):
        """The id of a computed value; None if there is none."""
        texts = self._texts(computation.arguments, ids)
        match computation.function:
            case FirstValue() | Choice() as formula:
                text = compute(formula, texts)
            case function if function == COPY:
                (text,) = texts
            case function if function == NEGATE:
                text = arithmetic("-", texts)
            case function if function in FUNCTIONS:
                text = call(function, texts)
            case operator:
                text = arithmetic(operator, texts)
        return None if text is None else self.terms.id(text)
