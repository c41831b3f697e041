"""Evaluation of a few rules over kinds of facts. Invariant: each fact has its first reason.

For what is said about a program, not for facts of the input: rules have atoms of terms and
variables, and tests that a term is another one.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.lang.ast import NOWHERE, Atom, Constant, Negation, Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from streamreasoner.lang.ast import Rule

Reason: TypeAlias = "tuple[Rule, tuple[Atom, ...]] | None"
"""The rule and the facts that derive a fact; None if it was given."""

_Bindings: TypeAlias = "dict[str, Constant]"


def derive(rules: Sequence[Rule], facts: Iterable[Atom]) -> dict[Atom, Reason]:
    """All facts that follow, and why.

    Args:
        rules: Rules of atoms and tests `not same_term(?x, constant)`.
        facts: Atoms of constants.
    """
    reasons: dict[Atom, Reason] = dict.fromkeys(facts)
    places: dict[object, list[tuple[Rule, int]]] = defaultdict(list)
    for rule in rules:
        for at, atom in enumerate(rule.atoms):
            key, *narrower = _selecting(atom)
            places[narrower[0] if narrower else key].append((rule, at))
    known = _Known()
    queue = deque(reasons)
    while queue:
        fact = queue.popleft()
        known.add(fact)
        for rule, at in [place for key in _selecting(fact) for place in places.get(key, ())]:
            for chosen, premises in _joined(rule.atoms, at, fact, known):
                head = _ground(rule.head, chosen)
                if head not in reasons and not _is_excluded(rule, chosen):
                    reasons[head] = rule, premises
                    queue.append(head)
    return reasons


def _selecting(atom: Atom) -> list[object]:
    """What selects facts like an atom: its predicate, and each of its constants."""
    places = enumerate(atom.arguments)
    return [atom.reads, *((atom.reads, at, e.term) for at, e in places if isinstance(e, Constant))]


class _Known:
    """Facts by predicate, and by one of their terms."""

    def __init__(self) -> None:
        self._facts: dict[object, list[Atom]] = defaultdict(list)

    def add(self, fact: Atom) -> None:
        for key in _selecting(fact):
            self._facts[key].append(fact)

    def like(self, atom: Atom, bindings: _Bindings) -> list[Atom]:
        """Facts that may match, the fewest that one term selects."""
        keys = _selecting(_ground(atom, bindings))
        return min((self._facts.get(key, []) for key in keys), key=len)


def _joined(
    atoms: Sequence[Atom], at: int, fact: Atom, known: _Known
) -> Iterator[tuple[_Bindings, tuple[Atom, ...]]]:
    """The matches of a body in which one atom matches a fact."""
    bindings = _matched(atoms[at], fact, {})
    found: list[tuple[_Bindings, tuple[Atom, ...]]] = [] if bindings is None else [(bindings, ())]
    for number, atom in enumerate(atoms):
        found = [
            (extended, (*premises, other))
            for chosen, premises in found
            for other in ([fact] if number == at else known.like(atom, chosen))
            if (extended := _matched(atom, other, chosen)) is not None
        ]
    yield from found


def _matched(atom: Atom, fact: Atom, bindings: _Bindings) -> _Bindings | None:
    """The bindings with those of a fact; None if they differ."""
    extended = dict(bindings)
    for argument, term in zip(atom.arguments, fact.arguments, strict=True):
        if not isinstance(term, Constant):
            return None
        if isinstance(argument, Variable) and extended.setdefault(argument.name, term) != term:
            return None
        if isinstance(argument, Constant) and argument != term:
            return None
    return extended


def _is_excluded(rule: Rule, bindings: _Bindings) -> bool:
    """Whether two arguments of a negated test are the same term."""
    tests = (each.atom for each in rule.body if isinstance(each, Negation))
    return any(
        len({bindings.get(e.name) if isinstance(e, Variable) else e for e in test.arguments}) == 1
        for test in tests
    )


def _ground(atom: Atom, bindings: _Bindings) -> Atom:
    """An atom with its bindings in the place of variables."""
    arguments = (
        bindings.get(each.name, each) if isinstance(each, Variable) else each
        for each in atom.arguments
    )
    return Atom(atom.predicate, tuple(arguments), NOWHERE, asserted=atom.asserted)
