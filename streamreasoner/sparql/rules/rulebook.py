"""The rules of one query as they are written. Invariant: no other query has their names."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from streamreasoner.analysis.types import type_errors
from streamreasoner.lang.ast import (
    NOWHERE,
    Aggregate,
    Atom,
    Comparison,
    Constant,
    Program,
    Rule,
    Variable,
    Wildcard,
)
from streamreasoner.lang.traversal import substituted, variables
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.sparql.rules.bodies import Body

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamreasoner.lang.ast import Expression, Literal, Span

_NAME = re.compile(r"[^\W\d]\w*")


class UnsupportedError(Exception):
    """A part of a query has no rules.

    Args:
        message: What is wrong.
        span: Where it stands.
        hint: What to do.
    """

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.span, self.hint = span, hint


class Rulebook:
    """Collects rules, and names predicates and variables.

    Args:
        name: The predicate of the answers, which the names of all others begin with.
        names: The variables of the query.
    """

    def __init__(self, name: str, names: Iterable[str]) -> None:
        self._name = name
        self._legal = {each: each for each in names if _NAME.fullmatch(each)}
        self._taken = set(self._legal)
        self._numbers: Counter[str] = Counter()
        self._known: dict[tuple[object, ...], str] = {}
        self.hidden: set[str] = set()
        self.rules: list[Rule] = []

    def variable(self, name: str) -> str:
        """The name in rules of a variable of the query; only its own names have no dot."""
        if name not in self._legal:
            kind, dot, _ = name.partition(".")
            self._legal[name] = self.fresh(kind if dot else "v")
            if not dot:
                self.hidden.discard(self._legal[name])
        return self._legal[name]

    def names(self, names: Iterable[str]) -> set[str]:
        """The names in rules of variables of the query."""
        return {self.variable(name) for name in names}

    def fresh(self, kind: str) -> str:
        """A variable that the query cannot name."""
        while True:
            self._numbers[f"?{kind}"] += 1
            name = f"{kind}{self._numbers[f'?{kind}']}"
            if name not in self._taken:
                self._taken.add(name)
                self.hidden.add(name)
                return name

    def label(self, kind: str) -> Constant:
        """A text that tells nodes of this query from those of others."""
        return Constant(to_ntriples(f"{self._name}.{kind}"), NOWHERE)

    def predicate(self, kind: str) -> str:
        """A hidden predicate."""
        self._numbers[kind] += 1
        return f"{self._name}__{kind}{self._numbers[kind]}"

    def derive(
        self, predicate: str, arguments: Iterable[Expression], literals: Iterable[Literal]
    ) -> None:
        """Add a rule."""
        values, body = tuple(arguments), tuple(literals)
        if any(isinstance(each, Aggregate) for each in values):
            values, body = self._without_constants(values, body)
        self.add((Atom(predicate, values, NOWHERE),), body)

    def _without_constants(
        self, values: tuple[Expression, ...], body: tuple[Literal, ...]
    ) -> tuple[tuple[Expression, ...], tuple[Literal, ...]]:
        """Arguments of an aggregation, whose heads must have the same constants in all rules."""
        keys = list(values)
        for position, value in enumerate(values):
            if isinstance(value, Constant):
                keys[position] = Variable(self.fresh("none"), NOWHERE)
                body = (*body, Comparison(keys[position], "=", value, NOWHERE))
        return tuple(keys), body

    def add(self, heads: Sequence[Atom], literals: Iterable[Literal]) -> None:
        """Add a rule with heads; equal ones only once, unless they count matches.

        One with an expression that never has a value never matches, and is left out.
        """
        body = tuple(literals)
        if not any(isinstance(literal, Atom) for literal in body):
            body = (self.unit(), *body)
        rule = without_single_uses(Rule(tuple(heads), body, NOWHERE))
        if is_erroneous(rule):
            return
        counts = any(isinstance(each, Aggregate) for head in heads for each in head.arguments)
        if counts or rule not in self.rules:
            self.rules.append(rule)

    def fact(self, predicate: str, arguments: Iterable[Constant]) -> None:
        """Add a fact."""
        rule = Rule((Atom(predicate, tuple(arguments), NOWHERE),), (), NOWHERE)
        if rule not in self.rules:
            self.rules.append(rule)

    def unit(self) -> Atom:
        """An atom that holds always, for bodies without another."""
        predicate = f"{self._name}__unit"
        self.fact(predicate, ())
        return Atom(predicate, (), NOWHERE)

    def helper(self, kind: str, columns: Iterable[str], bodies: Iterable[Body]) -> str:
        """A hidden predicate of the solutions of bodies in some variables, one for equal ones."""
        names, parts = tuple(columns), tuple(bodies)
        key = (kind, names, parts)
        if key not in self._known:
            self._known[key] = predicate = self.predicate(kind)
            for body in parts:
                self.derive(predicate, map(body.argument, names), body.literals)
        return self._known[key]

    def materialised(self, kind: str, bodies: Sequence[Body], names: Sequence[str]) -> Body:
        """The solutions of bodies in some variables, each once, as a single body."""
        known = [name for name in names if any(name in body.names for body in bodies)]
        bound = tuple(name for name in known if all(name in body.bound for body in bodies))
        maybe = tuple(name for name in known if name not in bound)
        columns = (*bound, *maybe)
        return Body((atom(self.helper(kind, columns, bodies), columns),), bound, maybe)

    def tagged(self, kind: str, bodies: Sequence[Body]) -> Body:
        """The solutions of bodies, as often as they have them, as a single body."""
        known = tuple(dict.fromkeys(name for body in bodies for name in body.names))
        bound = tuple(name for name in known if all(name in body.bound for body in bodies))
        maybe = tuple(name for name in known if name not in bound)
        predicate, branch = self.predicate(kind), self.fresh("branch")
        for index, body in enumerate(bodies, start=1):
            arguments = (*map(body.argument, (*bound, *maybe)), number(index))
            self.derive(predicate, arguments, body.literals)
        return Body((atom(predicate, (*bound, *maybe, branch)),), (*bound, branch), maybe)


def is_erroneous(rule: Rule) -> bool:
    """Whether an expression of a rule never has a value, as a query may have one."""
    return any(type_errors(Program("", "", (), (rule,))))


def atom(predicate: str, names: Iterable[str]) -> Atom:
    """An atom of variables."""
    return Atom(predicate, tuple(Variable(name, NOWHERE) for name in names), NOWHERE)


def number(value: int) -> Constant:
    """An integer."""
    return Constant(to_ntriples(value), NOWHERE)


def without_single_uses(rule: Rule) -> Rule:
    """The rule with wildcards for arguments of positive atoms that are used nowhere else."""
    uses = Counter(
        variable.name for literal in (*rule.heads, *rule.body) for variable in variables(literal)
    )
    single = {name: Wildcard(NOWHERE) for name, count in uses.items() if count == 1}
    body = tuple(
        substituted(literal, single) if isinstance(literal, Atom) else literal
        for literal in rule.body
    )
    return Rule(rule.heads, body, rule.span)
