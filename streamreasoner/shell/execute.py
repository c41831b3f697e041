"""Execution of commands against a reasoner. Invariant: a command that fails has changed nothing.

A session turns commands into lines of text; it reads no input and writes no output itself.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, assert_never

from streamreasoner.api.files import updates_of_file
from streamreasoner.api.nodes import from_ntriples
from streamreasoner.api.updates import Update
from streamreasoner.counts import counted
from streamreasoner.engine.cost_model import explained
from streamreasoner.errors import EngineError, ProgramError
from streamreasoner.io.files.documents import AS_NAMED, Reading, declared_prefixes
from streamreasoner.lang.ast import NOWHERE, Base, Prefix
from streamreasoner.lang.diagnostic import render
from streamreasoner.lang.printer import print_rule
from streamreasoner.lang.statements import is_blank
from streamreasoner.plan.print.plans import explain_plan
from streamreasoner.program.edit import with_query, with_rules
from streamreasoner.program.load import read_rules
from streamreasoner.program.sources import QUERY, is_of_rules, name_of_query
from streamreasoner.query.syntax import Scope, relocated, rule_warnings
from streamreasoner.shell.command import (
    ALIASES,
    CATALOGUE,
    AddRules,
    Advance,
    CommandError,
    CountAnswers,
    CountFacts,
    DeclarePrefix,
    DropRule,
    Explain,
    Help,
    ListAnswers,
    ListFacts,
    Load,
    PerformUpdate,
    QueueUpdates,
    ShowTrace,
    Simple,
)
from streamreasoner.shell.listing import Queries
from streamreasoner.shell.output import (
    FactPrinter,
    Line,
    Tone,
    changes,
    fact_of,
    lines,
    totals,
)
from streamreasoner.shell.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.api.results import Diff
    from streamreasoner.facts import Fact
    from streamreasoner.shell.command import Command

_Result = TypeVar("_Result")

_MILLISECONDS = 1000


class Session:
    """Executes commands against a reasoner.

    Attributes:
        reasoner: The reasoner.
        pending: Updates that the next `commit` applies, in the order they were typed.
        finished: Whether `quit` was executed.

    Args:
        reasoner: A reasoner, fresh or in use.
        limit: Maximum number of facts that one command prints; None means no limit.
        reading: How files are read.
        hidden: Whether to show the facts of hidden predicates too.
        clock: Returns seconds. If set, epochs report their duration and `stats` the memory, so
            output is no longer deterministic.
    """

    def __init__(
        self,
        reasoner: Reasoner,
        *,
        limit: int | None = None,
        reading: Reading = AS_NAMED,
        hidden: bool = False,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.reasoner = reasoner
        self.pending: list[Update] = []
        self.finished = False
        self._added = 0
        self._limit = limit
        self._reading = reading
        self._hidden = hidden
        self._clock = clock
        # Event time begins in 1970 and stands still between commands, so that scripts repeat.
        self._time = 0
        self._directives: tuple[Prefix | Base, ...] = tuple(
            directive
            for directive in reasoner.program.program.directives
            if isinstance(directive, Prefix | Base)
        )
        self._printer = FactPrinter(self.prefixes)

    @property
    def scope(self) -> Scope:
        """The scope that resolves names in a command."""
        program = self.reasoner.program
        return Scope(self._directives, program.arities, program.unlisted)

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefix name to IRI."""
        return {item.name: item.iri for item in self._directives if isinstance(item, Prefix)}

    def start(self, files: Iterable[str]) -> list[Line]:
        """Apply the facts of the program and of files as the first epoch, if there are any.

        Raises:
            DataError: A file cannot be read, or has a predicate that the program does not have.
            EngineError: The epoch failed.
        """
        files = tuple(files)
        if not files and not self.reasoner.program.facts:
            return []
        return self._load(files)

    def execute(self, text: str) -> list[Line]:
        """Execute one command; white space and comments do nothing.

        Raises:
            StreamReasonerError: It cannot be parsed or executed; nothing has changed.
        """
        if is_blank(text):
            return []
        return self._execute(parse(text, self.scope))

    def _execute(self, command: Command) -> list[Line]:  # noqa: C901, PLR0911, PLR0912 - one case each
        match command:
            case QueueUpdates(facts, multiplicity):
                self.pending += (_update(fact, multiplicity) for fact in facts)
                return []
            case PerformUpdate(request):
                return self._run_epoch(lambda: self.reasoner.update(request, ts=self._time))
            case Load(path):
                return self._load_rules(path) if is_of_rules(path) else self._load([path])
            case ListFacts(pattern):
                return self._limited(*self._queries.facts(pattern, self._limit))
            case CountFacts(pattern):
                return self._queries.count(pattern)
            case ListAnswers(question):
                found = self._limited(*self._queries.answers(question, self._limit))
                return lines(question.warnings, Tone.NOTE) + found
            case CountAnswers(question):
                counted = self._queries.count_answers(question)
                return lines(question.warnings, Tone.NOTE) + counted
            case ShowTrace(pattern):
                return self._limited(*self._queries.trace(pattern))
            case Explain(fact):
                terms = map(from_ntriples, fact.arguments)
                explanation = self.reasoner.explain(
                    fact.predicate, *terms, prefixes=self.prefixes, hidden=self._hidden
                )
                return lines(explanation.text())
            case AddRules():
                return self._add(command)
            case DropRule(number):
                return self._drop(number)
            case Advance(duration):
                self._time += duration
                return self._run_epoch(lambda: self.reasoner.advance(self._time))
            case DeclarePrefix(prefix):
                self._declare(prefix)
                return []
            case Help(name):
                return _help(name)
            case Simple():
                return self._simple(command)
            case _:
                assert_never(command)

    def _simple(self, command: Simple) -> list[Line]:  # noqa: PLR0911 - one case each
        match command:
            case Simple.PENDING:
                return self._limited(
                    list(map(self._pending_line, self.pending)), _updates(len(self.pending))
                )
            case Simple.COMMIT:
                return self._commit()
            case Simple.ROLLBACK:
                discarded, self.pending = self.pending, []
                return [Line(f"{_updates(len(discarded))} discarded.", Tone.NOTE)]
            case Simple.PREDICATES:
                return self._queries.predicates()
            case Simple.RULES:
                return self._queries.rules()
            case Simple.PLAN:
                anew = explained(self.reasoner.session.engine.cost_model())
                return lines(explain_plan(self.reasoner.program, anew=anew))
            case Simple.STATS:
                return self._queries.statistics(memory=self._clock is not None)
            case Simple.QUIT:
                self.finished = True
                notice = [Line(f"{_updates(len(self.pending))} not committed.", Tone.NOTE)]
                return notice if self.pending else []
            case _:
                assert_never(command)

    def _pending_line(self, update: Update) -> Line:
        number = abs(update.multiplicity)
        times = f" * {number}" if number > 1 else ""
        sign, tone = ("+", Tone.PRESENT) if update.multiplicity > 0 else ("-", Tone.ABSENT)
        return Line(f"{sign} {self._printer.text(fact_of(update))}{times}", tone)

    @property
    def _queries(self) -> Queries:
        return Queries(self.reasoner, self._printer, hidden=self._hidden)

    def _load(self, paths: Iterable[str]) -> list[Line]:
        paths = tuple(paths)
        session = self.reasoner.session
        read = partial(updates_of_file, session, how=self._reading, ts=self._time)
        blocks = chain.from_iterable(map(read, paths))
        # Files may hold millions of facts, so changes are counted, not printed.
        result, duration = self._timed(lambda: session.load(blocks))
        for name, iri in declared_prefixes(paths).items():
            if name not in self.prefixes:
                self._declare(Prefix(name, iri, NOWHERE))
        program = self.reasoner.program
        lines, numbers = totals(result, program.arities if self._hidden else program.visible)
        return [*lines, Line(numbers + duration, Tone.NOTE)]

    def _load_rules(self, path: str) -> list[Line]:
        """Add the rules of a file, or those of a query, whose prefixes can be used from then on."""
        before = self.reasoner.program
        text = read_rules(Path(path))
        if path.endswith(QUERY):
            extended = with_query(before, name_of_query(path), text, path)
        else:
            extended = with_rules(before, text, path)
        diff, duration = self._timed(lambda: self.reasoner.change_program(extended))
        program = self.reasoner.program
        for each in program.programs[len(before.programs) :]:
            for item in each.directives:
                if isinstance(item, Prefix) and item.name not in self.prefixes:
                    self._declare(item)
        known = {*before.warnings}
        new = [each for each in program.warnings if each not in known]
        return lines(render(new, program.texts), Tone.NOTE) + self._changed(diff, duration)

    def _declare(self, prefix: Prefix) -> None:
        self._directives += (prefix,)
        self._printer = FactPrinter(self.prefixes)

    def _commit(self) -> list[Line]:
        if not self.pending:
            return [Line("No pending updates. Add some with `insert` or `remove`.", Tone.NOTE)]
        try:
            updates = [replace(update, ts=self._time) for update in self.pending]
            lines = self._run_epoch(lambda: self.reasoner.apply(updates))
        except EngineError as error:
            pending = f"{_updates(len(self.pending))} still pending; `rollback` discards them."
            raise CommandError(f"{error} Nothing has changed; {pending}") from None
        self.pending = []
        return lines

    def _add(self, command: AddRules) -> list[Line]:
        self._added += 1
        source = f"<added {self._added}>"
        scope = self.scope
        try:
            changed = self._run_epoch(lambda: self.reasoner.add_rules(command.text, source))
        except ProgramError as error:
            texts = self.reasoner.program.texts
            raise relocated(error, source, command.typed, scope, texts) from None
        warnings = self.reasoner.program.warnings
        return lines(rule_warnings(warnings, source, command.typed, scope), Tone.NOTE) + changed

    def _drop(self, number: int) -> list[Line]:
        rules = self._queries.source_rules
        if not 1 <= number <= len(rules):
            raise CommandError(f"There is no rule {number}; `rules` lists them.")
        return self._run_epoch(lambda: self.reasoner.remove_rules(print_rule(rules[number - 1])))

    def _run_epoch(self, action: Callable[[], Diff]) -> list[Line]:
        """Run an epoch, and return its changes as lines."""
        return self._changed(*self._timed(action))

    def _changed(self, diff: Diff, duration: str) -> list[Line]:
        lines, numbers = changes(diff.with_hidden() if self._hidden else diff, self._printer)
        return self._limited(lines, numbers + duration)

    def _limited(self, lines: list[Line], numbers: str, total: int | None = None) -> list[Line]:
        """The lines up to the limit, of which there may be more, followed by a line of totals."""
        total = len(lines) if total is None else total
        more = total - (total if self._limit is None else self._limit)
        if more > 0:
            lines = [*lines[: self._limit], Line(f"… and {more:,} more", Tone.NOTE)]
        return [*lines, Line(numbers, Tone.NOTE)]

    def _timed(self, action: Callable[[], _Result]) -> tuple[_Result, str]:
        """Call a function; with a clock, also return its duration as text."""
        if self._clock is None:
            return action(), ""
        started = self._clock()
        result = action()
        return result, f"; {(self._clock() - started) * _MILLISECONDS:,.1f} ms"


def _update(fact: Fact, multiplicity: int) -> Update:
    return Update(fact.predicate, tuple(map(from_ntriples, fact.arguments)), multiplicity)


def _updates(number: int) -> str:
    return counted(number, "update")


def _help(command: str | None) -> list[Line]:
    if command is not None:
        entry = CATALOGUE[command]
        others = [alias for alias, target in ALIASES.items() if target == command]
        also = f" Also: {', '.join(others)}." if others else ""
        return [Line(entry.usage), Line(f"  {entry.summary[0].upper()}{entry.summary[1:]}.{also}")]
    width = max(len(entry.usage) for entry in CATALOGUE.values())
    return [Line(f"{entry.usage:{width}}  {entry.summary}") for entry in CATALOGUE.values()]
