"""Aggregates as hidden predicates and reductions. Invariant: a match is counted once.

The matches of rules with equal aggregates are derived into one hidden predicate per aggregate,
whose arguments are the group and the value. The multiplicity of such a fact is the number of
occurrences of the value in the group, so an aggregate is a sum over facts and is maintained with
them. A single `min` or `max` needs none of this: it chooses among the facts of its own head.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from streamreasoner.lang import ast
from streamreasoner.lang.normal_form import aggregates_matches
from streamreasoner.plan.algebra import PlanTree, Project, Reduce, Scan, Union, joined
from streamreasoner.plan.operands import RESULT, Column, Pattern, Value
from streamreasoner.plan.program_plan import Lattice, Reduction
from streamreasoner.plan.rewrite.projections import constants_tag
from streamreasoner.values.builtins import MONOTONE_AGGREGATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class SourcedTree(NamedTuple):
    """A tree to plan.

    Attributes:
        tree: The tree.
        source: Index of its source rule, or of the first one that lowering added it for.
        added: Whether lowering added it.
    """

    tree: Project
    source: int
    added: bool = False


_Functions: TypeAlias = "tuple[tuple[int, str], ...]"
_Key: TypeAlias = "tuple[str, _Functions, tuple[tuple[int, str], ...]]"


@dataclass(slots=True)
class Aggregated:
    """The lowered aggregates of one stratum.

    Attributes:
        matches: Rules that derive the matches.
        results: Reductions whose results are joined by a rule of `heads`.
        heads: Rules that join the results of several aggregates.
        final: Reductions that derive the head of a single aggregate.
        lattices: Each `min` or `max` in a head with several aggregates.
        arities: Arities of the hidden predicates.
    """

    matches: list[SourcedTree] = field(default_factory=list)
    results: list[Reduction] = field(default_factory=list)
    heads: list[SourcedTree] = field(default_factory=list)
    final: list[Reduction] = field(default_factory=list)
    lattices: list[Lattice] = field(default_factory=list)
    arities: dict[str, int] = field(default_factory=dict)


def positions(head: ast.Atom) -> tuple[tuple[int, ast.Aggregate], ...]:
    """The aggregates of a head, as (position, aggregate)."""
    return tuple(
        (position, argument)
        for position, argument in enumerate(head.arguments)
        if isinstance(argument, ast.Aggregate)
    )


def reducing_positions(head: ast.Atom) -> tuple[tuple[int, ast.Aggregate], ...]:
    """The aggregates of a head that reductions compute; a lattice has none."""
    return positions(head) if aggregates_matches(head) else ()


def lattice(head: ast.Atom, pattern: Pattern) -> Lattice:
    """The lattice of a head, where *pattern* is the head with the operand of its aggregate."""
    [(position, aggregate)] = positions(head)
    arguments = tuple(
        argument if isinstance(argument, Value) and at != position else None
        for at, argument in enumerate(pattern.arguments)
    )
    return Lattice(Pattern(pattern.predicate, arguments), position, aggregate.function)


def reductions(rules: Iterable[tuple[ast.Atom, Project]]) -> tuple[Reduce, ...]:
    """Reduce the results of rules, given as (head, tree with the operands of its aggregates).

    Rules with equal aggregates at equal positions share a reduction over the union of matches.
    """
    groups: dict[_Key, list[Project]] = {}
    for head, tree in rules:
        functions = tuple((position, item.operation) for position, item in positions(head))
        key = (head.predicate, functions, _constants(tree.head, functions))
        groups.setdefault(key, []).append(tree)
    return tuple(
        Reduce(Union(tuple(trees)), functions) for (_, functions, _), trees in groups.items()
    )


def express(reduced: Iterable[Reduce], sources: Mapping[int, int]) -> Aggregated:
    """Express reductions by hidden predicates and rules, for which delta plans exist.

    Args:
        reduced: Results of `reductions`.
        sources: Rule index of each tree, by the id of the object: a tree may be too deep for a
            hash, which recurses.
    """
    made = Aggregated()
    for each in reduced:
        rules = [SourcedTree(tree, sources[id(tree)]) for tree in each.input.inputs]
        _Group(rules, each.functions, made).express()
    return made


def _constants(head: Pattern, functions: _Functions) -> tuple[tuple[int, str], ...]:
    """The constants among the grouping arguments."""
    aggregated = {position for position, _ in functions}
    return tuple(constant for constant in head.constants if constant[0] not in aggregated)


class _Group:
    """Rules that share a reduction."""

    def __init__(
        self, rules: Sequence[SourcedTree], functions: _Functions, made: Aggregated
    ) -> None:
        first = rules[0].tree.head
        constants = {position: Value(term) for position, term in _constants(first, functions)}
        aggregated = {position for position, _ in functions}
        self._rules = rules
        self._source = rules[0].source
        self._functions = functions
        self._made = made
        self._keys = [
            position
            for position in range(len(first.arguments))
            if position not in aggregated and position not in constants
        ]
        self._constants = constants
        self._predicate = first.predicate
        self._arity = len(first.arguments)
        tagged = Pattern(first.predicate, tuple(constants.get(p) for p in range(self._arity)))
        labels = [_label(position, function) for position, function in functions]
        self._name = f"{first.predicate}{constants_tag(tagged)}#{'+'.join(labels)}"

    def express(self) -> None:
        """Add the rules, reductions and predicates of the group."""
        made = self._made
        if len(self._functions) == 1:
            [(position, function)] = self._functions
            matches = self._match(position, function)
            head = self._head({position: RESULT})
            made.final.append(Reduction(matches, function, head, self._source))
            return
        scans: list[PlanTree] = []
        results = {}
        for position, function in self._functions:
            column = f"#result{position}"
            results[position] = column
            arguments = (*self._group_columns(), Column(column))
            scans.append(Scan(Pattern(self._result(position, function), arguments)))
        tree = Project(reduce(joined, scans), self._head(results))
        made.heads.append(SourcedTree(tree, self._source, added=True))

    def _result(self, position: int, function: str) -> str:
        """Add a predicate with one aggregate of each group, and return its name."""
        matches = self._match(position, function)
        if function in MONOTONE_AGGREGATES:
            arity = len(self._keys) + 1
            open_pattern = Pattern(matches, (None,) * arity)
            self._made.lattices.append(Lattice(open_pattern, arity - 1, function))
            return matches
        name = f"{matches}="
        self._made.arities[name] = len(self._keys) + 1
        head = Pattern(name, (*self._group_columns(), Column(RESULT)))
        self._made.results.append(Reduction(matches, function, head, self._source))
        return name

    def _match(self, position: int, function: str) -> str:
        """Add rules that derive the matches of one aggregate, and return their predicate."""
        name = self._name
        if len(self._functions) > 1:
            name += f":{_label(position, function)}"
        has_value = function != "count"
        self._made.arities[name] = len(self._keys) + has_value
        kept = (*self._keys, *([position] if has_value else []))
        for tree, source, _ in self._rules:
            head = Pattern(name, tuple(tree.head.arguments[p] for p in kept))
            self._made.matches.append(SourcedTree(Project(tree.input, head), source))
        return name

    def _group_columns(self) -> tuple[Column, ...]:
        return tuple(Column(f"#{i}") for i in range(len(self._keys)))

    def _head(self, results: dict[int, str]) -> Pattern:
        group = dict(zip(self._keys, self._group_columns(), strict=True))
        return Pattern(
            self._predicate,
            tuple(
                self._constants.get(p) or group.get(p) or Column(results[p])
                for p in range(self._arity)
            ),
        )


def _label(position: int, function: str) -> str:
    """A part of a name that says what an aggregate computes; of a separator, its bytes."""
    name, _, parameter = function.partition(" ")
    if name == "group_concat":
        parameter = parameter.encode().hex()
    return f"{name}{'-' if parameter else ''}{parameter}{position}"
