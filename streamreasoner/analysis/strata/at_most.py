"""What a recursion derives at most. Invariant: without its negations it derives no less.

A negation that a recursion asks about its own values (see `asked`) is the same for each of them if
it begins with more values: with those that the recursion derives if all such negations hold.

    reach(?x, ?z) :- reach(?x, ?y), edge(?y, ?z), not some#1f(?y)
    some#1f(?y) :- may.reach(_, ?y), closed(?m), ?m < ?y
    may.reach(?x, ?z) :- asserted reach(?x, ?z)
    may.reach(?x, ?z) :- may.reach(?x, ?y), edge(?y, ?z)

So `some#1f` is complete before the recursion. One that makes terms may never end without negations,
and is left as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.components import components
from streamreasoner.analysis.strata.dependency import Heads
from streamreasoner.lang import ast
from streamreasoner.lang.binding import bindings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from streamreasoner.analysis.strata.dependency import Dependency

MAY = "may."
"""The beginning of the names of predicates of what is derived at most."""


def with_questions(
    rules: Sequence[ast.Rule],
    graph: Sequence[Sequence[Dependency]],
    questions: Mapping[int, frozenset[int]],
    ending: str,
) -> tuple[ast.Rule, ...] | None:
    """The rules, in which what recursions negate begins with what they derive at most.

    Args:
        rules: Rules in normal form.
        graph: The dependencies of each rule.
        questions: The positions in bodies of what negations are asked about.
        ending: The end of the names of predicates that are added.

    Returns:
        None if there are no such rules, or a recursion makes terms.
    """
    found = components([[edge.on for edge in edges] for edges in graph])
    members = {index: frozenset(each) for each in found for index in each}
    heads = Heads.of(rules)
    asking = {
        index: members[index]
        for index, positions in questions.items()
        if any(
            not members[index].isdisjoint(heads.unifying(atom))
            for atom in _read(rules[index].body[at] for at in positions)
        )
    }
    own = frozenset[int]().union(*asking.values())
    if not own or any(_makes_terms(rules[index]) for index in own):
        return None
    most = _AtMost([rules[index] for index in sorted(own)], ending)
    made = list(rules)
    for index in asking:
        body = rules[index].body
        chosen = [literal for at, literal in enumerate(body) if at in questions[index]]
        rest = (literal for at, literal in enumerate(body) if at not in questions[index])
        made[index] = replace(rules[index], body=(*most.literals(chosen), *rest))
    if most.misses(rule for index, rule in enumerate(rules) if index not in own):
        return None
    return (*made, *most.rules())


class _AtMost:
    """The rules of a recursion without its negations.

    Args:
        rules: The rules of the recursion.
        ending: The end of the names of their predicates.
    """

    def __init__(self, rules: Sequence[ast.Rule], ending: str) -> None:
        self._rules, self._ending = rules, ending
        self._heads = Heads.of(rules)

    def literals(self, literals: Iterable[ast.Literal]) -> Iterator[ast.Literal]:
        """Literals that hold at least where others do."""
        for each in literals:
            match each:
                case ast.Atom(asserted=False) if self._is_derived(each):
                    yield self._atom(each)
                case ast.Negation(ast.Atom(asserted=False) as atom) if self._is_derived(atom):
                    pass
                case _:
                    yield each

    def misses(self, others: Iterable[ast.Rule]) -> bool:
        """Whether one of other rules derives what is read here."""
        heads = Heads.of(others)
        read = dict.fromkeys(atom for each in self._rules for atom in _read(each.body))
        return any(self._is_derived(atom) and heads.unifying(atom) for atom in read)

    def rules(self) -> Iterator[ast.Rule]:
        """The rules; what is only negated here is not asked for."""
        read = {atom.predicate for rule in self._rules for atom in _read(rule.body)}
        known: dict[tuple[str, int], ast.Span] = {}
        for rule in (each for each in self._rules if each.head.predicate in read):
            body = tuple(self.literals(rule.body))
            yield replace(rule, heads=(self._atom(rule.head),), body=body)
            if not rule.head.predicate.endswith(self._ending):
                known.setdefault((rule.head.predicate, rule.head.arity), rule.span)
        for (predicate, arity), span in known.items():
            columns = tuple(ast.Variable(f"v.{position}", span) for position in range(arity))
            atom = ast.Atom(predicate, columns, span)
            yield ast.Rule((self._atom(atom),), (replace(atom, asserted=True),), span)

    def _atom(self, atom: ast.Atom) -> ast.Atom:
        name = atom.predicate.removesuffix(self._ending)
        return replace(atom, predicate=f"{MAY}{name}{self._ending}")

    def _is_derived(self, atom: ast.Atom) -> bool:
        return bool(self._heads.unifying(atom))


def _read(literals: Iterable[ast.Literal]) -> Iterator[ast.Atom]:
    return (each for each in literals if isinstance(each, ast.Atom) and not each.asserted)


def _makes_terms(rule: ast.Rule) -> bool:
    """Whether a fact may have terms that the facts it follows from do not have."""
    values = (expression for _, expression in bindings(rule).assignments)
    return not all(
        isinstance(each, ast.Constant | ast.Variable) for each in (*rule.head.arguments, *values)
    )
