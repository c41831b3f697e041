"""What is evaluated for goals on the asserted facts of a session, which stays as it is.

Invariant: between goals, an evaluation has the facts that it has read as often as they are asserted
then. It is an engine with terms of its own, so that goals leave nothing behind in the session.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.session import Session
from streamreasoner.engine.updates import Updates
from streamreasoner.facts import FactPattern, distinct, ids_of, matched_by, matching
from streamreasoner.lang.ast import Constant
from streamreasoner.query.goals.sorted_rows import SortedRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from streamreasoner.engine.session import Store
    from streamreasoner.engine.updates import Changes
    from streamreasoner.plan.program_plan import ProgramPlan
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.query.goals.asserted import AssertedFacts
    from streamreasoner.query.goals.goal_program import GoalProgram

    Rows = NDArray[np.int32]
    Named = tuple[str, Rows]
    """Distinct facts of a predicate."""


class DemandDoesNotPayError(Exception):
    """Why all of a program has to be evaluated for a goal."""


class Evaluation:
    """A program on all asserted facts.

    Attributes:
        session: The session of its own.
        read: How many facts it has read for the last goal.

    Args:
        program: The program.
        facts: The facts.
        store: Storage for its terms and facts.
        lowered: The plan of the program if it has been made before.
    """

    def __init__(
        self,
        program: CheckedProgram,
        facts: AssertedFacts,
        store: Store,
        lowered: ProgramPlan | None = None,
    ) -> None:
        self.session = Session(program, store, lowered=lowered)
        self.read = 0
        self._facts = facts
        self._names = [name for name in facts.program.arities if name in program.arities]
        self._ids = np.zeros(0, np.int32)  # 1 + the id here, by the id there; 0 if unknown
        self._position: dict[str, int] | None = None  # None until the first goal
        self._sorted: dict[str, SortedRows] = {}  # present facts, until they change
        self._stated: dict[str, list[list[int]]] = {}
        for fact in program.facts:
            terms = (each.term for each in fact.arguments if isinstance(each, Constant))
            ids = [*map(self.session.dictionary.intern, terms)]
            self._stated.setdefault(fact.predicate, []).append(ids)

    def answer(self, goal: FactPattern) -> Rows:
        """The facts that match a goal, rows of ids of the session."""
        self.read = 0
        is_first = self._position is None
        updates = [*self._adjusted(self._begun())]
        if updates or is_first:
            self.session.apply(updates, report=False)
            self._sorted.clear()
            return selected(goal, self.session)
        return self._looked_up(goal)

    def _looked_up(self, goal: FactPattern) -> Rows:
        """The same as `selected`, of sorted facts: they pay once goals come without changes."""
        terms, predicate = self.session.dictionary, goal.predicate
        bound = dict(ids_of(goal.constants, terms.find))
        wanted = {at: np.array([each], np.int32) for at, each in bound.items() if each is not None}
        if len(wanted) < len(bound) or len(wanted) in {0, self.session.arities[predicate]}:
            return selected(goal, self.session)
        if predicate not in self._sorted:
            self._sorted[predicate] = SortedRows(self.session.evaluated.facts(predicate))
        args = self._sorted[predicate].having(wanted)
        return args[matching(goal, args, terms)]

    def _begun(self) -> Iterator[Named]:
        """Facts that are needed whatever the goal is, or were touched since the goal before."""
        since, self._position = self._position, self._facts.position()
        if since is None:
            yield from self._needed()
        else:
            touched = self._facts.touched(since)
            yield from ((name, touched[name]) for name in self._names if name in touched)

    def _needed(self) -> Iterator[Named]:
        """All facts, those that are retracted more often than asserted among them."""
        for name in self._names:
            yield name, self._facts.matching(FactPattern(name))
            yield name, self._facts.below(name)

    def _adjusted(self, wanted: Iterable[Named]) -> Iterator[Updates]:
        """What makes facts asserted as often here as they are there."""
        rows_of: dict[str, list[Rows]] = {}
        for name, args in wanted:
            rows_of.setdefault(name, []).append(args)
        for name, rows in rows_of.items():
            args = rows[0] if len(rows) == 1 else distinct(np.concatenate(rows))[0]
            ids = self._encoded(args)
            before = self.session.evaluated.asserted(name, ids) - self._is_stated(name, ids)
            changes = self._counted(self._facts.times(name, args)) - before
            changed = changes != 0
            if changed.any():
                self.read += int(changed.sum())
                yield Updates(name, ids[changed], changes[changed])

    def _is_stated(self, name: str, ids: Rows) -> NDArray[np.bool_]:
        """Whether the program states facts itself, each once."""
        stated = self._stated.get(name)
        if stated is None:
            return np.zeros(len(ids), np.bool_)
        _, places = distinct(np.concatenate([np.array(stated, np.int32), ids]))
        return np.isin(places[len(stated) :], places[: len(stated)])

    def _counted(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """How often facts count here that are asserted so often there."""
        return times

    def _encoded(self, args: Rows) -> Rows:
        """Rows of ids of the facts as rows of ids of the session."""
        terms = self._facts.session.dictionary
        if len(self._ids) < len(terms):
            grown = np.zeros(max(2 * len(self._ids), len(terms)), np.int32)
            grown[: len(self._ids)] = self._ids
            self._ids = grown
        missing = np.unique(args[self._ids[args] == 0])
        if len(missing):
            self._ids[missing] = 1 + self.session.dictionary.encode(terms.decode(missing))
        return self._ids[args] - 1


class DemandedEvaluation(Evaluation):
    """The program for goals of one shape, on the facts that it demands.

    What it has read and derived for a goal, it keeps for the next ones.

    Attributes:
        rounds: In how many epochs the facts for the last goal came.
        most: The most facts that pay.

    Args:
        made: The program.
        facts: The facts.
        store: Storage for its terms and facts.
        lowered: The plan of the program.
        most: The most facts that pay.
    """

    def __init__(
        self,
        made: GoalProgram,
        facts: AssertedFacts,
        store: Store,
        lowered: ProgramPlan,
        most: int,
    ) -> None:
        super().__init__(made.program, facts, store, lowered)
        self.rounds = 0
        self._made, self.most = made, most
        self._demands = {each.name: each for each in made.demands if each.predicate in self._names}

    def answer(self, goal: FactPattern) -> Rows:
        """The facts that match a goal of the shape, rows of ids of the session.

        Raises:
            DemandDoesNotPayError: The goal demands more facts than pay; ask no other one after it.
        """
        self.read = self.rounds = 0
        updates = [*self._adjusted(self._affordable(self._begun())), *self._seed(goal)]
        while updates:
            changes = self.session.apply(updates).closure
            self.rounds += 1
            named = chain.from_iterable(map(self._demanded, changes))
            updates = [*self._adjusted(self._affordable(named))]
        return selected(goal, self.session)

    def _affordable(self, wanted: Iterable[Named]) -> Iterator[Named]:
        """The same facts, as long as they are few enough to pay."""
        left = self.most - self.read
        for each in wanted:
            left -= len(each[1])
            if left < 0:
                raise DemandDoesNotPayError(f"the goal demands more than {self.most:,} facts")
            yield each

    def _needed(self) -> Iterator[Named]:
        """What is needed whatever the goal is."""
        for pattern in dict.fromkeys(map(matched_by, self._made.whole)):
            if pattern.predicate in self._names:
                yield pattern.predicate, self._facts.matching(pattern)

    def _seed(self, goal: FactPattern) -> Iterator[Updates]:
        """The demand of a goal, unless it has been asked before."""
        name, terms = self._made.seed.name, [term for _, term in goal.constants]
        demanded = self.session.rows(name, [terms])
        if not self.session.evaluated.asserted(name, demanded.args)[0]:
            yield demanded

    def _demanded(self, changes: Changes) -> Iterator[Named]:
        """The facts that new demands name."""
        demand = self._demands.get(changes.predicate)
        keys = changes.args[changes.multiplicity > 0]
        if demand is not None and len(keys):
            found = self._facts.having(demand.predicate, demand.positions, self._known(keys))
            yield demand.predicate, found

    def _known(self, keys: Rows) -> Rows:
        """Rows of ids of the session as rows of ids of the facts, but those that no fact has."""
        ids, places = np.unique(keys, return_inverse=True)
        found = map(
            self._facts.session.dictionary.find, self.session.dictionary.decode(ids).to_pylist()
        )
        there = np.array([-1 if each is None else each for each in found], np.int32)
        rows = there[places.reshape(keys.shape)]
        return rows[(rows >= 0).all(axis=1)]

    def _counted(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        # No rule derives what is retracted more often, or all is evaluated.
        return np.clip(times, 0, 1)


def selected(goal: FactPattern, session: Session) -> Rows:
    """The present facts of a session that match a goal."""
    engine = session.evaluated
    bound = ids_of(goal.constants, session.dictionary.find)
    ids = {at: each for at, each in bound if each is not None}
    if len(ids) < len(bound):
        return np.empty((0, session.arities[goal.predicate]), np.int32)
    if not ids:
        args = engine.facts(goal.predicate)
    else:
        held = engine.select(goal.predicate, ids)
        args = held.args[held.since >= 0]
    return args[matching(goal, args, session.dictionary)]
