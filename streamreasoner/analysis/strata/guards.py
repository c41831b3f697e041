"""Negation that the schema decides. Invariant: what these rules derive holds in segment 0.

A rule such as `[?x, ?q, ?y] :- [?x, ?p, ?y], [?p, rdfs:subPropertyOf, ?q]` may derive anything, so
every negated triple next to it is in its stratum. What it does derive, its *guides* say: the facts
of body atoms that bind the predicate, or the class, of the head. Here rules become rules about
*kinds* of facts, which follow the guides at hand:

    flow@triple(guard, p, o)   the consequences of what negates `guard` may be triples of this kind
    late(guard, k)             at least k other guards must be complete before `guard` is
    circular()                 a guard must be complete before itself, or a guide after a guard
    wait(guard)                present from the iteration on at which `guard` is complete

A *guard* is a negated atom without its variables. A rule that negates it waits for it, so that its
derivations are in a later segment of iterations. Nothing else changes: other rules derive when
their premises are there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.dependency import unifies
from streamreasoner.lang.ast import (
    ARITIES,
    NOWHERE,
    Atom,
    Constant,
    Negation,
    Rule,
    Variable,
    Wildcard,
)
from streamreasoner.rdf.terms import to_ntriples

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from streamreasoner.lang.ast import Expression

ANY = Constant('"*"^^<urn:streamreasoner:any>', NOWHERE)
"""A predicate or object that is not known."""

ANYTHING = Wildcard(NOWHERE)
MOST_GUARDS = 500
"""Of a stratum, so that it is planned in seconds: kinds are checked for each guard, and by each."""

_GUARD, _OTHER, _LESS, _MORE = (Variable(f"@{n}", NOWHERE) for n in ("guard", "other", "k", "n"))


@dataclass(frozen=True, slots=True)
class Guarded:
    """A stratum whose negation the schema decides.

    Attributes:
        tag: Part of the names of its hidden predicates, which no other stratum has.
        guards: The term that stands for each guard.
        rules: Rules over kinds of facts, without negation.
        facts: What they begin with.
        guides: Atoms whose facts say what rules derive, and which rules of the stratum may derive.
        sources: The rule in normal form that each of `rules` and `facts` is of, if any.
    """

    tag: str
    guards: dict[Atom, Constant]
    rules: tuple[Rule, ...] = ()
    facts: tuple[Atom, ...] = ()
    guides: tuple[Atom, ...] = ()
    sources: dict[Rule | Atom, int] = field(default_factory=dict)

    @property
    def circular(self) -> Atom:
        """The fact that is present if the stratum has no model."""
        return self._named("circular")

    @property
    def read(self) -> tuple[Atom, ...]:
        """The atoms of the program whose facts the rules read, guides among them."""
        atoms = dict.fromkeys(atom for rule in self.rules for atom in rule.atoms)
        return tuple(each for each in atoms if not each.predicate.endswith(f"@{self.tag}"))

    @property
    def waiting(self) -> Rule:
        """The rule that lets the others go on, one segment after another."""
        body = (
            self._named("late", _GUARD, _LESS),
            self._named("barrier", _LESS, _MORE),
            Negation(self._named("late", _GUARD, _MORE), NOWHERE),
        )
        return Rule((self._named("wait", _GUARD),), body, NOWHERE)

    @property
    def barriers(self) -> tuple[Atom, ...]:
        """One for each segment after the first, present from its beginning on."""
        return tuple(self._named("barrier", *pair) for pair in self._steps)

    def waits(self, rule: Rule) -> Rule:
        """A rule that waits until the guards are complete that it negates."""
        negated = (each.atom for each in rule.body if isinstance(each, Negation))
        found = (self.guards.get(pattern(each)) for each in negated if isinstance(each, Atom))
        premises = [self._named("wait", guard) for guard in dict.fromkeys(found) if guard]
        return Rule(rule.heads, (*rule.body, *premises), rule.span)

    def flow(self, predicate: str, guard: Expression, *kind: Expression) -> Atom:
        """An atom of a kind of facts of a predicate: of triples and quads, predicate and object."""
        return self._named(f"flow@{predicate}", guard, *kind)

    def flows_to(
        self, atom: Atom, guard: Expression, joined: Collection[str] = ()
    ) -> Iterator[Atom]:
        """Atoms of the kinds of facts that may match an atom.

        Args:
            atom: An atom of a body.
            guard: The guard whose consequences they are.
            joined: Variables that guides read; a kind may be unknown where the atom has one of
                them.
        """
        if atom.predicate not in ARITIES:
            yield self.flow(atom.predicate, guard)
            return
        verb, other = (
            each if isinstance(each, Constant | Variable) else ANYTHING
            for each in atom.arguments[1:3]
        )
        if verb == other:
            # A kind with an unknown object may match too.
            other = ANYTHING
        yield self.flow(atom.predicate, guard, verb, other)
        if is_bound(other, joined):
            yield self.flow(atom.predicate, guard, verb, ANY)
        if is_bound(verb, joined):
            yield self.flow(atom.predicate, guard, ANY, ANY)

    def reaches(self, flow: Atom, atom: Atom) -> bool:
        """Whether facts of a kind may match an atom."""
        return any(unifies(flow, each) for each in self.flows_to(atom, ANYTHING))

    def order(self) -> Iterator[Rule]:
        """Rules that say which guards must be complete before which."""
        late, step = self._named("late", _OTHER, _LESS), self._named("step", _LESS, _MORE)
        for guard, term in self.guards.items():
            for flow in self.flows_to(guard, _OTHER):
                yield Rule((self._named("late", term, _MORE),), (flow, late, step), NOWHERE)
        last = Constant(to_ntriples(len(self.guards)), NOWHERE)
        yield Rule((self.circular,), (self._named("late", ANYTHING, last),), NOWHERE)
        for guide in self.guides:
            for flow in self.flows_to(guide, ANYTHING):
                yield Rule((self.circular,), (flow,), NOWHERE)

    def beginnings(self) -> Iterator[Atom]:
        """The facts about guards and segments."""
        none = Constant(to_ntriples(0), NOWHERE)
        yield from (self._named("late", term, none) for term in self.guards.values())
        yield from (self._named("step", *pair) for pair in self._steps)

    @property
    def _steps(self) -> tuple[tuple[Constant, Constant], ...]:
        numbers = range(len(self.guards) + 1)
        return tuple(pairwise(Constant(to_ntriples(number), NOWHERE) for number in numbers))

    def _named(self, name: str, *arguments: Expression) -> Atom:
        return Atom(f"{name}@{self.tag}", arguments, NOWHERE)


def pattern(atom: Atom) -> Atom:
    """An atom without its variables and, of a triple or quad, without its subject and graph."""
    kept = {1, 2} if atom.predicate in ARITIES else {}
    arguments = (
        each if at in kept and isinstance(each, Constant) else ANYTHING
        for at, each in enumerate(atom.arguments)
    )
    return Atom(atom.predicate, tuple(arguments), atom.span)


def is_flow(atom: Atom) -> bool:
    """Whether an atom is of a kind of facts."""
    return atom.predicate.startswith("flow@")


def is_bound(argument: Expression, names: Collection[str]) -> bool:
    """Whether an argument is a constant, or one of some variables."""
    return isinstance(argument, Constant) or (
        isinstance(argument, Variable) and argument.name in names
    )
