"""A program and a goal to a program for the goal. Invariant: both derive the same facts that match.

The demand for facts is derived, too, and a rule derives only what is demanded of its head:

    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .    asked for path(ex:a, ?z) becomes

    path(?x, ?z)   :- path#bf(?x), path(?x, ?y), edge(?y, ?z) .
    edge#bf(?y)    :- path#bf(?x), path(?x, ?y) .
    path#bf(ex:a) .

The last one is left out: goals of one shape have one program, and seeds of their own.

What negation and aggregates read, and what is in a stratum with them, is derived as a whole: its
rules stay as they are, so the program stays stratified. The facts of the input that may be needed
are those that a demand names, and those of some patterns.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.dependency import dependencies, unifies
from streamreasoner.analysis.strata.stratify import decided_strata, strata
from streamreasoner.lang.ast import (
    GIVEN,
    NOWHERE,
    Atom,
    Call,
    Comparison,
    Constant,
    Rule,
    TripleTerm,
    Variable,
    Wildcard,
)
from streamreasoner.lang.binding import bound_by, bound_by_atoms, is_bound, is_known
from streamreasoner.lang.constants import triple_term
from streamreasoner.lang.normal_form import aggregates
from streamreasoner.lang.traversal import has_pattern, walk
from streamreasoner.plan.operands import Pattern, Value
from streamreasoner.plan.order.small import is_small, small_predicates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamreasoner.facts import FactPattern
    from streamreasoner.lang.ast import Expression, Literal
    from streamreasoner.program.checked import CheckedProgram

_ANY = Wildcard(NOWHERE)
_KNOWN = Variable("known", NOWHERE)  # in a pattern: bound, but not by a constant
_OTHER = ""  # no term


@dataclass(frozen=True, slots=True)
class Shape:
    """What goals with the same program have in common.

    Attributes:
        predicate: That of the goals.
        terms: Their constants that a head has at the same position; `_OTHER` of others; None
            where they have none.
    """

    predicate: str
    terms: tuple[str | None, ...]


def shape_of(checked: CheckedProgram, goal: FactPattern) -> Shape:
    """The shape of a goal of a program's predicate."""
    heads = [each.head.arguments for each in checked.rules if each.head.predicate == goal.predicate]
    terms: list[str | None] = []
    for at, asked in enumerate(goal.arguments or (_ANY,) * checked.arities[goal.predicate]):
        if isinstance(asked, Constant):
            known = (head[at] for head in heads)
            named = {each.term for each in known if isinstance(each, Constant)}
            terms.append(asked.term if asked.term in named else _OTHER)
        else:
            terms.append(None)
    return Shape(goal.predicate, tuple(terms))


@dataclass(frozen=True, slots=True)
class Demand:
    """Which facts of the input are needed: those with the terms of a demand at some positions.

    Attributes:
        name: The predicate of the demand; its arguments are the terms.
        predicate: That of the facts.
        positions: The positions of the terms.
    """

    name: str
    predicate: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GoalProgram:
    """What answers a goal.

    Attributes:
        program: Derives all facts that match a goal once its constants are a fact of `seed`.
        seed: The demand for what matches it.
        demands: The facts of the input that it needs for what it demands.
        whole: Atoms; it needs the facts of the input that have their constants.
    """

    program: CheckedProgram
    seed: Demand
    demands: tuple[Demand, ...]
    whole: tuple[Atom, ...]

    @property
    def reads(self) -> frozenset[str]:
        """The predicates whose facts of the input it may need."""
        demanded = (each.predicate for each in self.demands)
        return frozenset((*demanded, *(each.predicate for each in self.whole)))


def goal_program(checked: CheckedProgram, shape: Shape) -> GoalProgram:
    """The program for goals of a shape."""
    terms = (_ANY if each is None else Constant(each, NOWHERE) for each in shape.terms)
    asked = Atom(shape.predicate, tuple(terms), NOWHERE)
    transformation = _Transformation(checked, asked)
    while not transformation.settled():
        pass
    return transformation.result()


