"""Rules that ask what is absent, where a rule derives anything. Invariant: what they ask is early.

A rule whose predicate is a variable, such as that of `rdfs:subPropertyOf`, may derive whatever
another rule asks the absence or the number of, from what that derives: a circle through negation.
There each rule that asks so is *late*, and asks about *early* facts: what is asserted, and what
follows by the rules that are not late. `shacl_early(s, p, o)` are the early triples, `P__early`
the early facts of a helper P.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.dependency import Through, dependencies
from streamreasoner.analysis.strata.stratify import decided_strata, strata, unstratifiable
from streamreasoner.lang.ast import NOWHERE, TRIPLE, Atom, Negation, Rule, Variable
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.normal_form import aggregates_matches, normal_form
from streamreasoner.lang.traversal import atom_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from streamreasoner.analysis.strata.dependency import Dependency
    from streamreasoner.lang.ast import Literal
    from streamreasoner.shapes.inference import ShapeRule

_NEGATIVE = frozenset({Through.NEGATION, Through.AGGREGATE})
_TRIPLE = Atom(TRIPLE, tuple(Variable(name, NOWHERE) for name in "spo"), NOWHERE)
_EARLY = "shacl_early"


@dataclass(frozen=True, slots=True)
class Separated:
    """Rules without such circles.

    Attributes:
        rules: The rules.
        warnings: One for each rule of a shape that asks about early facts.
    """

    rules: tuple[Rule, ...]
    warnings: tuple[Diagnostic, ...] = ()


def separated(rules: Sequence[Rule], inferred: Mapping[Rule, ShapeRule]) -> Separated:
    """The rules of shapes, in which those of a circle through negation ask about early facts.

    Args:
        rules: All rules of the shapes.
        inferred: The rules of shapes, by those that derive their triples.
    """
    owners = [(rule, part) for rule in rules for part in normal_form(rule) if part.body]
    parts = [part for _, part in owners]
    graph = dependencies(parts)
    for members in strata(graph):
        inside = frozenset(members)
        negative = [
            index
            for index in members
            if any(edge.through in _NEGATIVE and edge.on in inside for edge in graph[index])
        ]
        is_open = any(_is_open(parts[index].head) for index in members)
        if negative and is_open and _is_refused(parts, members, graph):
            circle = dict.fromkeys(owners[index][0] for index in members)
            asking = {owners[index][0] for index in negative}
            made = _Circle(tuple(rules), tuple(circle), asking)
            late = dict.fromkeys(inferred[each] for each in made.late if each in inferred)
            return Separated(made.separated(), tuple(map(_warning, late)))
    return Separated(tuple(rules))


def _warning(late: ShapeRule) -> Diagnostic:
    message = (
        f"the rule {late.name} asks what is absent, or how many there are, of what rules whose"
        " predicate is a variable may derive from it; it sees only what is asserted, and what"
        " rules of shapes derive that do not ask so"
    )
    hint = "ask about properties that no such rule derives, or write those rules for each property"
    return Diagnostic("SR512", message, late.span, hint)


def _is_open(head: Atom) -> bool:
    return head.predicate == TRIPLE and all(isinstance(each, Variable) for each in head.arguments)


def _is_refused(
    parts: Sequence[Rule], members: tuple[int, ...], graph: Sequence[Sequence[Dependency]]
) -> bool:
    """Whether not even the schema decides the negation of a circle."""
    for index in members:
        if any(edge.through is Through.AGGREGATE and edge.on in members for edge in graph[index]):
            return True
    return any(unstratifiable(parts, graph, decided_strata(parts, graph), {}))


class _Circle:
    """The rules of a circle, in the making.

    Args:
        rules: All rules.
        circle: Those of the circle.
        asking: Those of it that negate or count what others of it derive.

    Attributes:
        late: Those for triples that ask, themselves or by helpers.
    """

    def __init__(
        self, rules: tuple[Rule, ...], circle: tuple[Rule, ...], asking: set[Rule]
    ) -> None:
        self._rules = rules
        self._circle = circle
        self._helpers = {head.predicate for rule in circle for head in rule.heads} - {TRIPLE}
        # Helpers that ask, themselves or by others, are early where rules for triples read them.
        self._asking = {rule.head.predicate for rule in asking} - {TRIPLE}
        more = True
        while more:
            found = {
                rule.head.predicate
                for rule in circle
                if any(each.predicate in self._asking for each in _read(rule))
            } - {TRIPLE}
            more = not found <= self._asking
            self._asking |= found
        self.late = [
            rule
            for rule in circle
            if rule.head.predicate == TRIPLE
            and (rule in asking or any(each.predicate in self._asking for each in _read(rule)))
        ]

    def separated(self) -> tuple[Rule, ...]:
        """The rules, with those of early facts in front of those that no rule reads any more."""
        late = {rule: self._asks_early(rule) for rule in self.late}
        early = [*self._early([*late.values()])]
        rules = [*(late.get(rule, rule) for rule in self._rules), *early]
        return tuple(self._in_use(rules))

    def _asks_early(self, rule: Rule) -> Rule:
        """A late rule: what it negates is early, and so is what helpers negate."""
        aggregated = aggregates_matches(rule.head)
        return self._reading_early(rule, lambda atom: aggregated or atom.predicate in self._asking)

    def _reading_early(self, rule: Rule, is_early: Callable[[Atom], bool]) -> Rule:
        """A rule whose negations are early, and some of its other atoms."""

        def put(literal: Literal) -> Literal:
            match literal:
                case Negation(Atom() as atom):
                    return replace(literal, atom=self._early_atom(atom))
                case Atom() if is_early(literal):
                    return self._early_atom(literal)
                case _:
                    return literal

        return replace(rule, body=tuple(map(put, rule.body)))

    def _early_atom(self, atom: Atom) -> Atom:
        if atom.asserted:
            return atom
        if atom.predicate == TRIPLE:
            return replace(atom, predicate=_EARLY)
        is_mine = atom.predicate in self._helpers
        return replace(atom, predicate=_early(atom.predicate)) if is_mine else atom

    def _early(self, late: Sequence[Rule]) -> Iterator[Rule]:
        """The rules of early facts that late rules read, directly or not."""
        of: dict[str, list[Rule]] = {}
        left_out = set(self.late)
        for rule in self._rules:
            for predicate in {head.predicate for head in rule.heads}:
                if rule not in left_out and predicate in {*self._helpers, TRIPLE}:
                    of.setdefault(predicate, []).append(rule)
        names = {_early(each): each for each in (*self._helpers, TRIPLE)}
        wanted = [each.predicate for rule in late for each in _read(rule)]
        seen: set[str] = set()
        while wanted:
            name = wanted.pop()
            if name in seen or name not in names:
                continue
            seen.add(name)
            if name == _EARLY:
                body = (replace(_TRIPLE, asserted=True),)
                yield Rule((replace(_TRIPLE, predicate=name),), body, self.late[0].span)
            for rule in of.get(names[name], ()):
                made = self._made_early(rule)
                wanted += (each.predicate for each in _read(made))
                yield made

    def _made_early(self, rule: Rule) -> Rule:
        heads = tuple(self._early_atom(head) for head in rule.heads)
        return replace(self._reading_early(rule, lambda _: True), heads=heads, name=None)

    def _in_use(self, rules: Sequence[Rule]) -> Sequence[Rule]:
        """The rules without helpers that are read no more."""
        while True:
            read = {each.predicate for rule in rules for each in _read(rule)}
            kept = [
                rule
                for rule in rules
                if rule.head.predicate not in self._asking or rule.head.predicate in read
            ]
            if len(kept) == len(rules):
                return kept
            rules = kept


def _early(predicate: str) -> str:
    return _EARLY if predicate == TRIPLE else f"{predicate}__early"


def _read(rule: Rule) -> Iterator[Atom]:
    """The atoms of a body, negated or not."""
    return (atom for atom in map(atom_of, rule.body) if atom is not None)
