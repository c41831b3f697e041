"""Who owns a fact when a state is divided among parts. Invariant: each solution is found once.

A part owns the facts for which a hash of one argument tells so: the *owning argument*. A rule is at
*home* where one of its variables tells, or the facts of one of its atoms are. So a part needs facts
that others own: *copies*, of which a part has those that another argument tells, or all.

    at home by ?y:   path(?x, ?z) <- path(?x, ?y), edge(?y, ?z)

Facts of `path` are owned by argument 1 here, those of `edge` by argument 0: a solution is found in
the part of its ?y, and the head is sent to the part of its ?z.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import QUAD, TRIPLE
from streamreasoner.plan.operands import Column, Pattern, Value
from streamreasoner.plan.order.expected import Expected, Heads, expected
from streamreasoner.plan.order.small import is_small, small_predicates
from streamreasoner.plan.program_plan import Copy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.plan.program_plan import ProgramPlan, RulePlan, StratumPlan

# The program alone decides, so what rules cost is a guess.
_COPIED = {Expected.FEW: 1, Expected.SOME: 10, Expected.MANY: 30}
"""Cost of copies of the facts of an atom, by an argument."""
_ALL_TRIPLES = 1000  # the same of all triples
_PARTS = 16  # how many times as much copies in every part cost
_SENT = 3  # cost of a rule whose heads are sent
_TRIPLES = frozenset({TRIPLE, QUAD})


@dataclass(frozen=True, slots=True)
class Placed:
    """A rule in the parts.

    Attributes:
        home: The column whose part finds a solution; or else the atom whose owner does.
        reads: The copy that each of its atoms reads; atoms that read what is owned are left out.
        sends: Whether other parts may own its heads.
    """

    home: str | Pattern
    reads: Mapping[Pattern, Copy]
    sends: bool


@dataclass(frozen=True, slots=True)
class Division:
    """A program among parts.

    Attributes:
        owners: The owning argument of each predicate; None: one part owns all of its facts.
        strata: The rules of each stratum, in their order.
    """

    owners: Mapping[str, int | None]
    strata: tuple[tuple[Placed, ...], ...]

    @property
    def copies(self) -> tuple[Copy, ...]:
        """The copies that the rules read."""
        read = (c for rules in self.strata for rule in rules for c in rule.reads.values())
        return tuple(dict.fromkeys(read))


def divide(
    plan: ProgramPlan,
    owners: Mapping[str, int | None] | None = None,
    placed: Mapping[tuple[object, ...], Placed] = MappingProxyType({}),
) -> Division:
    """Divide a program.

    Args:
        plan: The program.
        owners: The owning arguments, each of which is one of those that `may_own` names; by default
            the arguments that most joins read.
        placed: Rules, by what determines their facts, that are in the parts already.
    """
    small, chosen = _small(plan), chosen_owners(plan) if owners is None else owners
    homes = (_Homes(chosen, small, Heads(stratum.heads)) for stratum in plan.strata)
    strata = (
        tuple(placed.get(rule.tree.parts) or each.place(rule) for rule in stratum.rules)
        for each, stratum in zip(homes, plan.strata, strict=True)
    )
    return Division(chosen, tuple(strata))


def may_own(plan: ProgramPlan) -> dict[str, tuple[int, ...]]:
    """The arguments of each predicate that may tell the owner of its facts.

    The facts of a group of a lattice or a reduction have one owner, so these agree on its key. One
    part owns all facts that a rule only pairs with each other.
    """
    allowed = {name: set(range(arity)) for name, arity in plan.arities.items()}
    for lattice in plan.lattices:
        allowed[lattice.pattern.predicate] &= {*lattice.key}
    for reduction in plan.reductions:
        allowed[reduction.candidates] &= {*reduction.key}
    for stratum in plan.strata:
        for rule in stratum.rules:
            atoms = rule.tree.patterns
            # All solutions of such a rule are pairs of facts, which no column brings together.
            if atoms and all(
                _stands_for_two_facts(atom, atoms) and not atom.columns for atom in atoms
            ):
                allowed[atoms[0].predicate] = set()
    return {name: tuple(sorted(positions)) for name, positions in allowed.items()}


def chosen_owners(
    plan: ProgramPlan, current: Mapping[str, int | None] = MappingProxyType({})
) -> dict[str, int | None]:
    """The arguments that most atoms join on, among those that may own.

    Args:
        plan: The program.
        current: The owning arguments of facts that are there. Of equals they are chosen, or else
            the first.
    """
    small = _small(plan)
    votes = Counter(vote for stratum in plan.strata for vote in _votes(stratum, small))
    owners: dict[str, int | None] = {}
    for name, positions in may_own(plan).items():
        most = max((votes[name, position] for position in positions), default=0)
        best = [position for position in positions if votes[name, position] == most]
        owners[name] = next((each for each in (current.get(name), *best) if each in best), None)
    return owners


def _small(plan: ProgramPlan) -> frozenset[str]:
    """The predicates that have few facts."""
    return small_predicates(plan.rules).union(
        (each.predicate for each in plan.stated),
        (each.predicate for stratum in plan.strata for each in stratum.barriers),
    )


def _votes(stratum: StratumPlan, small: frozenset[str]) -> Iterator[tuple[str, int]]:
    """The predicate and argument of each atom at a column that others of its rule have, too.

    Few properties have most triples, so parts that they tell would be unequal.
    """
    for rule in stratum.rules:
        atoms = [atom for atom in rule.tree.patterns if not is_small(atom, small)]
        shared = Counter(name for atom in atoms for name in atom.columns)
        for atom in atoms:
            for position, argument in enumerate(atom.arguments):
                is_property = position == 1 and atom.predicate in _TRIPLES
                if isinstance(argument, Column) and shared[argument.name] > 1 and not is_property:
                    yield atom.predicate, position


@dataclass(frozen=True, slots=True)
class _Homes:
    """Chooses the homes of the rules of a stratum.

    Attributes:
        owners: The owning arguments.
        small: Predicates that have few facts.
        heads: What the stratum derives.
    """

    owners: Mapping[str, int | None]
    small: frozenset[str]
    heads: Heads

    def place(self, rule: RulePlan) -> Placed:
        """A rule at the home that costs least; the first of equals."""
        tree = rule.tree
        # A rule without positive atoms has at most one solution, where its first negated atom is.
        finding = tree.patterns or tree.negated[:1]
        columns = (name for atom in finding for name in atom.columns)
        homes: tuple[str | Pattern, ...] = (
            *dict.fromkeys(columns),
            *(
                atom
                for atom in dict.fromkeys(finding)
                if self.owners[atom.predicate] is None or not _stands_for_two_facts(atom, finding)
            ),
        )
        # In all parts at once, a solution would be found several times.
        single = [home for home in homes if any(self._is_divided(home, atom) for atom in finding)]
        atoms = tuple(dict.fromkeys((*tree.patterns, *tree.negated)))
        costs = [sum(self._cost(home, atom) for atom in atoms) for home in single]
        sends = [not self._owns(home, tree.head) for home in single]
        totals = [cost + _SENT * sent for cost, sent in zip(costs, sends, strict=True)]
        best = totals.index(min(totals))
        reads = {
            atom: Copy(_selection(atom), self._position(single[best], atom))
            for atom in atoms
            if not self._owns(single[best], atom)
        }
        return Placed(single[best], reads, sends[best])

    def _owns(self, home: str | Pattern, atom: Pattern) -> bool:
        """Whether the part at a home owns the facts of an atom that it needs."""
        if isinstance(home, Pattern):
            return home == atom
        owner = self.owners[atom.predicate]
        return owner is not None and atom.arguments[owner] == Column(home)

    def _position(self, home: str | Pattern, atom: Pattern) -> int | None:
        """The argument that tells which part needs a copy; None: all of them."""
        if isinstance(home, Pattern) or self._is_few(atom):
            return None
        return next(iter(atom.bound_positions({home})), None)

    def _is_divided(self, home: str | Pattern, atom: Pattern) -> bool:
        """Whether each fact of an atom is read in one part only."""
        return self._owns(home, atom) or self._position(home, atom) is not None

    def _cost(self, home: str | Pattern, atom: Pattern) -> int:
        if self._owns(home, atom):
            return 0
        size = expected(atom, self.small, self.heads)
        if size == Expected.FEW:
            return _COPIED[size]
        is_everything = atom.predicate in _TRIPLES and not atom.constants
        cost = _ALL_TRIPLES if is_everything else _COPIED[size]
        return _PARTS * cost if self._position(home, atom) is None else cost

    def _is_few(self, atom: Pattern) -> bool:
        return is_small(atom, self.small)


def _stands_for_two_facts(atom: Pattern, atoms: Sequence[Pattern]) -> bool:
    """Whether atoms that are written alike read different facts, as they leave a position open."""
    return atoms.count(atom) > 1 and None in atom.arguments


def _selection(atom: Pattern) -> Pattern:
    """The facts that have the constants of an atom."""
    constants = (each if isinstance(each, Value) else None for each in atom.arguments)
    return Pattern(atom.predicate, tuple(constants))
