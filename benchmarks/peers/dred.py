"""Delete and rederive (Gupta, Mumick, Subrahmanian, SIGMOD 1993), for positive Datalog programs.

Engines without multiplicities retract facts this way: first they delete everything that has *a*
derivation from them, then they restore what has *another* derivation. Invariant: `facts` is the
least model of the rules and the asserted facts after every call.

Facts are added and removed one at a time, so every derivation is found once per phase: when the
last of its facts is added, or the first of them removed. Rules are compiled to Python functions,
with a hash index for every join. Asserted facts are never over-deleted: they need no derivation.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.peers.joins import Index, check_plan, delta_plans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from streamreasoner.lang.ast import Rule

    Fact: TypeAlias = tuple[int, ...]
    Known: TypeAlias = tuple[str, Fact]


@dataclass(slots=True)
class Work:
    """The cost of an update, in steps that do not depend on the machine.

    Attributes:
        over_deleted: Facts deleted in the first phase.
        rederived: Those of them that were restored.
        checks: Checks whether a deleted fact has another derivation.
        derivations: Combinations of facts that match a rule's body, found in all phases.
        changed: Facts that are present after the update and were not before, or the reverse.
    """

    over_deleted: int = 0
    rederived: int = 0
    checks: int = 0
    derivations: int = 0
    changed: int = 0


class DeleteRederive:
    """A materialised program.

    Args:
        rules: In normal form: one head, and a body of positive atoms without expressions.
        number: Maps the text of a constant to its number in facts.
    """

    def __init__(self, rules: Sequence[Rule], number: Callable[[str], int]) -> None:
        self.facts: dict[str, set[Fact]] = {}
        self._asserted: set[Known] = set()
        self._indexes: dict[str, list[Index]] = {}
        arrangements: dict[tuple[str, tuple[int, ...]], Index] = {}
        for rule in rules:
            for atom in (rule.head, *rule.atoms):
                self.facts.setdefault(atom.predicate, set())
                self._indexes.setdefault(atom.predicate, [])

        def arrange(predicate: str, positions: tuple[int, ...]) -> Index:
            if (predicate, positions) not in arrangements:
                index = arrangements[predicate, positions] = Index(positions)
                self._indexes[predicate].append(index)
            return arrangements[predicate, positions]

        self._plans = {
            name: delta_plans(name, rules, number, arrange, self.facts) for name in self.facts
        }
        self._checks = {
            name: [
                check_plan(rule, number, arrange, self.facts)
                for rule in rules
                if rule.head.predicate == name
            ]
            for name in self.facts
        }

    def add(self, predicate: str, facts: Iterable[Fact]) -> Work:
        """Assert facts, and insert their consequences."""
        work = Work()
        fresh = [(predicate, fact) for fact in facts]
        self._asserted.update(fresh)
        self._insert((known for known in fresh if known[1] not in self.facts[predicate]), work)
        return work

    def remove(self, predicate: str, facts: Iterable[Fact]) -> Work:
        """Retract asserted facts, delete possible consequences, and restore those that remain."""
        work = Work()
        retracted = [(predicate, fact) for fact in facts]
        self._asserted.difference_update(retracted)
        deleted = self._delete(retracted, work)
        work.checks = len(deleted)
        back = [known for known in deleted if self._follows(known)]
        self._insert(back, work)
        work.over_deleted = len(deleted)
        work.rederived = work.changed
        work.changed = work.over_deleted - work.rederived
        return work

    def _delete(self, retracted: Iterable[Known], work: Work) -> list[Known]:
        """Delete facts and everything with a derivation from them; asserted facts stay."""
        deleted = dict.fromkeys(known for known in retracted if known[1] in self.facts[known[0]])
        queue = deque(deleted)
        while queue:
            predicate, fact = queue.popleft()
            for head, plan in self._plans[predicate]:
                heads = plan(fact)
                work.derivations += len(heads)
                for derived in heads:
                    known = (head, derived)
                    if known not in deleted and known not in self._asserted:
                        deleted[known] = None
                        queue.append(known)
            self.facts[predicate].discard(fact)
            for index in self._indexes[predicate]:
                index.discard(fact)
        return list(deleted)

    def _follows(self, known: Known) -> bool:
        """Whether a rule derives a fact from the present facts."""
        predicate, fact = known
        return any(check(fact) for check in self._checks[predicate])

    def _insert(self, fresh: Iterable[Known], work: Work) -> None:
        """Insert facts that are absent and all that follows from them."""
        pending = dict.fromkeys(fresh)
        queue = deque(pending)
        while queue:
            known = queue.popleft()
            predicate, fact = known
            self.facts[predicate].add(fact)
            for index in self._indexes[predicate]:
                index.add(fact)
            work.changed += 1
            for head, plan in self._plans[predicate]:
                present = self.facts[head]
                heads = plan(fact)
                work.derivations += len(heads)
                for derived in heads:
                    if derived not in present and (head, derived) not in pending:
                        pending[head, derived] = None
                        queue.append((head, derived))
            del pending[known]
