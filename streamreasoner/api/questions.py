"""What can be asked of a reasoner. Invariant: each answer is of the present facts of one epoch."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.api import shown
from streamreasoner.api.nodes import to_ntriples
from streamreasoner.api.results import Facts, GoalFacts, Size, Trace, violations
from streamreasoner.api.updates import Violation, check_predicate
from streamreasoner.counts import counted
from streamreasoner.engine.turn import in_turn
from streamreasoner.engine.updates import Changes
from streamreasoner.errors import QueryError
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.program.text import common_prefixes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray
    from rdflib import Graph

    from streamreasoner.api.asking.answer import Answer
    from streamreasoner.api.asking.epoch import EpochFacts
    from streamreasoner.api.asking.goals import Goals
    from streamreasoner.api.nodes import PythonTerm
    from streamreasoner.api.validation.report import ValidationReport
    from streamreasoner.engine.session import Session
    from streamreasoner.explain import Explanation, Limits
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.query.sparql.limits import QueryLimits

NO_PREFIXES: Mapping[str, str] = MappingProxyType({})


class Questions:
    """The methods of a reasoner that change nothing.

    Attributes:
        session: The same on ids, for callers that have ids.
        turn: Held by a thread while it reads or changes the state.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.turn = session.turn
        self._asked: EpochFacts | None = None
        self._goals: Goals | None = None
        self._prefixes: dict[str, str] = {}

    @property
    def program(self) -> CheckedProgram:
        """The checked program."""
        return self.session.program

    @in_turn
    def facts(self, predicate: str = TRIPLE) -> Facts:
        """The present facts of a predicate, asserted and derived, each once, in any order.

        In a set, facts with the terms 1, 1.0 and true would be one: Python's values are equal.
        """
        check_predicate(predicate, None, self.program)
        facts = self.session.evaluated.facts(predicate)
        return Facts(self.program.columns(predicate), facts, self.session.dictionary)

    @in_turn
    def size(self, *, hidden: bool = False) -> Size:
        """The number of present facts, and of those among them that are asserted.

        Args:
            hidden: Whether to count those of hidden predicates too.
        """
        engine, arities = self.session.evaluated, self.program.arities
        names = arities if hidden else self.program.visible
        if len(names) == len(arities) and not self.session.counts_more:
            statistics = engine.statistics()
            return Size(statistics.present, statistics.asserted)
        present = asserted = 0
        for name in names:
            args = engine.facts(name)
            present += len(args)
            asserted += int((engine.asserted(name, args) > 0).sum())
        return Size(present, asserted)

    @in_turn
    def violations(self) -> list[Violation]:
        """The present violations of all constraints, in any order."""
        constraints = self.program.constraints
        return [
            violation
            for name, args in self.session.evaluated.facts_of(constraints).items()
            for violation in violations(
                constraints[name], _added(name, args), self.session.dictionary
            )
        ]

    @in_turn
    def validate(self) -> ValidationReport:
        """The validation report of the present facts, by the shapes of the program.

        It unpacks as that of pySHACL: `conforms, graph, text = reasoner.validate()`.

        Raises:
            ProgramError: The program has no shapes.
        """
        # rdflib's part that writes reports is not imported by programs without shapes.
        from streamreasoner.api.validation.report import validation_report  # noqa: PLC0415

        return validation_report(
            self.program, self.session.evaluated.facts_of, self.session.dictionary
        )

    @in_turn
    def trace(self, predicate: str = TRIPLE) -> Trace:
        """Every (arguments, iteration, multiplicity) of a predicate, in any order."""
        check_predicate(predicate, None, self.program)
        trace = self.session.evaluated.trace(predicate)
        return Trace(self.program.columns(predicate), trace, self.session.dictionary)

    @in_turn
    def explain(
        self,
        fact: str,
        *args: PythonTerm,
        limits: Limits | None = None,
        prefixes: Mapping[str, str] = NO_PREFIXES,
        hidden: bool = False,
    ) -> Explanation:
        """Why a fact is present, or what is missing for it.

        Args:
            fact: A predicate, followed by its arguments; or a fact as text in the rule language
                with the program's prefixes, such as `path(ex:a, ex:b)`.
            args: The arguments of the predicate.
            limits: Limits on the size of the proof.
            prefixes: Further prefixes, name to IRI, to read the text and print the explanation.
            hidden: Whether to show the facts of predicates declared with `@hidden`, too.

        Raises:
            ProgramError: The text is not a single fact of the program.
            DataError: The predicate is unknown or has another arity.
        """
        # Most processes explain nothing, so they do not import how.
        from streamreasoner.explain import Fact, Limits, explain, read_fact  # noqa: PLC0415

        names = {**self._prefixes, **prefixes}
        if isinstance(fact, str) and ("(" in fact or "[" in fact):
            target = read_fact(fact, self.program, names)
        else:
            check_predicate(fact, len(args), self.program)
            target = Fact(fact, tuple(to_ntriples(term) for term in args))
        found = explain(
            self.program,
            self.session.evaluated,
            self.session.dictionary,
            target,
            limits or Limits(),
            hidden=hidden,
        )
        return found.with_prefixes(names)

    @in_turn
    def ask_goal(self, goal: str, rules: str | Path | None = None) -> GoalFacts:
        """The facts that match a goal, each once, in any order.

        With rules, they are the facts that these rules derive of the asserted facts of the
        reasoner, whose own rules do not count; no more is evaluated than the goal needs. What was
        evaluated stays for the next goals of the last rules, as long as the reasoner does.

        Args:
            goal: An atom in the rule language, such as `path(ex:a, ?x)` or `[?x, a, ex:B]`, or the
                name of a predicate. Triple terms may have variables, too. Its prefixes are those
                of the rules, and of loaded files.
            rules: A text, the path of a file or the name of a ruleset; None: the present facts are
                those of the reasoner's own rules.

        Raises:
            ProgramError: The rules are invalid, or the goal is not one atom of them.
            DataError: The goal is empty, or a predicate has another arity in the reasoner.
            EngineError: The evaluation failed.
        """
        from streamreasoner.api.asking.goals import Goals  # noqa: PLC0415 - most ask nothing
        from streamreasoner.explain import read_goal  # noqa: PLC0415
        from streamreasoner.query.goals.evaluation import selected  # noqa: PLC0415

        if rules is None:
            asked = read_goal(goal, self.program, self._prefixes)
            columns, args = self.program.columns(asked.predicate), selected(asked, self.session)
            return GoalFacts(columns, args, self.session.dictionary, "Of the present facts.")
        goals = self._goals = self._goals or Goals(self.session)
        program = goals.program_of(rules)
        asked = read_goal(goal, program, self._prefixes)
        found = goals.answered(program, asked)
        return GoalFacts(program.columns(asked.predicate), *found, str(goals.work))

    def query(
        self, text: str, *, base: str = "", limits: QueryLimits | None = None
    ) -> Answer | bool:
        """The answer of a query in SPARQL 1.1 on the present facts.

        Triples are the default graph, and quads the named graphs.

        Args:
            text: The query.
            base: The IRI that relative ones are resolved against, before any BASE.
            limits: What it may use; by default as much as there is.

        Returns:
            Of ASK a bool; otherwise rows: solutions of SELECT, triples of CONSTRUCT and DESCRIBE.

        Raises:
            ProgramError: It is not SPARQL 1.1; the message says where.
            TermError: The base is not an absolute IRI.
            QueryError: It asks for what is not supported, or exceeds a limit.
        """
        from streamreasoner.api.asking.answer import Answer  # noqa: PLC0415 - most processes ask nothing
        from streamreasoner.query.sparql.answers import Truth  # noqa: PLC0415
        from streamreasoner.query.sparql.evaluate import evaluate  # noqa: PLC0415
        from streamreasoner.query.sparql.limits import QueryLimits  # noqa: PLC0415

        with self.turn:
            facts, prefixes = self._epoch_facts().facts(), common_prefixes(self.program.programs)
        answer = evaluate(text, facts, limits or QueryLimits(), base=base)
        return answer.holds if isinstance(answer, Truth) else Answer(answer, prefixes)

    def select(self, text: str, *, base: str = "", limits: QueryLimits | None = None) -> Answer:
        """The solutions of SELECT; see `query`.

        Raises:
            QueryError: It is another form of query.
        """
        answer = self.query(text, base=base, limits=limits)
        if isinstance(answer, bool) or not answer.is_of_select:
            raise QueryError("The query is not a SELECT. Use query for any form.")
        return answer

    def construct(self, text: str, *, base: str = "", limits: QueryLimits | None = None) -> Answer:
        """The triples of CONSTRUCT or DESCRIBE; see `query`.

        Raises:
            QueryError: It is another form of query.
        """
        answer = self.query(text, base=base, limits=limits)
        if isinstance(answer, bool) or answer.is_of_select:
            raise QueryError("The query is not a CONSTRUCT or DESCRIBE. Use query for any form.")
        return answer

    def ask(self, text: str, *, base: str = "", limits: QueryLimits | None = None) -> bool:
        """The answer of ASK; see `query`.

        Raises:
            QueryError: It is another form of query.
        """
        answer = self.query(text, base=base, limits=limits)
        if isinstance(answer, bool):
            return answer
        raise QueryError("The query is not an ASK. Use select, construct, or query for any form.")

    @in_turn
    def graph(self) -> Graph:
        """The present triples as an rdflib graph, which stays as it is and cannot be changed.

        Its `query` is that of the reasoner.
        """
        return self._epoch_facts().graph()

    @in_turn
    def _repr_html_(self) -> str:
        size = self.size()
        return shown.html_paragraph(
            f"Reasoner with {counted(len(self.program.rules), 'rule')}, after "
            f"{counted(self.session.next_epoch, 'epoch')}: "
            f"{counted(size.present, 'fact')}, {size.derived:,} of them derived."
        )

    def _epoch_facts(self) -> EpochFacts:
        """The present triples and quads, for queries."""
        from streamreasoner.api.asking.epoch import EpochFacts  # noqa: PLC0415 - most ask nothing

        with self.turn:
            if self._asked is None:
                self._asked = EpochFacts(self.session)
        return self._asked


def _added(predicate: str, args: NDArray[np.int32]) -> Changes:
    """Facts as changes that add them."""
    return Changes(predicate, args, np.ones(len(args), np.int8))
