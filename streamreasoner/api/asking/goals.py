"""Goals on what is asserted. Invariant: the answer is what evaluating all rules would derive of it.

What is evaluated for a goal is kept for the next ones of its shape, which need little more. Where a
goal needs many facts, or too many rules, all of the program is evaluated instead, which takes less.
The reasoner stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.analysis.strata.dependency import unifies
from streamreasoner.backends.store import columnar
from streamreasoner.counts import counted
from streamreasoner.errors import DataError
from streamreasoner.facts import decode_rows, in_order, values_of
from streamreasoner.lang.ast import NOWHERE, Atom, Constant, Variable
from streamreasoner.lang.binding import pattern_variables
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.load import is_unchanged, load_program
from streamreasoner.query.goals.asserted import AssertedFacts
from streamreasoner.query.goals.evaluation import (
    DemandDoesNotPayError,
    DemandedEvaluation,
    Evaluation,
)
from streamreasoner.query.goals.goal_program import goal_program, shape_of
from streamreasoner.query.sparql.answers import Solutions, Truth
from streamreasoner.query.sparql.query_terms import QueryTerms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from streamreasoner.engine.session import Session, Store
    from streamreasoner.facts import FactPattern
    from streamreasoner.plan.program_plan import ProgramPlan
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.query.goals.goal_program import GoalProgram, Shape
    from streamreasoner.query.sparql.answers import Answer
    from streamreasoner.rdf.dictionary import Dictionary


@dataclass(frozen=True, slots=True)
class Pays:
    """When demands pay.

    Attributes:
        rules: The most rules, as planning more takes longer than a load often does,
        facts_a_rule: or one for each of this many facts of the input, if that is more.
        facts: The most facts of the input that demands may read,
        part: or the largest part of them, if that is more.
        kept: The most facts that are kept for later goals of a shape.
        shapes: The most shapes that are kept.
    """

    rules: int = 400
    facts_a_rule: int = 1_000
    facts: int = 10_000
    part: float = 0.1
    kept: int = 100_000
    shapes: int = 16


_PAYS = Pays()


@dataclass(frozen=True, slots=True)
class GoalWork:
    """How a goal was answered.

    Attributes:
        reason: Why all of the program was evaluated; empty if only what was demanded was.
        read: How many facts of the input were read for it.
        of: How many there are.
    """

    reason: str
    read: int
    of: int

    def __str__(self) -> str:
        read = f"{self.read:,} of {counted(self.of, 'fact')} read"
        if self.reason:
            return f"All rules were evaluated, because {self.reason}: {read}."
        return f"What the goal needs was evaluated: {read}."


@dataclass(slots=True)
class _Planned:
    """The program of a shape, and what is kept of its evaluation.

    Attributes:
        made: The program.
        plan: Its plan once it was needed.
        evaluation: The last one, if it may go on.
        failed: Why one of its goals needed all rules.
    """

    made: GoalProgram
    plan: ProgramPlan | None = None
    evaluation: DemandedEvaluation | None = None
    failed: str = ""


class Goals:
    """Goals that are asked of what is asserted in a session.

    Attributes:
        work: How the last one was answered.
        evaluation: What answered it.

    Args:
        session: The session.
        new_store: Makes storage for terms and facts.
        pays: When demands pay.
    """

    def __init__(
        self, session: Session, *, new_store: Callable[[], Store] = columnar, pays: Pays = _PAYS
    ) -> None:
        self._session, self._new_store, self._pays = session, new_store, pays
        self._facts: AssertedFacts | None = None
        self._rules: str | Path = ""
        self._program: CheckedProgram | None = None
        self._planned: dict[Shape, _Planned] = {}
        self._everything: Evaluation | None = None
        self.work: GoalWork
        self.evaluation: Evaluation

    def program_of(self, rules: str | Path) -> CheckedProgram:
        """The program of a text, a path or a ruleset; the last one is kept while it is the same.

        Raises:
            ProgramError: The rules are invalid.
        """
        known = self._program
        if known is None or rules != self._rules or not is_unchanged(known, rules):
            known = load_program(rules)
            self._begin(known)
            self._rules = rules
        return known

    def read_for(self, program: CheckedProgram, goal: FactPattern) -> frozenset[str]:
        """The predicates whose facts a goal of a program may need."""
        if program is not self._program:
            self._begin(program)
        return self._planned_for(shape_of(program, goal), program).made.reads

    def answered(
        self, program: CheckedProgram, goal: FactPattern
    ) -> tuple[NDArray[np.int32], Dictionary]:
        """The facts that match a goal of a program, and their terms.

        Raises:
            DataError: A predicate has another arity in the session.
            EngineError: The evaluation failed.
        """
        if program is not self._program:
            self._begin(program)
        _check_arities(program, self._session)
        facts = self._facts
        if facts is None or not facts.is_current:
            facts = self._facts = AssertedFacts(self._session)
            self._forget()
        reason = ""
        try:
            rows = self._by_demand(program, goal, facts)
        except DemandDoesNotPayError as error:
            rows, reason = self._of_all(program, goal, facts), str(error)
        self.work = GoalWork(reason, self.evaluation.read, facts.size)
        return rows, self.evaluation.session.dictionary

    def _begin(self, program: CheckedProgram) -> None:
        """Go on with another program."""
        self._rules, self._program, self._planned, self._everything = "", program, {}, None

    def _forget(self) -> None:
        """Keep nothing but plans."""
        self._everything = None
        for each in self._planned.values():
            each.evaluation = None

    def _by_demand(
        self, program: CheckedProgram, goal: FactPattern, facts: AssertedFacts
    ) -> NDArray[np.int32]:
        """The facts that match a goal.

        Raises:
            DemandDoesNotPayError: All has to be evaluated.
        """
        pays = self._pays
        if _hides(facts, program):
            raise DemandDoesNotPayError(
                "a fact that rules may derive is retracted more often than asserted"
            )
        planned = self._planned_for(shape_of(program, goal), program)
        rules = len(planned.made.program.rules)
        if rules > max(pays.rules, facts.size // pays.facts_a_rule):
            raise DemandDoesNotPayError(
                f"planning the {rules:,} rules of the goal would take longer"
            )
        evaluation, planned.evaluation = planned.evaluation, None  # kept again if it succeeds
        if evaluation is None:
            if planned.failed and self._everything is not None:
                raise DemandDoesNotPayError(planned.failed)
            planned.plan = planned.plan or lower(planned.made.program)
            most = max(pays.facts, int(pays.part * facts.size))
            evaluation = DemandedEvaluation(
                planned.made, facts, self._new_store(), planned.plan, most
            )
        try:
            rows = evaluation.answer(goal)
        except DemandDoesNotPayError as error:
            planned.failed = str(error)
            raise
        self.evaluation = evaluation
        if evaluation.session.engine.statistics().facts <= pays.kept:
            planned.evaluation = evaluation
        return rows

    def _planned_for(self, shape: Shape, program: CheckedProgram) -> _Planned:
        """The program of a shape; that of the one asked least recently makes room for it."""
        planned = self._planned.pop(shape, None) or _Planned(goal_program(program, shape))
        self._planned[shape] = planned
        if len(self._planned) > self._pays.shapes:
            del self._planned[next(iter(self._planned))]
        return planned

    def _of_all(
        self, program: CheckedProgram, goal: FactPattern, facts: AssertedFacts
    ) -> NDArray[np.int32]:
        """The facts that match a goal, of all consequences."""
        evaluation, self._everything = self._everything, None
        if evaluation is None:
            evaluation = Evaluation(replace(program, expiries=()), facts, self._new_store())
        rows = evaluation.answer(goal)
        self.evaluation = self._everything = evaluation
        return rows


def _hides(facts: AssertedFacts, program: CheckedProgram) -> bool:
    """Whether a fact is retracted more often than asserted that the program may derive or state."""
    heads = (*program.facts, *(each.head for each in program.rules))
    for name in {each.predicate for each in heads} & facts.program.arities.keys():
        for row in decode_rows(facts.below(name), facts.session.dictionary, str):
            fact = Atom(name, tuple(Constant(term, NOWHERE) for term in row), NOWHERE)
            if any(unifies(fact, head) for head in heads):
                return True
    return False


def _check_arities(program: CheckedProgram, session: Session) -> None:
    for predicate, arity in session.program.arities.items():
        if program.arities.get(predicate, arity) != arity:
            raise DataError(
                f"'{predicate}' has {counted(arity, 'argument')} in the reasoner, but"
                f" {program.arities[predicate]} in the rules of the goal."
            )


def solutions(
    goal: FactPattern, rows: NDArray[np.int32], terms: Dictionary, columns: tuple[str, ...]
) -> Answer:
    """The values of a goal's variables, each once and in order; of one without, whether it holds.

    Args:
        goal: The goal.
        rows: The facts that match it.
        terms: Their terms.
        columns: What stands for the variables of a goal that is a predicate alone.
    """
    if goal.arguments is None:
        names, values = columns, rows
    else:
        names = tuple(dict.fromkeys(chain.from_iterable(map(pattern_variables, goal.arguments))))
        values = _values(goal, names, rows, terms)
    if not names:
        return Truth(len(rows) > 0)
    return Solutions(names, in_order(np.unique(values, axis=0), terms), QueryTerms(terms), {})


def _values(
    goal: FactPattern, names: Sequence[str], rows: NDArray[np.int32], terms: Dictionary
) -> NDArray[np.int32]:
    """The values of variables in facts, rows of ids."""
    places = {
        each.name: at for at, each in enumerate(goal.arguments or ()) if isinstance(each, Variable)
    }
    if places.keys() >= {*names}:
        return rows[:, [places[name] for name in names]]
    found = [values_of(goal, row) or {} for row in decode_rows(rows, terms, str)]
    ids = [terms.intern(values[name]) for values in found for name in names]
    return np.array(ids, np.int32).reshape(len(rows), len(names))


def facts_alone(program: CheckedProgram) -> CheckedProgram:
    """A program that takes the same facts of the input, and derives and states none."""
    return replace(program, rules=(), facts=(), helpers={}, strata=(), guarded=())
