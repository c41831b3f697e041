"""Prove a present fact. Invariant: a shared fact appears once in the proof.

The search is breadth-first, so limits cut off the facts farthest from the one that is proved.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from streamreasoner.engine.ports import LAST_ITERATION
from streamreasoner.explain.derivations import Derivations, Justification, Obligation
from streamreasoner.explain.proof import Aggregation, Derivation, Proof, ProofStep, Proved
from streamreasoner.lang.traversal import variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.explain.derivations import RuleMatch
    from streamreasoner.explain.proof import Limits
    from streamreasoner.explain.rule_groups import Rules
    from streamreasoner.explain.store import FactIndex, HeldFact
    from streamreasoner.facts import Fact


class ProofSearch:
    """The search for proofs in one state.

    Args:
        rules: The program.
        store: The facts.
        limits: Limits of the proof.
        hidden: Predicates whose facts do not count for the limits.
    """

    def __init__(
        self, rules: Rules, store: FactIndex, limits: Limits, hidden: frozenset[str] = frozenset()
    ) -> None:
        self._hidden = hidden
        self._rules = rules
        self._store = store
        self._limits = limits
        self._derivations = Derivations(rules, store, limits.matches)

    def prove(self, fact: Fact, row: HeldFact) -> Proof:
        """Prove a present fact from its row."""
        root = Obligation(fact.predicate, row, LAST_ITERATION)
        justifications = self._collect(root)
        while circular := _circular(justifications):
            self._derivations.mark_circular(circular)
            justifications = self._collect(root)
        return self._number(root, justifications)

    def _collect(self, root: Obligation) -> dict[Obligation, Justification]:
        """Derivations of a fact and of all its premises, within the limits."""
        justifications: dict[Obligation, Justification] = {}
        queue = deque([(root, 0)])
        expanded = 0
        while queue:
            obligation, depth = queue.popleft()
            if obligation in justifications:
                continue
            if obligation.row.asserted > 0:
                justifications[obligation] = Justification(obligation.row.since)
                continue
            limits, is_shown = self._limits, obligation.predicate not in self._hidden
            if is_shown and (
                (limits.depth is not None and depth >= limits.depth)
                or (limits.size is not None and expanded >= limits.size)
            ):
                justifications[obligation] = Justification(obligation.row.since, cut=True)
                continue
            expanded += is_shown
            justifications[obligation] = self._derivations.justify(obligation)
            for each in justifications[obligation].obligations:
                if each.predicate in self._hidden:
                    queue.appendleft((each, depth))
                else:
                    queue.append((each, depth + 1))
        return justifications

    def _number(
        self, root: Obligation, justifications: Mapping[Obligation, Justification]
    ) -> Proof:
        """Number the steps depth-first, each fact once."""

        def identity(obligation: Obligation) -> object:
            row = obligation.row
            return (
                obligation.predicate,
                row.arguments,
                row.until,
                justifications[obligation].iteration,
            )

        # Breadth-first order puts a fact's derivation before the places where a limit cuts it.
        representative: dict[object, Obligation] = {}
        for obligation in justifications:
            representative.setdefault(identity(obligation), obligation)
        numbers: dict[object, int] = {}
        order: list[Obligation] = []
        stack = [root]
        while stack:
            obligation = representative[identity(stack.pop())]
            if identity(obligation) not in numbers:
                numbers[identity(obligation)] = len(order)
                order.append(obligation)
                stack.extend(reversed([*justifications[obligation].obligations]))
        steps = {
            each: numbers[identity(each)] for each in justifications if identity(each) in numbers
        }
        return Proof(tuple(self._step(each, justifications[each], steps) for each in order))

    def _step(
        self, obligation: Obligation, justification: Justification, steps: Mapping[Obligation, int]
    ) -> ProofStep:
        derivations = tuple(_derivation(each, steps) for each in justification.rule_matches)
        row = obligation.row
        stated = self._rules.stated(obligation.fact)
        why: Derivation | Aggregation | None = None
        if justification.aggregated:
            why = Aggregation(justification.aggregated, derivations, justification.total)
        elif derivations:
            (why,) = derivations
        passing = row.until >= 0
        return ProofStep(
            fact=obligation.fact,
            stratum=row.stratum,
            iteration=justification.iteration,
            until=row.until if passing else None,
            asserted=row.asserted - (stated is not None),
            stated=stated,
            why=why,
            competition=None if passing else self._rules.competition(obligation.fact, self._store),
            cut=justification.cut,
        )


def _derivation(rule_match: RuleMatch, steps: Mapping[Obligation, int]) -> Derivation:
    rule, terms = rule_match.rule, rule_match.match.terms
    names = dict.fromkeys(
        variable.name for literal in (*rule.heads, *rule.body) for variable in variables(literal)
    )
    return Derivation(
        rule,
        tuple((name, terms[name]) for name in names),
        tuple(
            Proved(steps[premise]) if isinstance(premise, Obligation) else premise
            for premise in rule_match.premises
        ),
    )


def _circular(justifications: Mapping[Obligation, Justification]) -> set[Fact]:
    """Facts whose proof is later than their first iteration and depends on the fact itself."""
    circular = set()
    for start, justification in justifications.items():
        if justification.iteration <= start.row.since:
            continue
        seen: set[Obligation] = set()
        stack = [*justification.obligations]
        while stack:
            obligation = stack.pop()
            if obligation.fact == start.fact:
                circular.add(start.fact)
                break
            if obligation not in seen:
                seen.add(obligation)
                stack.extend(justifications[obligation].obligations)
    return circular
