"""Explanations without hidden facts. Invariant: the premises of a step derive it by hidden rules.

    q(x)    from open(x), part(x)    with a hidden part(x)    from piece(x, y)    becomes
    q(x)    from open(x), piece(x, y)

What a hidden fact is derived from takes its place. If it is asserted, or the result of an
aggregate, it stays: its premises would not say what it says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamreasoner.explain.proof import (
    Absence,
    Absent,
    Aggregation,
    Derivation,
    FailureKind,
    Proof,
    Proved,
)
from streamreasoner.explain.render.prefixed import is_left_out
from streamreasoner.facts import Fact
from streamreasoner.lang.ast import Atom, Negation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from streamreasoner.explain.proof import Attempt, Premise, ProofStep, Satisfied
    from streamreasoner.lang.ast import Expression, Literal, Rule


def proof_without(hidden: frozenset[str], proof: Proof) -> Proof:
    """A proof without facts of hidden predicates, but for the one that is proved."""
    collapse = _Collapse(proof.steps, hidden)
    numbers: dict[int, int] = {}
    found: list[ProofStep] = []
    stack = [0]
    while stack:
        number = stack.pop()
        if number not in numbers:
            numbers[number] = len(found)
            step = proof.steps[number]
            found.append(replace(step, why=collapse.why(step.why)))
            stack += reversed([*_steps(found[-1].why)])
    return Proof(tuple(replace(step, why=_renumbered(step.why, numbers)) for step in found))


def absence_without(
    hidden: frozenset[str], absence: Absence, prove: Callable[[Fact], Proof]
) -> Absence:
    """The reasons for an absent fact without hidden facts, as far as rules have names.

    Args:
        hidden: The predicates.
        absence: The reasons.
        prove: Proves a present fact.
    """
    attempts: list[Attempt] = []
    unmet: list[Rule] = []
    for attempt in absence.attempts:
        failure = attempt.failure
        if attempt.rule.name is None:
            holds = [
                each
                for each in attempt.holds
                if not (isinstance(each, Absent) and _is_unsaid(attempt.rule, each, hidden))
            ]
            attempts.append(replace(attempt, holds=tuple(holds)))
        elif failure.kind in _OF_ATOMS and _predicate(failure.parts[-1]) in hidden:
            unmet.append(attempt.rule)
        else:
            visible = dict.fromkeys(_visible(attempt, hidden, prove))
            attempts.append(replace(attempt, holds=tuple(visible)))
    return replace(absence, attempts=tuple(attempts), unmet=tuple(unmet))


_OF_ATOMS = (FailureKind.MISSING, FailureKind.PRESENT)


def _is_unsaid(rule: Rule, premise: Absent, hidden: frozenset[str]) -> bool:
    """Whether an explanation says nothing of a negation that holds."""
    return is_left_out(rule, Negation(premise.atom, premise.atom.span), hidden)


def _predicate(part: Literal | Expression) -> str | None:
    match part:
        case Atom(predicate) | Negation(Atom(predicate)):
            return predicate
        case _:
            return None


def _visible(
    attempt: Attempt, hidden: frozenset[str], prove: Callable[[Fact], Proof]
) -> Iterator[Fact | Absent | Satisfied]:
    """What holds of a rule, with what hidden facts are derived from in their place."""
    for premise in attempt.holds:
        match premise:
            case Fact(predicate) if predicate in hidden:
                first, *others = proof_without(hidden, prove(premise)).steps
                facts = [first.fact, *(step.fact for step in others)]
                for each in _premises(first.why):
                    yield facts[each.step] if isinstance(each, Proved) else each
            case Absent(atom) if atom.predicate in hidden:
                pass
            case _:
                yield premise


@dataclass(frozen=True, slots=True)
class _Collapse:
    """Leaves hidden steps out of derivations.

    Attributes:
        steps: The steps of a proof.
        hidden: The predicates.
    """

    steps: Sequence[ProofStep]
    hidden: frozenset[str]

    def why(self, why: Derivation | Aggregation | None) -> Derivation | Aggregation | None:
        """How a fact is derived, without hidden facts."""
        match why:
            case Derivation():
                return self._derivation(why)
            case Aggregation():
                return replace(why, matches=tuple(map(self._derivation, why.matches)))
            case None:
                return None

    def _derivation(self, derivation: Derivation) -> Derivation:
        rule, names = derivation.rule, _names(derivation.rule)
        if not any(is_left_out(rule, each, self.hidden) for each in rule.body):
            return derivation
        found: dict[Premise, None] = {}
        seen: set[int] = set()
        # Depth-first with a stack: a list of the data may be as long as it likes.
        stack = list(reversed(derivation.premises))
        while stack:
            premise = stack.pop()
            match premise:
                case Proved(number) if (below := self._hidden(number)) is not None:
                    if number not in seen:
                        seen.add(number)
                        stack += reversed(below.premises)
                        # The names of a rule are those of all that it may stand for.
                        names = [each for each in names if each in _names(below.rule)] or names
                case Absent() if _is_unsaid(rule, premise, self.hidden):
                    pass
                case _:
                    found[premise] = None
        name = ", ".join(names) or None
        return replace(derivation, rule=replace(rule, name=name), premises=tuple(found))

    def _hidden(self, number: int) -> Derivation | None:
        """The derivation of a step that is left out."""
        step = self.steps[number]
        if step.fact.predicate in self.hidden and isinstance(step.why, Derivation):
            return step.why
        return None


def _names(rule: Rule) -> list[str]:
    return [] if rule.name is None else rule.name.split(", ")


def _premises(why: Derivation | Aggregation | None) -> Iterable[Premise]:
    match why:
        case Derivation(premises=premises):
            return premises
        case Aggregation(matches=matches):
            return (premise for match in matches for premise in match.premises)
        case None:
            return ()


def _steps(why: Derivation | Aggregation | None) -> Iterator[int]:
    return (each.step for each in _premises(why) if isinstance(each, Proved))


def _renumbered(
    why: Derivation | Aggregation | None, numbers: Mapping[int, int]
) -> Derivation | Aggregation | None:
    def of(derivation: Derivation) -> Derivation:
        premises = (
            Proved(numbers[each.step]) if isinstance(each, Proved) else each
            for each in derivation.premises
        )
        return replace(derivation, premises=tuple(premises))

    match why:
        case Derivation():
            return of(why)
        case Aggregation():
            return replace(why, matches=tuple(map(of, why.matches)))
        case None:
            return None