@dataclass(slots=True)
class _Transformation:
    """The rules for a goal, as far as they are made.

    Attributes:
        checked: The program.
        asked: The goals.
        guarded: Rules in strata whose negation the schema decides.
        small: Predicates with few facts.
        complete: Indexes of the rules that stay as they are.
        rules: The other rules, and those of demands.
        demands: By their names.
        whole: As of `GoalProgram`.
    """

    checked: CheckedProgram
    asked: Atom
    guarded: frozenset[int] = frozenset()
    small: frozenset[str] = frozenset()
    complete: set[int] = field(default_factory=set)
    rules: dict[Rule, None] = field(default_factory=dict)
    demands: dict[str, Demand] = field(default_factory=dict)
    whole: dict[Atom, None] = field(default_factory=dict)
    _needs: tuple[tuple[int, ...], ...] = ()
    _together: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rules = self.checked.rules
        graph = dependencies(rules)
        self._needs = tuple(tuple(each.on for each in needed) for needed in graph)
        self._together = {index: members for members in strata(graph) for index in members}
        decisions = zip(self.checked.strata, self.checked.guarded, strict=True)
        self.guarded = frozenset(
            index for members, decided in decisions if decided is not None for index in members
        )
        self.small = small_predicates(rules)

    def settled(self) -> bool:
        """Make all rules; returns whether no more of them turned out to be needed as a whole."""
        before = len(self.complete)
        self.rules, self.demands, self.whole = {}, {}, {}
        first = _pattern(self.asked, frozenset())
        pending, seen = [first], {first}
        while pending:
            pattern = pending.pop()
            self._demand(pattern)
            for index, rule in enumerate(self.checked.rules):
                if index in self.complete or not unifies(pattern, rule.head):
                    continue
                if index in self.guarded or aggregates(rule.head):
                    self._complete(index)
                    continue
                for needed in self._restricted(index, pattern):
                    if needed not in seen:
                        seen.add(needed)
                        pending.append(needed)
        return len(self.complete) == before

    def result(self) -> GoalProgram:
        """The program of the rules that are made."""
        checked = self.checked
        for index in sorted(self.complete):
            for literal in checked.rules[index].body:
                self._need(literal)
        kept = (checked.rules[index] for index in sorted(self.complete))
        rules = tuple(dict.fromkeys((*kept, *self.rules)))
        components = decided_strata(rules, dependencies(rules))
        seed = self._demand(_pattern(self.asked, frozenset()))
        arities = {each.name: len(each.positions) for each in self.demands.values()}
        program = replace(
            checked,
            rules=rules,
            arities=MappingProxyType({**checked.arities, **arities}),  # so that changes have them
            strata=tuple(components),
            guarded=tuple(components.values()),
            expiries=(),
            warnings=(),
        )
        return GoalProgram(program, seed, tuple(self.demands.values()), tuple(self.whole))

    def _demand(self, pattern: Atom) -> Demand:
        """The demand for facts that match a pattern."""
        known = [not isinstance(each, Wildcard) for each in pattern.arguments]
        name = f"{pattern.predicate}#{''.join('fb'[each] for each in known)}"
        positions = tuple(at for at, each in enumerate(known) if each)
        made = Demand(name, pattern.predicate.removeprefix(GIVEN), positions)
        return self.demands.setdefault(name, made)

    def _complete(self, index: int) -> None:
        """Keep a rule as it is, and all rules that it depends on."""
        pending = [index]
        while pending:
            found = pending.pop()
            if found not in self.complete:
                self.complete.add(found)
                pending += self._needs[found]

    def _complete_all(self, atom: Atom) -> None:
        """Keep the rules as they are whose facts may match an atom."""
        if not atom.asserted:
            for index, rule in enumerate(self.checked.rules):
                if unifies(atom, rule.head):
                    self._complete(index)

    def _need(self, literal: Literal) -> None:
        """Ask for the facts of the input that a literal may read, as a whole."""
        self.whole |= dict.fromkeys(_atoms(literal))

    def _restricted(self, index: int, pattern: Atom) -> Iterator[Atom]:
        """Make a rule that derives what is demanded; yields the patterns that it demands."""
        rule = self.checked.rules[index]
        demand = self._demand(pattern)
        guard = Atom(demand.name, _looked_up(rule, demand.positions), NOWHERE)
        self.rules[replace(rule, body=(guard, *rule.body))] = None
        for literal in rule.body:
            if not isinstance(literal, Atom):
                self._need(literal)
                for negated in _atoms(literal):
                    self._complete_all(negated)
        yield from self._demanded(index, guard)

    def _demanded(self, index: int, guard: Atom) -> Iterator[Atom]:
        """Make the rules that derive the demands of a rule; yields their patterns."""
        rule = self.checked.rules[index]
        asked = {atom: self._bounded(index, atom) for atom in rule.atoms}
        demanded = {*bound_by(guard)}
        joined: set[str] = set()
        before: list[Literal] = [guard]
        tests = [each for each in rule.body if isinstance(each, Comparison | Call)]
        waiting = list(rule.atoms)
        while waiting:
            bound = demanded | joined
            atom = min(waiting, key=lambda each: self._cost(asked[each], bound))
            waiting.remove(atom)
            pattern = _pattern(asked[atom], bound)
            head = Atom(self._demand(pattern).name, _terms(atom, pattern), NOWHERE)
            if head not in before:
                self.rules[Rule((head,), tuple(before), rule.span, rule.name)] = None
            yield pattern
            before.append(_joined(atom))
            joined |= {*bound_by(atom)}
            found = [test for test in tests if is_bound(test, demanded | joined)]
            before += found
            tests = [test for test in tests if test not in found]

    def _bounded(self, index: int, atom: Atom) -> Atom:
        """An atom of a rule; in a recursion without triple terms, which a demand would nest."""
        heads = (self.checked.rules[each].head for each in self._together[index])
        if not has_pattern(atom) or not any(unifies(atom, head) for head in heads):
            return atom
        kept = (_ANY if isinstance(each, TripleTerm) else each for each in atom.arguments)
        return replace(atom, arguments=tuple(kept))

    def _cost(self, atom: Atom, bound: set[str]) -> tuple[bool, bool, int]:
        """The next atom is one of the schema, or one that shares a variable with those before."""
        pattern = _pattern(atom, bound)
        constants = (
            Value(each.term) if isinstance(each, Constant) else None for each in atom.arguments
        )
        free = sum(isinstance(each, Wildcard) for each in pattern.arguments)
        few = is_small(Pattern(atom.reads, tuple(constants)), self.small)
        apart = free > 0 and not any(each == _KNOWN for each in pattern.arguments)
        return not few, apart, free


