"""The data of an explanation. Invariant: premises index a flat list of steps, never nested ones.

A shared fact appears once in the proof, and a proof of any height needs no recursion.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from streamreasoner.facts import Fact
    from streamreasoner.lang.ast import Aggregate, Atom, Expression, Literal, Rule, Span


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the size of a proof; None means no limit.

    Attributes:
        depth: Maximum number of steps from the fact to any other.
        size: Maximum number of facts whose derivation is shown.
        matches: Maximum number of matches shown for an aggregate.
    """

    depth: int | None = 50
    size: int | None = 1000
    matches: int = 3


# Why a fact is present ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proved:
    """A body fact; `step` is its index in the steps of the proof."""

    step: int


@dataclass(frozen=True, slots=True)
class Absent:
    """A negated atom that no fact matches; its arguments are constants and wildcards."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Satisfied:
    """A comparison or test of constants that holds, or an expression and its value: `3 + 4 = 7`."""

    literal: Literal


Premise: TypeAlias = Proved | Absent | Satisfied


@dataclass(frozen=True, slots=True)
class Derivation:
    """A rule with one of its matches.

    Attributes:
        rule: The rule, in normal form; its span is its location.
        bindings: (variable, term), in the order of the variables in the rule.
        premises: The body in textual order, with computed values before their use.
    """

    rule: Rule
    bindings: tuple[tuple[str, str], ...]
    premises: tuple[Premise, ...]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Matches that were aggregated.

    Attributes:
        aggregates: The aggregates of the head, in the order of its arguments.
        matches: The first of the matches that contribute; they may be of several rules.
        total: Number of matches that contribute; for `count(distinct)`, one for each term.
    """

    aggregates: tuple[Aggregate, ...]
    matches: tuple[Derivation, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Competition:
    """The candidates of a group, from which the winner was chosen.

    Attributes:
        function: `min` or `max`.
        candidates: Number of candidates, the winner included.
        next_best: The candidate that would win without the winner.
    """

    function: str
    candidates: int
    next_best: Fact


@dataclass(frozen=True, slots=True)
class ProofStep:
    """A fact and why it is present.

    Attributes:
        fact: The fact.
        stratum: Its stratum, as the backend numbers them; body facts of lower strata precede it.
        iteration: The iteration of that stratum at which it is derived from its premises.
        until: The iteration at which a better candidate replaced it or one of its premises; None
            if it is present at the end of the epoch.
        asserted: Its multiplicity in the input; negative if retracted more often than asserted.
        stated: Where the program states it as a fact.
        why: How it is derived; None if it is asserted, stated or cut.
        competition: Other candidates, if it is the best of several.
        cut: Whether a limit cuts off its derivation.
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
    """Steps; the first one is the explained fact, the others are its premises, recursively."""

    steps: tuple[ProofStep, ...]


# Why a fact is absent ----------------------------------------------------------------------------


class FailureKind(Enum):
    """Why a rule does not derive a fact."""

    MISSING = "missing"
    """No fact matches an atom of the body; `facts` are the closest ones."""
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
    """It is derived, but retracted at least as often."""
    UNFINISHED = "unfinished"
    """The search reached its limit; the longest partial match so far is shown."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Where the longest partial match of a rule ends.

    Attributes:
        kind: Why.
        parts: The literal that fails, or the expression without value, with bound variables
            substituted; before it, values of its expressions, as equations.
        facts: Facts whose meaning depends on the kind.
    """

    kind: FailureKind
    parts: tuple[Literal | Expression, ...]
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """How far a rule gets in deriving a fact.

    Attributes:
        rule: The rule, in normal form.
        holds: The part of the body that holds in the longest partial match, in order.
        failure: The next literal, and why it does not hold.
        ways: Number of partial matches of that length.
    """

    rule: Rule
    holds: tuple[Fact | Absent | Satisfied, ...]
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
        close: Present facts of the predicate that agree with it on the most arguments.
        attempts: One for each rule whose head may be the fact.
        unmet: Such rules that find no hidden fact, where these are left out.
    """

    fact: Fact
    asserted: int
    stated: Span | None
    beaten_by: Fact | None
    close: tuple[Fact, ...]
    attempts: tuple[Attempt, ...]
    unmet: tuple[Rule, ...] = ()
