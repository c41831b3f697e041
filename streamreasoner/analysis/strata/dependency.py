"""Dependencies between rules. Invariant: rules that can derive a common fact depend on each other.

The graph relates atoms, not predicates: a body atom depends on a head only if their constants
unify, so triples with different predicates stay independent.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Atom, Constant, Negation
from streamreasoner.lang.normal_form import aggregates_matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    from streamreasoner.lang.ast import Rule

    Positions: TypeAlias = tuple[int, ...]
    _Index: TypeAlias = defaultdict[tuple[str, ...], list[int]]


class Through(Enum):
    """How a rule depends on another."""

    ATOM = "atom"
    NEGATION = "negation"
    AGGREGATE = "aggregate"
    SAME_HEAD = "same head"


@dataclass(frozen=True, slots=True)
class Dependency:
    """A body atom of one rule that unifies with the head of another (or two heads that unify).

    Attributes:
        rule: Index of the rule that depends.
        on: Index of the rule it depends on.
        through: The kind of dependency.
        atom: The atom of `rule` that unifies with the head of `on`.
    """

    rule: int
    on: int
    through: Through
    atom: Atom


def unifies(first: Atom, second: Atom) -> bool:
    """Whether the constants of both atoms agree; variables match anything.

    Repeated variables are ignored: the stratum of a fact follows from its constants alone, which is
    what a backend can determine from the fact (docs/decisions/0008).
    """
    if first.predicate != second.predicate or first.arity != second.arity:
        return False
    return all(
        left.term == right.term
        for left, right in zip(first.arguments, second.arguments, strict=True)
        if isinstance(left, Constant) and isinstance(right, Constant)
    )


def dependencies(rules: Sequence[Rule]) -> tuple[tuple[Dependency, ...], ...]:
    """Return the dependencies of each rule in normal form.

    Rules with equal heads share a stratum anyway, so a dependency on any of them points to the
    first, which depends on the others. This keeps the graph small when a disjunction expands to
    many rules.
    """
    first: dict[Atom, int] = {}
    heads = Heads()
    equal: list[list[int]] = [[] for _ in rules]
    for index, rule in enumerate(rules):
        leader = first.setdefault(rule.head, index)
        if leader == index:
            heads.add(rule.head, index)
        else:
            equal[leader].append(index)
    return tuple(
        (
            *(
                Dependency(index, on, through, atom)
                for atom, through in _needs(rule)
                for on in heads.unifying(atom)
                if through is not Through.SAME_HEAD or on != index
            ),
            *(Dependency(index, other, Through.SAME_HEAD, rule.head) for other in equal[index]),
        )
        for index, rule in enumerate(rules)
    )


class Heads:
    """Finds the rules whose heads unify with an atom, without trying all of them.

    Heads with constants at the same positions are a kind; those of a kind that agree with an atom
    are found by the constants at the positions that both have.
    """

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, int, Positions], list[tuple[tuple[str, ...], int]]] = {}
        self._of: dict[tuple[str, int], list[Positions]] = defaultdict(list)
        self._found: dict[tuple[str, int, Positions, Positions], _Index] = {}

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> Heads:
        """The heads of rules, by their places among them."""
        heads = cls()
        for index, rule in enumerate(rules):
            heads.add(rule.head, index)
        return heads

    def add(self, head: Atom, index: int) -> None:
        """Add the head of a rule."""
        constants = _constants(head)
        shape, positions = (head.predicate, head.arity), tuple(constants)
        if (*shape, positions) not in self._kinds:
            self._kinds[*shape, positions] = []
            self._of[shape].append(positions)
        self._kinds[*shape, positions].append((tuple(constants.values()), index))

    def unifying(self, atom: Atom) -> list[int]:
        """The indexes of the rules whose heads unify with an atom, in order."""
        constants = _constants(atom)
        shape = atom.predicate, atom.arity
        indexes: list[int] = []
        for positions in self._of.get(shape, ()):
            common = tuple(each for each in positions if each in constants)
            index = self._index(shape, positions, common)
            indexes += index.get(tuple(constants[each] for each in common), ())
        return sorted(indexes)

    def _index(self, shape: tuple[str, int], positions: Positions, common: Positions) -> _Index:
        """The rules of a kind, by the constants at some of its positions."""
        key = (*shape, positions, common)
        if key not in self._found:
            places = [positions.index(each) for each in common]
            found: _Index = defaultdict(list)
            self._found[key] = found
            for terms, index in self._kinds[*shape, positions]:
                found[tuple(terms[place] for place in places)].append(index)
        return self._found[key]


def _constants(atom: Atom) -> dict[int, str]:
    """The constants of an atom, by their positions."""
    return {
        position: argument.term
        for position, argument in enumerate(atom.arguments)
        if isinstance(argument, Constant)
    }


def _needs(rule: Rule) -> Iterator[tuple[Atom, Through]]:
    aggregated = aggregates_matches(rule.head)
    for literal in rule.body:
        match literal:
            case Atom(asserted=True) | Negation(Atom(asserted=True)):
                pass
            case Negation(Atom() as atom):
                yield atom, Through.NEGATION
            case Atom():
                yield literal, Through.AGGREGATE if aggregated else Through.ATOM
            case _:
                pass
    yield rule.head, Through.SAME_HEAD
