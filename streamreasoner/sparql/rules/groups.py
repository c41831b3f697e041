"""GROUP BY and aggregates as rules. Invariant: a group has its row, whatever its aggregates are.

An aggregate whose value is an error, such as the sum of a text, leaves its variable unbound; rules
derive nothing there. So each aggregate is a predicate of its own, unless none of them can fail.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import (
    NOWHERE,
    Aggregate,
    Atom,
    Call,
    Constant,
    Negation,
    Variable,
    Wildcard,
)
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.vocabulary import UNBOUND
from streamreasoner.sparql.algebra import Extend
from streamreasoner.sparql.rules.bodies import Body
from streamreasoner.sparql.rules.rulebook import atom, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.lang.ast import Expression, Literal
    from streamreasoner.sparql.algebra import Aggregation, Group, Pattern
    from streamreasoner.sparql.rules.paths import Ways
    from streamreasoner.sparql.rules.rulebook import Rulebook

_EXTREMES = {"MIN": "min", "MAX": "max", "SAMPLE": "min"}
"""Aggregates of one of the values, by the function of rules that chooses it."""


class Groups:
    """Writes the groups of one query.

    Args:
        book: Takes their rules.
    """

    def __init__(self, book: Rulebook) -> None:
        self._book = book
        self._operands: dict[Aggregation, str] = {}

    def counts(self, group: Group) -> bool:
        """Whether it matters how often the pattern has a solution."""
        return any(
            each.function not in _EXTREMES and not each.distinct for _, each in group.results
        )

    def pattern(self, group: Group) -> Pattern:
        """The pattern of a group, with what is aggregated as variables."""
        pattern = group.pattern
        for _, aggregation in group.results:
            expression = aggregation.expression
            if expression is not None and not isinstance(expression, Variable):
                operand = Variable(f"operand.{len(self._operands) + 1}", aggregation.span)
                self._operands[aggregation] = operand.name
                pattern = Extend(pattern, operand, expression)
        return pattern

    def bodies(
        self, group: Group, bodies: Sequence[Body], keys: Sequence[str], empty: Body
    ) -> list[Body]:
        """The rows of the groups.

        Args:
            group: The group.
            bodies: The solutions of its pattern.
            keys: What they are grouped by.
            empty: The only group if it has no keys, even without a solution.
        """
        if group.keys and self._is_plain(group, bodies):
            return [self._plain(group, bodies, keys)]
        if not bodies and group.keys:
            return []
        row = self._book.materialised("group", bodies, keys) if group.keys else empty
        write = _Aggregate(self._book, bodies, tuple(keys), row, grouped=bool(group.keys))
        rows = [row]
        for variable, aggregation in group.results:
            name = self._book.variable(variable.name)
            match aggregation.function:
                case "COUNT":
                    count = write.count(name, aggregation, self._operand(aggregation))
                    rows = [row.having((count,), (name,)) for row in rows]
                case "MIN" | "MAX" | "SAMPLE":
                    found, none = write.extreme(name, aggregation, self._operand(aggregation))
                    present = [row.having(each, (name,)) for row in rows for each in found]
                    rows = [*present, *(row.having(each) for row in rows for each in none)]
                case _:
                    total = write.total(name, aggregation, self._operand(aggregation))
                    rows = [
                        Body((*row.literals, total), row.bound, (*row.maybe, name)) for row in rows
                    ]
        return rows

    def _operand(self, aggregation: Aggregation) -> str:
        if isinstance(aggregation.expression, Variable):
            return self._book.variable(aggregation.expression.name)
        return self._book.variable(self._operands.get(aggregation, ""))

    def _is_plain(self, group: Group, bodies: Sequence[Body]) -> bool:
        """Whether one aggregation gives the rows: no aggregate can fail or be of nothing."""
        return bool(group.results and bodies) and all(
            each.function in {"COUNT", *_EXTREMES}
            and not (each.expression is None and each.distinct)
            and (
                each.expression is None or all(self._operand(each) in body.bound for body in bodies)
            )
            for _, each in group.results
        )

    def _plain(self, group: Group, bodies: Sequence[Body], keys: Sequence[str]) -> Body:
        names = [self._book.variable(variable.name) for variable, _ in group.results]
        predicate = self._book.predicate("group")
        for body in bodies:
            values = [
                _aggregate(
                    _EXTREMES.get(each.function, "count"),
                    self._argument(each),
                    distinct=each.distinct,
                )
                for _, each in group.results
            ]
            self._book.derive(predicate, (*map(body.argument, keys), *values), body.literals)
        maybe = tuple(key for key in keys if not all(key in body.bound for body in bodies))
        bound = (*(key for key in keys if key not in maybe), *names)
        return Body((atom(predicate, (*keys, *names)),), bound, maybe)

    def _argument(self, aggregation: Aggregation) -> Expression:
        if aggregation.expression is None:
            return number(1)
        return Variable(self._operand(aggregation), NOWHERE)


class _Aggregate:
    """Writes one aggregate.

    Args:
        book: Takes its rules.
        bodies: What is aggregated.
        keys: What it is grouped by.
        row: A body for each group.
        grouped: Whether a group without a solution is none.
    """

    def __init__(
        self,
        book: Rulebook,
        bodies: Sequence[Body],
        keys: tuple[str, ...],
        row: Body,
        *,
        grouped: bool,
    ) -> None:
        self._book = book
        self._bodies = bodies
        self._keys = keys
        self._row = row
        self._grouped = grouped

    def count(self, name: str, aggregation: Aggregation, operand: str) -> Atom:
        """An atom of the number of solutions, or of the values of a variable."""
        parts, unbound = self._parts(operand)
        argument: Expression = Variable(operand, NOWHERE)
        if aggregation.expression is None:
            parts, unbound, argument = list(self._bodies), [], number(1)
            if aggregation.distinct and parts:
                hidden = self._book.hidden - set(self._keys)
                names = dict.fromkeys(each for body in parts for each in body.names)
                kept = [each for each in names if each not in hidden]
                parts = [self._book.materialised("distinct", parts, kept)]
        counted = self._book.predicate("counted")
        distinct = aggregation.distinct and aggregation.expression is not None
        for part in parts:
            value = _aggregate("count", argument, distinct=distinct)
            self._book.derive(counted, (*map(part.argument, self._keys), value), part.literals)
        found = atom(counted, (*self._keys, name))
        if self._grouped and not unbound:
            return found
        full = self._book.predicate("count")
        if parts:
            self._book.derive(full, atom(full, (*self._keys, name)).arguments, (found,))
        none = self._nothing(counted) if parts else ()
        zero = (*map(self._row.argument, self._keys), number(0))
        self._book.derive(full, zero, (*self._row.literals, *none))
        return atom(full, (*self._keys, name))

    def extreme(self, name: str, aggregation: Aggregation, operand: str) -> tuple[Ways, Ways]:
        """What holds where one of the values is chosen, and what holds where there is none.

        MIN and MAX of an error are an error; SAMPLE leaves it out.
        """
        parts, unbound = self._parts(operand)
        if not parts:
            return [], [()]
        function = _EXTREMES[aggregation.function]
        chosen = self._book.predicate(function)
        for part in parts:
            value = _aggregate(function, Variable(operand, NOWHERE))
            self._book.derive(chosen, (*map(part.argument, self._keys), value), part.literals)
        fails = bool(unbound) and aggregation.function != "SAMPLE"
        wrong = atom(self._book.predicate("wrong"), self._keys) if fails else None
        no_error: tuple[Literal, ...] = ()
        none: Ways = []
        if wrong is not None:
            for part in unbound:
                arguments = map(part.argument, self._keys)
                self._book.derive(wrong.predicate, arguments, part.literals)
            no_error = (Negation(wrong, NOWHERE),)
            none.append((wrong,))
        if not self._grouped or (unbound and not fails):
            none.append((*self._nothing(chosen), *no_error))
        return [(atom(chosen, (*self._keys, name)), *no_error)], none

    def total(self, name: str, aggregation: Aggregation, operand: str) -> Atom:
        """An atom of a sum, mean or concatenation; it is unbound if a value is not one of these.

        A sum is of numbers, a concatenation of literals (sections 18.5.1.3 and 18.5.1.7).
        """
        parts, unbound = self._parts(operand)
        keys, variable = self._keys, Variable(operand, NOWHERE)
        if aggregation.distinct and parts:
            parts = [self._book.materialised("distinct", parts, (*keys, operand))]
        kind, concatenates = aggregation.function.lower(), aggregation.function == "GROUP_CONCAT"
        total, some, wrong, found = (
            self._book.predicate(each) for each in (f"{kind}_of", "some", "wrong", kind)
        )
        value = _aggregate(kind, variable)
        if concatenates:
            separator = Constant(to_ntriples(aggregation.separator), NOWHERE)
            value = replace(value, arguments=(variable, separator))
        right = Call("is_literal" if concatenates else "is_number", (variable,), NOWHERE)
        for part in parts:
            columns = tuple(map(part.argument, keys))
            test = Negation(right, NOWHERE)
            self._book.derive(total, (*columns, value), part.literals)
            self._book.derive(some, columns, part.literals)
            self._book.derive(wrong, columns, (*part.literals, test))
        for part in unbound:
            self._book.derive(wrong, map(part.argument, keys), part.literals)
        columns = atom(found, keys).arguments
        unknown = Constant(UNBOUND, NOWHERE)
        no_error = () if not parts and not unbound else (Negation(atom(wrong, keys), NOWHERE),)
        if no_error:
            self._book.derive(found, (*columns, unknown), (atom(wrong, keys),))
        none: tuple[Literal, ...] = ()
        if parts:
            result = atom(total, (*keys, name))
            self._book.derive(found, (*columns, Variable(name, NOWHERE)), (result, *no_error))
            # The sum of numbers has no value if it is too large.
            missing = (atom(some, keys), *self._nothing(total), *no_error)
            self._book.derive(found, (*columns, unknown), missing)
            none = (Negation(atom(some, keys), NOWHERE),)
        if not self._grouped:
            nothing = Constant(to_ntriples(""), NOWHERE) if concatenates else number(0)
            zero = (*columns, nothing)
            self._book.derive(found, zero, (*self._row.literals, *none, *no_error))
        return atom(found, (*keys, name))

    def _parts(self, operand: str) -> tuple[list[Body], list[Body]]:
        """The solutions in which a variable is bound, and the others."""
        parts = [part for body in self._bodies for part in body.split((operand,))]
        bound = [part for part in parts if operand in part.bound]
        return bound, [part for part in parts if operand not in part.bound]

    def _nothing(self, predicate: str) -> tuple[Literal, ...]:
        """That a group has no fact of an aggregate."""
        keys = atom(predicate, self._keys).arguments
        missing = Atom(predicate, (*keys, Wildcard(NOWHERE)), NOWHERE)
        return (Negation(missing, NOWHERE),)


def _aggregate(function: str, argument: Expression, *, distinct: bool = False) -> Aggregate:
    distinct = distinct and function == "count"
    return Aggregate(function, (argument,), NOWHERE, distinct)