def _atoms(literal: Literal) -> Iterator[Atom]:
    """The atoms of a literal, those that it negates among them."""
    return (node for node in walk(literal) if isinstance(node, Atom))


def _pattern(atom: Atom, bound: frozenset[str] | set[str]) -> Atom:
    """An atom that has constants, `_KNOWN` and wildcards only."""
    return Atom(
        atom.reads,
        tuple(
            each
            if isinstance(each, Constant)
            else _KNOWN
            if isinstance(each, Variable | TripleTerm) and is_known(each, bound)
            else _ANY
            for each in atom.arguments
        ),
        NOWHERE,
    )


def _terms(atom: Atom, pattern: Atom) -> tuple[Expression, ...]:
    """The arguments of an atom that its pattern does not leave open."""
    pairs = zip(atom.arguments, pattern.arguments, strict=True)
    return tuple(each for each, kind in pairs if not isinstance(kind, Wildcard))


def _joined(atom: Atom) -> Atom:
    """An atom whose expressions match anything, as not all that they read may be bound yet."""
    kept = (
        each if isinstance(each, Constant | Variable | Wildcard | TripleTerm) else _ANY
        for each in atom.arguments
    )
    return replace(atom, arguments=tuple(kept))


def _looked_up(rule: Rule, positions: Sequence[int]) -> tuple[Expression, ...]:
    """The arguments of a head at some positions; what is computed may be anything.

    A demand that bound the variable of an assignment would make it a comparison, by value.
    """
    bound = bound_by_atoms(rule)

    def given(argument: Expression) -> Expression:
        match argument:
            case Constant():
                return argument
            case Variable(name) if name in bound:
                return argument
            case TripleTerm():
                return triple_term(map(given, argument.parts), argument.span)
            case _:
                return _ANY

    return tuple(given(rule.head.arguments[at]) for at in positions)
