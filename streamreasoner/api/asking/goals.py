"""Goals on what is asserted. Invariant: the answer is what evaluating all rules would derive of it.

The facts of the input come in rounds: each brings what the demands of the rounds before have named,
so an engine of its own reads few facts of many. Where a goal needs many, or many rules, all of the
program is evaluated instead, which takes less. The reasoner stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.store import columnar
from streamreasoner.counts import counted
from streamreasoner.engine.session import Session
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import DataError
from streamreasoner.facts import in_order, matched_by, matching
from streamreasoner.lang.ast import Variable
from streamreasoner.query.goals.goal_program import goal_program
from streamreasoner.query.sparql.answers import Solutions, Truth
from streamreasoner.query.sparql.query_terms import QueryTerms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from streamreasoner.engine.session import Store
    from streamreasoner.facts import FactPattern, Terms
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.query.goals.goal_program import Demand, GoalProgram
    from streamreasoner.query.sparql.answers import Answer
    from streamreasoner.rdf.dictionary import TermDictionary


@dataclass(frozen=True, slots=True)
class Pays:
    """When demands pay.

    Attributes:
        rules: The most rules, as planning more takes longer than a load often does.
        facts: The most facts of the input that demands may read,
        part: or the largest part of them, if that is more.
    """

    rules: int = 400
    facts: int = 10_000
    part: float = 0.1


_PAYS = Pays()


class GoalEvaluation:
    """The evaluation of one goal.

    Attributes:
        session: The session of its own.
        by_demand: Whether it evaluated what was demanded, not all of the program.
        rounds: In how many epochs the facts came.
        read: How many facts of the input it read.

    Args:
        program: The program.
        goal: What is asked.
        facts: The asserted facts by predicate, rows of ids, each once.
        terms: Their terms.
        new_store: Makes storage for terms and facts.
        pays: When demands pay.
    """

    def __init__(
        self,
        program: CheckedProgram,
        goal: FactPattern,
        facts: Mapping[str, NDArray[np.int32]],
        terms: Terms,
        *,
        new_store: Callable[[], Store] = columnar,
        pays: Pays = _PAYS,
    ) -> None:
        self._goal = goal
        self._facts, self._terms = facts, terms
        self._most = max(pays.facts, int(pays.part * sum(map(len, facts.values()))))
        made = goal_program(program, goal)
        self.by_demand = len(made.program.rules) <= pays.rules
        if self.by_demand:
            self._begin(made.program, new_store)
            self.by_demand = self._evaluated(made)
        if not self.by_demand:
            self._begin(replace(program, expiries=()), new_store)
            self._apply(
                [
                    update
                    for name, args in facts.items()
                    for update in self._taken(name, np.arange(len(args)))
                ]
            )

    def _begin(self, program: CheckedProgram, new_store: Callable[[], Store]) -> None:
        self.session = Session(program, new_store())
        self._missing = {name: np.ones(len(args), np.bool_) for name, args in self._facts.items()}
        self.rounds = self.read = 0

    def answer(self) -> NDArray[np.int32]:
        """The facts that match the goal, rows of ids of the session."""
        args = self.session.evaluated.facts(self._goal.predicate)
        return args[matching(self._goal, args, self.session.dictionary)]

    def _apply(self, updates: list[Updates]) -> None:
        self.session.apply(updates, report=False)
        self.rounds += 1

    def _evaluated(self, made: GoalProgram) -> bool:
        """Apply rounds until no demand names a new fact; returns False where that stops paying."""
        updates = [*self._taken_whole(made)]
        while updates or not self.rounds:
            if self.read > self._most:
                return False
            self._apply(updates)
            updates = [
                update
                for demand in made.demands
                if demand.predicate in self._facts
                for update in self._taken(demand.predicate, self._demanded(demand))
            ]
        return True

    def _taken_whole(self, made: GoalProgram) -> Iterator[Updates]:
        for atom in made.whole:
            if atom.predicate in self._facts:
                args = self._facts[atom.predicate]
                yield from self._taken(
                    atom.predicate, np.flatnonzero(matching(matched_by(atom), args, self._terms))
                )

    def _demanded(self, demand: Demand) -> NDArray[np.intp]:
        """The facts that have the terms of a demand, and perhaps some more; those still missing."""
        demanded = self.session.engine.facts(demand.name)
        if not len(demanded):
            return np.empty(0, np.intp)
        args = self._facts[demand.predicate]
        found = np.flatnonzero(self._missing[demand.predicate])
        for column, position in enumerate(demand.positions):
            names = self.session.dictionary.decode(np.unique(demanded[:, column])).to_pylist()
            ids = [each for each in map(self._terms.find, names) if each is not None]
            found = found[np.isin(args[found, position], np.array(ids, np.int32), kind="table")]
        return found

    def _taken(self, predicate: str, rows: NDArray[np.intp]) -> Iterator[Updates]:
        """The facts of some rows, but those that came before."""
        missing = self._missing[predicate]
        rows = rows[missing[rows]]
        missing[rows] = False
        if len(rows):
            self.read += len(rows)
            args = self._facts[predicate][rows]
            distinct, places = np.unique(args, return_inverse=True)
            ids = self.session.dictionary.encode(self._terms.decode(distinct))
            yield Updates(predicate, ids[places.reshape(args.shape)], np.ones(len(rows), np.int64))


def answered(
    program: CheckedProgram, goal: FactPattern, session: Session
) -> tuple[NDArray[np.int32], TermDictionary]:
    """The facts that match a goal of a program on what is asserted in a session, and their terms.

    Raises:
        DataError: A predicate has another arity in the session.
    """
    for predicate, arity in session.program.arities.items():
        if program.arities.get(predicate, arity) != arity:
            raise DataError(
                f"'{predicate}' has {counted(arity, 'argument')} in the reasoner, but"
                f" {program.arities[predicate]} in the rules of the goal."
            )
    facts = asserted_facts(session)
    known = {name: args for name, args in facts.items() if name in program.arities}
    evaluation = GoalEvaluation(program, goal, known, session.dictionary)
    return evaluation.answer(), evaluation.session.dictionary


def solutions(program: CheckedProgram, goal: FactPattern, session: Session) -> Answer:
    """The values of a goal's variables, each once and in order; of one without, whether it holds.

    Of a goal that is a predicate alone, the variables are its columns.

    Raises:
        DataError: As of `answered`.
    """
    rows, terms = answered(program, goal, session)
    places: dict[str, int] = {}
    if goal.arguments is None:
        places = {name: at for at, name in enumerate(program.columns(goal.predicate))}
    for at, each in enumerate(goal.arguments or ()):
        if isinstance(each, Variable):
            places.setdefault(each.name, at)
    if not places:
        return Truth(len(rows) > 0)
    values = in_order(np.unique(rows[:, [*places.values()]], axis=0), terms)
    return Solutions(tuple(places), values, QueryTerms(terms), {})


def facts_alone(program: CheckedProgram) -> CheckedProgram:
    """A program that takes the same facts of the input, and derives and states none."""
    return replace(program, rules=(), facts=(), helpers={}, strata=(), guarded=())


def asserted_facts(session: Session) -> dict[str, NDArray[np.int32]]:
    """The asserted facts of a session that are present, by predicate."""
    found = {}
    for predicate in session.program.arities:
        selected = session.evaluated.select(predicate, {})
        found[predicate] = selected.args[selected.asserted > 0]
    return found
