"""What an explanation holds. Invariant: premises are steps of one list, so a proof is never nested.

A fact that proves several others is one step, and a proof of any height needs no recursion.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Aggregate, Atom, Expression, Literal, Rule, Span


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a proof is looked for; None is no limit.

    Attributes:
        depth: Most steps between the fact and any other.
        size: Most facts whose derivation is shown.
        matches: Most matches of an aggregate that are shown.
    """

    depth: int | None = 50
    size: int | None = 1000
    matches: int = 3


@dataclass(frozen=True, slots=True)
class Fact:
    """A predicate and canonical terms."""

    predicate: str
    arguments: tuple[str, ...]


# Why a fact is present ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proved:
    """A body fact; `step` is its place in the steps of the proof."""

    step: int


@dataclass(frozen=True, slots=True)
class Absent:
    """A negated atom that no fact matches; its arguments are constants and wildcards."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison or test of constants that holds, or an expression and its value: `3 + 4 = 7`."""

    literal: Literal


Premise: TypeAlias = Proved | Absent | Condition


@dataclass(frozen=True, slots=True)
class Derivation:
    """One instance of a rule.

    Attributes:
        rule: The rule, in normal form; its span says where it stands.
        bindings: (variable, term), in the order of the variables in the rule.
        premises: What the body is, in the order of the text; computed values come where needed.
    """

    rule: Rule
    bindings: tuple[tuple[str, str], ...]
    premises: tuple[Premise, ...]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Matches that were aggregated.

    Attributes:
        aggregates: The aggregates of the head, in the order of its arguments.
        matches: The first of the matches that contribute; each may be of another rule.
        total: How many contribute; of `count(distinct)`, one for each term.
    """

    aggregates: tuple[Aggregate, ...]
    matches: tuple[Derivation, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Competition:
    """What a winner is the least or greatest of.

    Attributes:
        function: `min` or `max`.
        candidates: How many there are, the winner included.
        next_best: The one that would win if the winner went.
    """

    function: str
    candidates: int
    next_best: Fact


@dataclass(frozen=True, slots=True)
class Step:
    """A fact and why it is present.

    Attributes:
        fact: The fact.
        stratum: Its stratum, as the backend counts; body facts of lower strata come before it.
        iteration: The iteration of that stratum at which it follows from its premises.
        until: The iteration at which a better candidate replaced it or what it rests on; None if it
            is present in the end.
        asserted: How often the input asserts it; negative if it is retracted more often.
        stated: Where the program states it as a fact.
        why: How it is derived; None if it is asserted, stated or cut.
        competition: Other candidates, if it is the best of several.
        cut: Whether a limit keeps its derivation out of the proof.
    """

    fact: Fact
    stratum: int
    iteration: int
    until: int | None
    asserted: int
    stated: Span | None
    why: Derivation | Aggregation | None
    competition: Competition | None
    cut: bool


@dataclass(frozen=True, slots=True)
class Proof:
    """Steps, the fact in question first; each is reached from it through premises."""

    steps: tuple[Step, ...]


# Why a fact is absent ----------------------------------------------------------------------------


class Kind(Enum):
    """Why a rule does not derive a fact."""

    MISSING = "missing"
    """No fact matches an atom of the body; `facts` are close to it."""
    PRESENT = "present"
    """A negated atom has a match, in `facts`."""
    FALSE = "false"
    """A comparison or test does not hold."""
    NO_VALUE = "no value"
    """An expression or test has no value."""
    OTHER_FACT = "other fact"
    """The head is another fact, in `facts`."""
    OTHER_RESULT = "other result"
    """The aggregates of the group have other values, in `facts`."""
    BEATEN = "beaten"
    """It is derived, but a better candidate, in `facts`, is present."""
    OWED = "owed"
    """It is derived, but retracted as often or more often."""
    UNFINISHED = "unfinished"
    """There are too many partial matches to look at; what is shown is the best of some."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Where the best partial match of a rule ends.

    Attributes:
        kind: Why.
        parts: The literal that fails, or the expression without value, with what is known filled
            in; before it, values of its expressions, as equations.
        facts: What the kind says.
    """

    kind: Kind
    parts: tuple[Literal | Expression, ...]
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a rule would need to derive a fact.

    Attributes:
        rule: The rule, in normal form.
        holds: What of the body holds in the longest partial match, in order.
        failure: What comes next, and why it does not hold.
        ways: How many partial matches are as long.
    """

    rule: Rule
    holds: tuple[Fact | Absent | Condition, ...]
    failure: Failure
    ways: int


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a fact is not present.

    Attributes:
        fact: The fact.
        asserted: Its multiplicity at iteration 0: 0 or less, unless a better candidate is present.
        stated: Where the program states it.
        beaten_by: The candidate that is present in its place, for a function of `min` or `max`.
        close: Present facts of the predicate that agree with it on most arguments.
        attempts: One for each rule whose head may be the fact; none if no rule derives it.
    """

    fact: Fact
    asserted: int
    stated: Span | None
    beaten_by: Fact | None
    close: tuple[Fact, ...]
    attempts: tuple[Attempt, ...]
