"""Plans of rules and programs, ready for a backend. Invariant: strata are in dependency order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang.ast import GIVEN
from streamreasoner.plan import algebra
from streamreasoner.plan.counted import counted
from streamreasoner.plan.operands import Column, Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.analysis.hierarchies.hierarchy import Hierarchy
    from streamreasoner.analysis.strata.guards import Guarded
    from streamreasoner.lang.ast import Rule


@dataclass(frozen=True, slots=True)
class DeltaPlan:
    """Derivations from a body atom's delta: a match at iterations i1..in with signs s1..sn adds
    s1·…·sn to the multiplicity of the head at iteration max(i1..in) + 1.
    """  # noqa: D205

    tree: algebra.Project
    delta: algebra.Delta = field(init=False, compare=False, repr=False)
    steps: tuple[algebra.Step, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        delta, steps = algebra.delta_chain(self.tree)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "steps", tuple(steps))

    @property
    def head(self) -> Pattern:
        """Pattern of the derived facts."""
        return self.tree.head

    @property
    def bound_steps(self) -> Iterator[tuple[algebra.Step, frozenset[str]]]:
        """The steps in evaluation order, each with the columns of its input."""
        bound = frozenset(self.delta.pattern.columns)
        for step in self.steps:
            yield step, bound
            if isinstance(step, algebra.Join):
                bound = bound.union(step.scan.pattern.columns)
            elif isinstance(step, algebra.Extend):
                bound = bound.union({step.computation.column})

    def shared_by(self, heads: Sequence[Pattern]) -> str | None:
        """The only column of the delta that its steps read, if they walk more than one group.

        All changes that agree on it have the same matches. None where changes are tested before the
        first join, by a condition or because a column is at two positions, and where a join only
        counts.

        Args:
            heads: The patterns of the facts that its stratum derives.
        """
        pattern, steps = self.delta.pattern, self.steps
        counts = any(
            isinstance(step, algebra.Join) and counted(step.scan.pattern, bound, heads)
            for step, bound in self.bound_steps
        )
        if len(self.arrangements) <= 1 or counts:
            return None
        own = frozenset(pattern.columns)
        read = {name for step in steps for name in own & _read(step)}
        tested = len(pattern.bound_positions(own)) > len(own) or isinstance(
            steps[0], algebra.Select | algebra.Extend
        )
        return read.pop() if not tested and len(read) == 1 < len(own) else None

    @property
    def arrangements(self) -> tuple[algebra.Arrangement, ...]:
        """The arrangements that its joins look up, in evaluation order."""
        found = (
            algebra.Arrangement.of(step.scan.pattern, bound)
            for step, bound in self.bound_steps
            if isinstance(step, algebra.Join)
        )
        return tuple(arrangement for arrangement in found if arrangement is not None)


@dataclass(frozen=True, slots=True)
class RulePlan:
    """A rule and its delta plans: one for each positive atom, then one for each negated atom.

    Attributes:
        tree: The rule as relational algebra.
        plans: Its delta plans.
        source: Index of its source rule in normal form, or of the first one that lowering added
            it for.
        added: Whether lowering added it.
    """

    tree: algebra.Project
    plans: tuple[DeltaPlan, ...]
    source: int = field(default=0, compare=False)
    added: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if any(None in pattern.arguments for pattern in self.tree.negated):
            raise algebra.PlanError(f"{self.tree.head} needs an absent fact with open positions.")


@dataclass(frozen=True, slots=True)
class Lattice:
    """Of the facts that agree on all positions but one, only the best is present.

    Attributes:
        pattern: The facts of the lattice, selected by the pattern's constants.
        position: Position of the compared value.
        function: `min` or `max`, by the total order of terms.
    """

    pattern: Pattern
    position: int
    function: str

    @property
    def key(self) -> tuple[int, ...]:
        """Positions on which the facts of a group agree."""
        positions = range(len(self.pattern.arguments))
        return tuple(position for position in positions if position != self.position)


@dataclass(frozen=True, slots=True)
class Reduction:
    """An aggregate over the facts of a lower stratum, each counted as often as its multiplicity.

    Attributes:
        candidates: Predicate of those facts: the group's columns, then the value, if any.
        function: `count` (without value), `count distinct`, `sum`, `avg`, or a name with its
            parameter after a blank: `lowest 3`, `highest 3`, `group_concat , `.
        head: Pattern of the facts derived at iteration 1, with columns `#0`, `#1`, ... of the
            group, and `#result`.
        source: Index of the first source rule in normal form whose matches it aggregates.
    """

    candidates: str
    function: str
    head: Pattern
    source: int = field(default=0, compare=False, repr=False)

    @property
    def key(self) -> tuple[int, ...]:
        """Positions on which the candidates of a group agree: all but the value."""
        return tuple(range(len(self.head.columns) - 1))

    @property
    def name(self) -> str:
        """The function without its parameter."""
        return self.function.partition(" ")[0]

    @property
    def parameter(self) -> str:
        """The parameter of the function, empty if it has none."""
        return self.function.partition(" ")[2]


@dataclass(frozen=True, slots=True)
class Expiry:
    """Asserted facts that leave by themselves: the last assertion counts, for as long as it says.

    Attributes:
        pattern: The facts, selected by the pattern's constants.
        after: How long after their time they leave, in milliseconds.
        every: They leave at multiples of it, in milliseconds.
    """

    pattern: Pattern
    after: int
    every: int

    @property
    def asserted(self) -> str:
        """Hidden predicate whose facts have the time of the last assertion as multiplicity."""
        return times_asserted(self.pattern.predicate)

    @property
    def retracted(self) -> str:
        """Hidden predicate whose facts have the time of the last retraction as multiplicity."""
        return times_retracted(self.pattern.predicate)


def asserted_by(source: str, predicate: str) -> str:
    """The hidden predicate of the facts of *predicate* that a source has asserted."""
    return f"set@{source}@{predicate}"


def latest_of(source: str, predicate: str) -> str:
    """The hidden predicate of the same of a source with keys: the key comes before the fact."""
    return f"{keys_of(source)}@{predicate}"


def keys_of(source: str) -> str:
    """The name under which input says which keys of a source have a new value."""
    return f"upsert@{source}"


def is_visible(predicate: str) -> bool:
    """Whether a name is that of a predicate of a program, not of one that lowering added."""
    return _VISIBLE.fullmatch(predicate) is not None


def has_times(predicate: str) -> bool:
    """Whether the multiplicities of a predicate are times."""
    return predicate.startswith(("asserted@", "retracted@"))


def has_key(predicate: str) -> bool:
    """Whether the facts of a predicate begin with the key of a source."""
    return predicate.startswith("upsert@")


def asserted_predicate(predicate: str) -> str:
    """The predicate that a hidden one has asserted facts, times or sources of; else the same."""
    is_hidden = predicate.startswith(("set@", GIVEN)) or has_key(predicate) or has_times(predicate)
    return predicate.rpartition("@")[2] if is_hidden else predicate


def times_asserted(predicate: str) -> str:
    """The hidden predicate of the times at which facts that expire were last asserted."""
    return f"asserted@{predicate}"


def times_retracted(predicate: str) -> str:
    """The same of retractions."""
    return f"retracted@{predicate}"


@dataclass(frozen=True, slots=True)
class InputSources:
    """Sources of input that the state keeps apart.

    Attributes:
        sets: Those whose facts are sets.
        keyed: Those whose messages replace what earlier ones with their key have asserted.
    """

    sets: tuple[str, ...] = ()
    keyed: tuple[str, ...] = ()


NO_SOURCES = InputSources()
"""Of multisets only."""
SEGMENT = 1 << 20
"""Iterations between the barriers of a stratum whose negation the schema decides."""
_VISIBLE = re.compile(r"[^#@\[]*")
"""Names without the characters that the names of hidden predicates have."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Facts that a part of a divided state has without owning them.

    Attributes:
        pattern: The facts, selected by the pattern's constants.
        position: The argument whose hash tells the part that has a fact; None: all parts have it.
    """

    pattern: Pattern
    position: int | None

    @property
    def predicate(self) -> str:
        """Hidden predicate of the copies: one for all patterns of a predicate and position."""
        place = "*" if self.position is None else self.position
        return f"part@{place}@{self.pattern.predicate}"


def is_copy(predicate: str) -> bool:
    """Whether facts of a predicate are copies, of this division or an earlier one."""
    return predicate.startswith("part@")


@dataclass(frozen=True, slots=True)
class StratumPlan:
    """The plans of mutually dependent rules, and the patterns of the facts they derive.

    Attributes:
        rules: The rules.
        reductions: The aggregates of lower strata that derive facts of this one.
        guarded: How the schema decides the negation inside the stratum, if there is any.
        copies: Patterns of the copies of its facts, in a divided state.
        makes_terms: Whether its rules may make new terms.
    """

    rules: tuple[RulePlan, ...]
    reductions: tuple[Reduction, ...] = ()
    guarded: Guarded | None = field(default=None, compare=False)
    copies: tuple[Pattern, ...] = field(default=(), compare=False, repr=False)
    makes_terms: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        steps = (step for plan in self.plans for step in plan.steps)
        computes = any(isinstance(step, algebra.Extend) for step in steps)
        object.__setattr__(self, "makes_terms", computes or bool(self.reductions))

    @property
    def plans(self) -> tuple[DeltaPlan, ...]:
        """The delta plans of all rules."""
        return tuple(plan for rule in self.rules for plan in rule.plans)

    @property
    def heads(self) -> tuple[Pattern, ...]:
        """Patterns of the derived facts; matching facts belong to the stratum."""
        return (
            *(rule.tree.head for rule in self.rules),
            *(reduction.head for reduction in self.reductions),
            *self.barriers,
            *self.copies,
        )

    @property
    def barriers(self) -> tuple[Pattern, ...]:
        """The pattern of the facts that begin the later segments, if there are any."""
        names = {each.predicate for each in self.guarded.barriers} if self.guarded else ()
        return tuple(Pattern(name, (Column("k"), Column("n"))) for name in names)


@dataclass(frozen=True, slots=True)
class Stated:
    """A fact of a hidden predicate that a program begins with.

    Attributes:
        predicate: Its predicate.
        terms: Its arguments.
        iteration: The iteration that it is added at.
    """

    predicate: str
    terms: tuple[str, ...]
    iteration: int


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """A program ready for a backend.

    Attributes:
        arities: Arity of every predicate, hidden ones included.
        strata: In dependency order; a stratum reads itself and those before it.
        lattices: Aggregates among the facts of their own head.
        hidden: Predicates that lowering added; their facts have a trace but are not output.
        expiries: Asserted facts that leave by themselves; a fact matches at most one.
        sources: The sources of input that the state keeps apart.
        given: Facts whose asserted part is read by itself, selected by the patterns' constants.
        stated: Facts of hidden predicates that the program begins with.
        copies: The copies of facts in a divided state.
        hierarchies: Those whose copies are stored only where rules read them.
        rules: The rules in normal form, for messages.
        prefixes: Prefixes to print their IRIs with.
    """

    arities: dict[str, int]
    strata: tuple[StratumPlan, ...]
    lattices: tuple[Lattice, ...] = ()
    hidden: frozenset[str] = frozenset()
    expiries: tuple[Expiry, ...] = ()
    sources: InputSources = NO_SOURCES
    given: tuple[Pattern, ...] = ()
    stated: tuple[Stated, ...] = ()
    copies: tuple[Copy, ...] = field(default=(), compare=False, repr=False)
    hierarchies: tuple[Hierarchy, ...] = ()
    rules: tuple[Rule, ...] = field(default=(), compare=False)
    prefixes: Mapping[str, str] = field(default_factory=dict, compare=False)

    def with_sources(self, sources: InputSources, known: Mapping[str, int]) -> ProgramPlan:
        """The same plan for input of sources.

        Args:
            sources: The sources.
            known: Arity of every predicate of earlier programs, hidden ones included: the state
                may have facts of them that a source has asserted.
        """
        visible = {name: arity for name, arity in known.items() if is_visible(name)}
        visible |= {name: arity for name, arity in self.arities.items() if name not in self.hidden}
        asserted = {
            asserted_by(source, predicate): arity
            for source in sources.sets
            for predicate, arity in visible.items()
        }
        asserted |= {
            latest_of(source, predicate): arity + 1
            for source in sources.keyed
            for predicate, arity in visible.items()
        }
        return replace(
            self,
            arities=self.arities | asserted,
            hidden=self.hidden.union(asserted),
            sources=sources,
        )

    @property
    def keyed(self) -> tuple[algebra.Arrangement, ...]:
        """The facts of sources with keys, arranged by key."""
        return tuple(algebra.Arrangement(name, (), (0,)) for name in self.arities if has_key(name))

    @property
    def reductions(self) -> tuple[Reduction, ...]:
        """The reductions of all strata."""
        return tuple(reduction for stratum in self.strata for reduction in stratum.reductions)

    @property
    def constants(self) -> tuple[str, ...]:
        """The distinct constants of all rules."""
        patterns = [lattice.pattern for lattice in self.lattices]
        patterns += (expiry.pattern for expiry in self.expiries)
        patterns += self.given
        patterns += (copy.pattern for copy in self.copies)
        for stratum in self.strata:
            patterns += stratum.heads
            for rule in stratum.rules:
                patterns += (*rule.tree.patterns, *rule.tree.negated)
        return tuple(dict.fromkeys(term for pattern in patterns for _, term in pattern.constants))


def _read(step: algebra.Step) -> frozenset[str]:
    """The columns that a step reads, or checks, if its input has them."""
    match step:
        case algebra.Join() | algebra.Antijoin():
            return frozenset(step.scan.pattern.columns)
        case algebra.Select():
            return step.test.needs
        case algebra.Extend(_, computation):
            return computation.needs | {computation.column}
        case _:
            assert_never(step)
