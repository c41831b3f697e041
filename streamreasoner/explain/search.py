"""Proof of a present fact. Invariant: a shared fact appears once in the proof.

The search is breadth-first, so limits cut off what is farthest from the fact.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from streamreasoner.engine.ports import LAST_ITERATION
from streamreasoner.explain.derivations import Derivations, Found, Place
from streamreasoner.explain.proof import Aggregation, Derivation, Proof, Proved, Step
from streamreasoner.lang.ast import variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.explain.derivations import Instance
    from streamreasoner.explain.proof import Fact, Limits
    from streamreasoner.explain.rules import Rules
    from streamreasoner.explain.store import Row, Store


class Search:
    """The search for proofs in one state.

    Args:
        rules: The program.
        store: The facts.
        limits: How large the proof may grow.
    """

    def __init__(self, rules: Rules, store: Store, limits: Limits) -> None:
        self._rules = rules
        self._store = store
        self._limits = limits
        self._derivations = Derivations(rules, store, limits.matches)

    def prove(self, fact: Fact, row: Row) -> Proof:
        """Prove a present fact from its row."""
        root = Place(fact.predicate, row, LAST_ITERATION)
        found = self._collect(root)
        while circular := _circular(found):
            self._derivations.avoid(circular)
            found = self._collect(root)
        return self._number(root, found)

    def _collect(self, root: Place) -> dict[Place, Found]:
        """Derivations of a fact and of all its premises, within the limits."""
        found: dict[Place, Found] = {}
        queue = deque([(root, 0)])
        expanded = 0
        while queue:
            place, depth = queue.popleft()
            if place in found:
                continue
            if place.row.asserted > 0:
                found[place] = Found(place.row.since)
                continue
            limits = self._limits
            if (limits.depth is not None and depth >= limits.depth) or (
                limits.size is not None and expanded >= limits.size
            ):
                found[place] = Found(place.row.since, cut=True)
                continue
            expanded += 1
            found[place] = self._derivations.of(place)
            queue.extend((each, depth + 1) for each in found[place].places)
        return found

    def _number(self, root: Place, found: Mapping[Place, Found]) -> Proof:
        """Number the steps depth-first, each fact once."""

        def identity(place: Place) -> object:
            row = place.row
            return place.predicate, row.arguments, row.until, found[place].iteration

        # A cut place represents a fact only if no other place does.
        representative: dict[object, Place] = {}
        for place in found:
            representative.setdefault(identity(place), place)
        numbers: dict[object, int] = {}
        order: list[Place] = []
        waiting = [root]
        while waiting:
            place = representative[identity(waiting.pop())]
            if identity(place) not in numbers:
                numbers[identity(place)] = len(order)
                order.append(place)
                waiting.extend(reversed([*found[place].places]))
        return Proof(
            tuple(
                self._step(
                    place,
                    found[place],
                    tuple(
                        self._derivation(
                            instance,
                            {each: numbers[identity(each)] for each in found[place].places},
                        )
                        for instance in found[place].instances
                    ),
                )
                for place in order
            )
        )

    def _step(self, place: Place, found: Found, derivations: tuple[Derivation, ...]) -> Step:
        row = place.row
        stated = self._rules.stated(place.fact)
        why: Derivation | Aggregation | None = None
        if found.aggregated:
            why = Aggregation(found.aggregated, derivations, found.total)
        elif derivations:
            (why,) = derivations
        passing = row.until >= 0
        return Step(
            fact=place.fact,
            stratum=row.stratum,
            iteration=found.iteration,
            until=row.until if passing else None,
            asserted=row.asserted - (stated is not None),
            stated=stated,
            why=why,
            competition=None if passing else self._rules.competition(place.fact, self._store),
            cut=found.cut,
        )

    @staticmethod
    def _derivation(instance: Instance, numbers: Mapping[Place, int]) -> Derivation:
        rule, bindings = instance.rule, instance.match.bindings
        names = dict.fromkeys(
            variable.name
            for literal in (*rule.heads, *rule.body)
            for variable in variables(literal)
        )
        return Derivation(
            rule,
            tuple((name, bindings[name]) for name in names),
            tuple(
                Proved(numbers[premise]) if isinstance(premise, Place) else premise
                for premise in instance.premises
            ),
        )


def _circular(found: Mapping[Place, Found]) -> set[Fact]:
    """Facts whose proof is later than their first iteration and uses the fact itself."""
    circular = set()
    for start, how in found.items():
        if how.iteration <= start.row.since:
            continue
        seen: set[Place] = set()
        waiting = [*how.places]
        while waiting:
            place = waiting.pop()
            if place.fact == start.fact:
                circular.add(start.fact)
                break
            if place not in seen:
                seen.add(place)
                waiting.extend(found[place].places)
    return circular
