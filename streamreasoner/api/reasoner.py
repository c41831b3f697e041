"""The reasoner as a Python object.

Invariant: updates and results are rdflib terms, Python values or tables of texts, except in `take`,
`read`, `adopt` and `rehearse`, which work on ids.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain, groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from streamreasoner.api import shown
from streamreasoner.api.arrow_input import updates_of
from streamreasoner.api.nodes import to_ntriples
from streamreasoner.api.results import Diff, Facts, Size, Trace, violations
from streamreasoner.api.turn import TermsOfEpoch, Turn, in_turn
from streamreasoner.api.updates import (
    Update,
    Violation,
    check_asserted,
    check_predicate,
    checked,
    milliseconds,
)
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.counts import counted
from streamreasoner.engine.epoch import (
    DEFAULT_MAX_NEW_TERMS,
    DEFAULT_RECURSION_LIMIT,
    Engine,
    EpochResult,
)
from streamreasoner.engine.input.registers import NO_FRONTIER, Registers
from streamreasoner.engine.updates import Changes, Updates
from streamreasoner.errors import EngineError, ProgramError
from streamreasoner.io.files.documents import (
    AS_NAMED,
    Reading,
    declared_prefixes,
    load,
    named_format,
)
from streamreasoner.lang.ast import ARITIES, QUAD, TRIPLE, Constant
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.program_plan import NO_SOURCES
from streamreasoner.program.checked import CheckedProgram
from streamreasoner.program.edit import (
    OTHER_EXPIRIES,
    other_arity,
    other_role,
    with_query,
    with_rules,
    without_query,
    without_rules,
)
from streamreasoner.program.load import load_program
from streamreasoner.program.text import common_prefixes
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.texts import column
from streamreasoner.system.ahead import one_ahead
from streamreasoner.values.value_columns import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from rdflib import Graph

    from streamreasoner.api.asking.answers import Answer
    from streamreasoner.api.nodes import PythonTerm
    from streamreasoner.api.updates import Time
    from streamreasoner.api.validation.report import ValidationReport
    from streamreasoner.engine.ports import Backend
    from streamreasoner.explain import Explanation, Limits
    from streamreasoner.lang.ast import Atom
    from streamreasoner.plan.program_plan import InputSources, ProgramPlan, Stated
    from streamreasoner.query.sparql.facts import FactsOfEpoch
    from streamreasoner.query.sparql.limits import QueryLimits
    from streamreasoner.rdf.dictionary import TermDictionary

NO_PREDICATES: Mapping[str, int] = MappingProxyType({})
NO_PREFIXES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Store:
    """Storage of the terms and facts of a reasoner.

    Attributes:
        dictionary: Terms and their ids, including those of an earlier run.
        backend: Creates the backend for a program.
    """

    dictionary: TermDictionary
    backend: Callable[[ProgramPlan], Backend]


def columnar(
    dictionary: Dictionary | None = None, kind: type[ColumnarBackend] = ColumnarBackend
) -> Store:
    """A store in the memory of this process."""
    terms = Dictionary() if dictionary is None else dictionary
    return Store(terms, lambda plan: kind(plan, terms, Values(terms)))


class Reasoner:
    """Keeps every consequence of a rule program up to date under assertions and retractions.

    Any number of threads may call its methods. They take turns: each sees whole epochs, and the
    outcome is that of some order of the calls. A query takes its turn to read an epoch and to look
    up terms, and is evaluated next to other calls; results are decoded without a turn, and stay
    valid whatever comes after them. `dictionary` and `engine` take no turns: use them while no
    other thread uses the reasoner.

    Attributes:
        program: The checked program.
        dictionary: Terms and their ids.
        engine: The engine, for callers that work with ids.

    Args:
        program: A checked program; `Reasoner.from_rules` reads and checks one.
        recursion_limit: Iterations after which a stratum counts as not converging.
        max_new_terms: Most new terms that the rules of an epoch may make.
        store: Storage of terms and facts; by default the memory of this process.
        known: Arities of predicates of earlier programs, whose facts the state may hold.
        allowed_lateness: How far the frontier stays behind the greatest event time.
        sources: The sources of encoded updates that the state keeps apart.
        known_constraints: Those of them that were constraints.
    """

    def __init__(
        self,
        program: CheckedProgram,
        *,
        recursion_limit: int = DEFAULT_RECURSION_LIMIT,
        max_new_terms: int = DEFAULT_MAX_NEW_TERMS,
        store: Store | None = None,
        known: Mapping[str, int] = NO_PREDICATES,
        allowed_lateness: timedelta = timedelta(0),
        sources: InputSources = NO_SOURCES,
        known_constraints: frozenset[str] = frozenset(),
    ) -> None:
        if not isinstance(program, CheckedProgram):
            raise TypeError(
                f"A Reasoner takes a checked program, not {type(program).__name__}. "
                "Use Reasoner.from_rules for a text, a file or a ruleset."
            )
        self._turn = Turn()
        self._sources = sources
        plan = lower(program).with_sources(sources, known)
        plan = replace(plan, arities={**known, **plan.arities})
        self.program = program
        store = columnar() if store is None else store
        self.dictionary = store.dictionary
        self._known = plan.arities
        self._constraints = known_constraints.union(program.constraints)
        self._stated = plan.stated
        self._counts_all = _counts_all(plan)
        facts = (
            *(self._rows(fact.predicate, [_terms(fact)]) for fact in program.facts),
            *(self._stated_rows(each, 1) for each in plan.stated),
        )
        registers = Registers(plan.expiries, self.dictionary.intern)
        self.engine = Engine(
            store.backend(plan),
            plan,
            recursion_limit,
            facts,
            registers,
            dictionary=self.dictionary,
            max_new_terms=max_new_terms,
        )
        self._lateness = allowed_lateness // timedelta(milliseconds=1)
        self._epoch = 0
        self._asked: FactsOfEpoch | None = None
        self._prefixes: dict[str, str] = {}

    @classmethod
    def from_rules(
        cls,
        rules: str | Path,
        *,
        graphs: Literal["default", "union", "each"] | None = None,
        recursion_limit: int = DEFAULT_RECURSION_LIMIT,
        max_new_terms: int = DEFAULT_MAX_NEW_TERMS,
        allowed_lateness: timedelta = timedelta(0),
    ) -> Reasoner:
        """A reasoner for rules given as text, as the path of a file or as the name of a ruleset.

        Args:
            rules: The rules.
            graphs: How the quads of named graphs count for rules about triples: not at all, as
                triples, or so that rules hold within each graph. By default as the rules say it.
            recursion_limit: Iterations after which a stratum counts as not converging.
            max_new_terms: Most new terms that the rules of an epoch may make.
            allowed_lateness: How far the frontier stays behind the greatest event time.

        Raises:
            ProgramError: The rules are invalid; the message lists every error with its position.
        """
        return cls(
            load_program(rules, graphs),
            recursion_limit=recursion_limit,
            max_new_terms=max_new_terms,
            allowed_lateness=allowed_lateness,
        )

    def apply(self, updates: Iterable[Update]) -> Diff:
        """Apply one epoch of updates, in any order.

        The greatest of their times, less the allowed lateness, moves the frontier, so that facts
        may expire.

        Raises:
            DataError: An update is not a valid fact of the program; the message has its index.
            EngineError: The epoch failed and was rolled back.
        """
        rows = list(updates)  # whatever makes them may wait for another thread
        with self._turn:
            return self._apply(list(self._encode(rows)))

    @in_turn
    def apply_arrow(self, table: object, predicate: str = TRIPLE) -> Diff:
        """Apply one epoch of updates from a table, without a Python object for each term.

        Args:
            table: A `pyarrow.Table`, or whatever hands one over (polars, pandas, DuckDB). Terms are
                texts in N-Triples syntax in the columns that `Facts.to_arrow` has: `s`, `p` and `o`
                of triples, and `g` of quads; else `a0`, `a1`, and so on. It may have the column
                `multiplicity` of integers, which are 1 otherwise, and `ts` of event times, as
                milliseconds since 1970 or timestamps with a time zone.
            predicate: The predicate of its facts.

        Raises:
            DataError: A column is missing, unknown or of another type, or a row is no valid fact;
                the message has its number.
            EngineError: The epoch failed and was rolled back.
        """
        check_predicate(predicate, None, self.program)
        check_asserted(predicate, self.program.constraints, "")
        arity = self.program.arities[predicate]
        return self._apply([updates_of(table, predicate, arity, self.dictionary)])

    @in_turn
    def advance(self, to: Time) -> Diff:
        """Move the frontier to a time, as one epoch without other input.

        Facts that expire until then leave, with their consequences. A frontier never falls: an
        earlier time changes nothing.

        Args:
            to: Milliseconds since 1970, or a datetime with a time zone.

        Raises:
            DataError: It is no time.
            EngineError: The epoch failed and was rolled back.
        """
        return self._diff(self.take((), milliseconds(to)))

    @in_turn
    def take(
        self,
        updates: Iterable[Updates],
        frontier: int = NO_FRONTIER,
        *,
        report: bool = True,
    ) -> EpochResult:
        """Apply one epoch of encoded updates, for callers that work with ids.

        Args:
            updates: The input; updates of facts that expire have times.
            frontier: The frontier from this epoch on, unless it is beyond it already.
            report: Whether to read the changes; without, the result has none of them.

        Raises:
            DataError: A predicate is unknown or has another arity.
            EngineError: The epoch failed and was rolled back.
        """
        result = self.engine.apply(self._epoch, updates, frontier=frontier, report=report)
        self._asked = None
        self._epoch += 1
        return result

    def load(
        self,
        *paths: str | Path,
        header: bool = False,
        ts: Time | None = None,
        base: str | None = None,
        format: str | None = None,  # noqa: A002 - what it is called everywhere
    ) -> Diff:
        """Take the facts of files, as one epoch; see `io.formats.registry` for the formats.

        Of folders and ZIP archives, all files of known formats are read, and others skipped. The
        prefixes that files declare shorten explanations, from then on.

        Args:
            paths: The files.
            header: Whether CSV files begin with a header line.
            ts: The event time of all facts, which those that expire need.
            base: The IRI that relative ones are resolved against; default: the address of each
                file.
            format: The format of all files, such as `turtle`; default: that of their names.

        Raises:
            DataError: A file cannot be read, or its facts do not fit the program.
        """
        how = Reading(named_format(format), header, base)
        blocks = (block for path in paths for block in self.read(path, how, ts=ts))
        with self.ahead(blocks) as updates:
            diff = self._diff(self.take(updates))
        self._prefixes = {**declared_prefixes(paths), **self._prefixes}
        return diff

    @contextmanager
    def ahead(self, blocks: Iterable[Updates]) -> Iterator[Iterator[Updates]]:
        """Read blocks that an epoch takes in another thread, while the one before is added.

        The block of the statement is one turn, and has no other use for the dictionary.
        """
        # Ids of a distributed dictionary come from Spark, which has threads of its own.
        is_local = self.dictionary.local is self.dictionary
        with self._turn:
            lent = self._turn.lend(blocks)
            with one_ahead(lent) if is_local else nullcontext(lent) as updates:
                yield updates

    def read(
        self, path: str | Path, how: Reading = AS_NAMED, *, ts: Time | None = None
    ) -> Iterator[Updates]:
        """The updates of a path, encoded, block by block; a patch adds and deletes its facts.

        All other formats are sets: they assert each of their facts once, however often it is
        written. What two files have is asserted twice.

        Args:
            path: A file, a folder, an archive, or `-` for standard input.
            how: How to read it.
            ts: The event time of all facts, which those that expire need.

        Raises:
            DataError: The file cannot be read, or its facts do not fit the program.
        """
        return self._turn.each(self._read(path, how, ts))

    def _read(self, path: str | Path, how: Reading, ts: Time | None) -> Iterator[Updates]:
        time = None if ts is None else milliseconds(ts)
        for facts in load(path, self.dictionary.local, how):
            check_predicate(facts.predicate, facts.args.shape[1], self.program, f"{path}: ")
            check_asserted(facts.predicate, self.program.constraints, f"{path}: ")
            times = None if time is None else np.full(len(facts.args), time, np.int64)
            ids = self.dictionary.resolve(facts.args)
            yield Updates(facts.predicate, ids, facts.diff, times)

    @in_turn
    def add_rules(self, rules: str, source: str = "<added rules>") -> Diff:
        """Add rules, facts and directives to the program, as one epoch without other input.

        Args:
            rules: Their text, with its own prefixes.
            source: Name of the text in diagnostics.

        Raises:
            ProgramError: The rules are invalid, alone or with the program; nothing has changed.
            EngineError: The epoch failed and was rolled back, with the change of the program.
        """
        return self.change_program(with_rules(self.program, _text(rules), source))

    @in_turn
    def remove_rules(self, rules: str, source: str = "<removed rules>") -> Diff:
        """Remove rules and facts from the program, as one epoch without other input.

        Args:
            rules: Their text, with the same variable names as in the program.
            source: Name of the text in diagnostics.

        Raises:
            ProgramError: The program has no such rule, or is invalid without it.
            EngineError: The epoch failed and was rolled back, with the change of the program.
        """
        return self.change_program(without_rules(self.program, _text(rules), source))

    @in_turn
    def add_query(self, name: str, text: str) -> Diff:
        """Keep the answers of a query in SPARQL up to date, from one epoch without other input on.

        The answers of SELECT are facts of the predicate *name*, with the variables as arguments;
        those of CONSTRUCT are triples.

        Args:
            name: The predicate, which the program does not have.
            text: The query.

        Raises:
            ProgramError: The query is invalid or not supported; nothing has changed.
            EngineError: The epoch failed and was rolled back, with the change of the program.
        """
        return self.change_program(with_query(self.program, name, _text(text), f"<query {name}>"))

    @in_turn
    def remove_query(self, name: str, text: str) -> Diff:
        """Remove a query that was added, as one epoch without other input.

        Args:
            name: Its predicate.
            text: The query.

        Raises:
            ProgramError: The query is invalid, or the program does not have it.
            EngineError: The epoch failed and was rolled back, with the change of the program.
        """
        source = f"<query {name}>"
        return self.change_program(without_query(self.program, name, _text(text), source))

    @in_turn
    def change_program(self, program: CheckedProgram) -> Diff:
        """Switch to another program, as one epoch without other input.

        Raises:
            EngineError: The epoch failed and was rolled back, with the change of the program.
        """
        before = self.program
        result = self.adopt(program, self._epoch)
        self._epoch += 1
        return self._diff(result, before)

    @in_turn
    def adopt(
        self,
        program: CheckedProgram,
        epoch: int,
        updates: Iterable[Updates] = (),
        frontier: int = NO_FRONTIER,
    ) -> EpochResult:
        """Switch to another program and apply one epoch of encoded input.

        Args:
            program: The program from this epoch on.
            epoch: Logical time of the input.
            updates: The input.
            frontier: That of the epoch.

        Raises:
            EngineError: The epoch failed, or the state has a predicate of the program with another
                arity or role; program and state are unchanged.
        """
        plan, facts = self._change_to(program)
        result = self.engine.apply(epoch, chain(facts, updates), plan, frontier)
        self._asked = None
        self.program, self._stated = program, plan.stated
        self._counts_all = _counts_all(plan)
        self._known = {**self._known, **plan.arities}
        self._constraints = self._constraints.union(program.constraints)
        return result

    @in_turn
    def rehearse(
        self,
        updates: Iterable[Updates],
        program: CheckedProgram | None = None,
        frontier: int = NO_FRONTIER,
        *,
        read: Callable[[], object] = lambda: None,
    ) -> None:
        """Evaluate an epoch of encoded input and roll it back, to find out what it does.

        Only new terms remain in the dictionary.

        Args:
            updates: The input.
            program: The program of the epoch, if it changes.
            frontier: That of the epoch.
            read: Called at the end of the epoch, to read its state.

        Raises:
            EngineError: The epoch fails.
        """
        if program is None:
            self.engine.rehearse(updates, frontier=frontier, read=read)
        else:
            plan, facts = self._change_to(program)
            self.engine.rehearse(chain(facts, updates), plan, frontier, read=read)

    @in_turn
    def facts(self, predicate: str = TRIPLE) -> Facts:
        """The present facts of a predicate, asserted and derived, each once, in any order.

        In a set, facts with the terms 1, 1.0 and true would be one: Python's values are equal.
        """
        check_predicate(predicate, None, self.program)
        return Facts(predicate, self._evaluated.facts(predicate), self.dictionary)

    @in_turn
    def size(self, *, hidden: bool = False) -> Size:
        """The number of present facts, and of those among them that are asserted.

        Args:
            hidden: Whether to count those of hidden predicates too.
        """
        names = self.program.arities if hidden else self.program.visible
        if self._counts_all and len(names) == len(self.program.arities):
            statistics = self._evaluated.statistics()
            return Size(statistics.present, statistics.asserted)
        present = asserted = 0
        for name in names:
            args = self._evaluated.facts(name)
            present += len(args)
            asserted += int((self.engine.asserted(name, args) > 0).sum())
        return Size(present, asserted)

    @in_turn
    def violations(self) -> list[Violation]:
        """The present violations of all constraints, in any order."""
        return [
            violation
            for name, constraint in self.program.constraints.items()
            for violation in violations(constraint, self._present(name), self.dictionary)
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

        return validation_report(self.program, self._evaluated.facts, self.dictionary)

    @in_turn
    def trace(self, predicate: str = TRIPLE) -> Trace:
        """Every (arguments, iteration, multiplicity) of a predicate, in any order."""
        check_predicate(predicate, None, self.program)
        return Trace(self._evaluated.trace(predicate), self.dictionary)

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
            self._evaluated,
            self.dictionary,
            target,
            limits or Limits(),
            hidden=hidden,
        )
        return found.with_prefixes(names)

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
        from streamreasoner.api.asking.answers import Answer  # noqa: PLC0415 - most processes ask nothing
        from streamreasoner.query.sparql.answers import Truth  # noqa: PLC0415
        from streamreasoner.query.sparql.evaluate import evaluate  # noqa: PLC0415
        from streamreasoner.query.sparql.limits import QueryLimits  # noqa: PLC0415

        with self._turn:
            facts, prefixes = self.facts_of_epoch(), common_prefixes(self.program.programs)
        answer = evaluate(text, facts, limits or QueryLimits(), base=base)
        return answer.holds if isinstance(answer, Truth) else Answer(answer, prefixes)

    @in_turn
    def update(
        self,
        text: str,
        *,
        base: str = "",
        inferred: bool = True,
        ts: Time | None = None,
        limits: QueryLimits | None = None,
    ) -> Diff:
        """Perform a request of SPARQL 1.1 Update on the asserted triples and quads, as one epoch.

        Each operation sees what those before it have done. A triple that is inserted is asserted
        once, and one that is deleted is not asserted any more. To delete what is not asserted but
        derived is refused, if it would stay.

        Args:
            text: The request.
            base: An absolute IRI that relative ones are resolved against, before any BASE.
            inferred: Whether WHERE reads derived facts, too.
            ts: The event time of what changes, which facts that expire need.
            limits: What each WHERE may use; by default as much as there is.

        Raises:
            ProgramError: It is not SPARQL 1.1 Update; the message says where.
            QueryError: An operation fails, or exceeds a limit; nothing has changed.
            DataError: It inserts what the program does not have, or a document cannot be read.
            EngineError: The epoch failed and was rolled back.
        """
        from streamreasoner.api.asking.updating import AssertedFacts  # noqa: PLC0415 - few do this
        from streamreasoner.query.sparql.limits import QueryLimits  # noqa: PLC0415
        from streamreasoner.query.sparql.updating.perform import perform  # noqa: PLC0415
        from streamreasoner.sparql.parse import parse_update  # noqa: PLC0415

        request = parse_update(text, "<update>", base)
        time = None if ts is None else milliseconds(ts)
        before = AssertedFacts(self, self._evaluated, time, inferred=inferred)
        edits = perform(request, before, limits or QueryLimits())
        updates = before.updates(edits)
        before.check_deletions(edits, updates)
        return self._apply(updates)

    @in_turn
    def facts_of_epoch(self) -> FactsOfEpoch:
        """The present triples and quads as queries read them, copied once an epoch."""
        if self._asked is None:
            self._asked = self._copied(self._rows_of(TRIPLE))
        return self._asked.apart()

    @in_turn
    def graph(self) -> Graph:
        """The present triples as an rdflib graph, which stays as it is and cannot be changed.

        Its `query` is that of the reasoner.
        """
        from rdflib import Graph  # noqa: PLC0415 - most processes ask nothing

        from streamreasoner.api.asking.graph import EpochStore  # noqa: PLC0415
        from streamreasoner.query.sorted_triples import SortedTriples  # noqa: PLC0415

        triples = self._rows_of(TRIPLE)
        if self._asked is None:
            self._asked = self._copied(triples)
        return Graph(store=EpochStore(self._asked, SortedTriples(triples)))

    @in_turn
    def _repr_html_(self) -> str:
        size = self.size()
        return shown.html_paragraph(
            f"Reasoner with {counted(len(self.program.rules), 'rule')}, after "
            f"{counted(self._epoch, 'epoch')}: "
            f"{counted(size.present, 'fact')}, {size.derived:,} of them inferred."
        )

    def _copied(self, triples: NDArray[np.int32]) -> FactsOfEpoch:
        """The present triples, which are given, and quads, for queries."""
        from streamreasoner.query.sparql.facts import facts_of_arrays  # noqa: PLC0415 - the same

        terms = TermsOfEpoch(self.dictionary, len(self.dictionary), self._turn)
        return facts_of_arrays(terms, triples, self._rows_of(QUAD))

    def _rows_of(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of triples or quads, which the program may not have."""
        if predicate in self.program.arities:
            return self._evaluated.facts(predicate)
        return np.empty((0, ARITIES[predicate]), np.int32)

    def _change_to(self, program: CheckedProgram) -> tuple[ProgramPlan, list[Updates]]:
        """The plan of another program, and the updates of stated facts."""
        if {*program.expiries} != {*self.program.expiries}:
            raise EngineError(OTHER_EXPIRIES)
        plan = lower(program).with_sources(self._sources, self._known)
        for predicate, arity in plan.arities.items():
            if self._known.get(predicate, arity) != arity:
                raise EngineError(other_arity(predicate, arity, self._known[predicate]))
            is_constraint = predicate in program.constraints
            if predicate in self._known and is_constraint != (predicate in self._constraints):
                raise EngineError(other_role(predicate, is_constraint=is_constraint))
        before, after = Counter(self.program.facts), Counter(program.facts)
        facts = [
            self._rows(fact.predicate, [_terms(fact)], [sign * count])
            for difference, sign in ((after - before, 1), (before - after, -1))
            for fact, count in difference.items()
        ]
        old, new = dict.fromkeys(self._stated), dict.fromkeys(plan.stated)
        facts += (self._stated_rows(each, 1) for each in new if each not in old)
        facts += (self._stated_rows(each, -1) for each in old if each not in new)
        return plan, facts

    @property
    def _evaluated(self) -> Engine:
        """The engine, in which the facts of the program hold even before the first epoch."""
        if self.engine.awaits_facts:
            self.take((), report=False)
        return self.engine

    def frontier_of(self, updates: Sequence[Updates]) -> int:
        """The frontier that updates move time to."""
        times = [
            int(each.times.max())
            for each in updates
            if each.times is not None and len(each.times) > 0
        ]
        return max(times) - self._lateness if times else NO_FRONTIER

    def _apply(self, updates: Sequence[Updates]) -> Diff:
        return self._diff(self.take(updates, self.frontier_of(updates)))

    def _diff(self, result: EpochResult, before: CheckedProgram | None = None) -> Diff:
        programs = [self.program] if before is None else [before, self.program]
        return Diff(
            result.epoch,
            result.iterations,
            None if result.frontier == NO_FRONTIER else result.frontier,
            self._known,
            frozenset(name for program in programs for name in program.visible),
            tuple(result.closure),
            tuple(result.derived),
            {name: each for program in programs for name, each in program.constraints.items()},
            self.dictionary,
        )

    def _present(self, predicate: str) -> Changes:
        args = self._evaluated.facts(predicate)
        return Changes(predicate, args, np.ones(len(args), np.int8))

    def _encode(self, updates: Iterable[Update]) -> Iterator[Updates]:
        # Encode runs of one predicate, so that terms get ids in the order of the input.
        rows_of = (
            checked(update, self.program, f"updates[{position}]: ")
            for position, update in enumerate(updates)
        )
        for (predicate, is_timed), run in groupby(
            rows_of, key=lambda row: (row[0], row[3] is not None)
        ):
            rows = list(run)
            encoded = self._rows(predicate, [row[1] for row in rows], [row[2] for row in rows])
            times = np.array([row[3] for row in rows], np.int64) if is_timed else None
            yield replace(encoded, times=times)

    def _stated_rows(self, fact: Stated, sign: int) -> Updates:
        rows = self._rows(fact.predicate, [[*fact.terms]], [sign])
        return replace(rows, iteration=fact.iteration)

    def _rows(
        self,
        predicate: str,
        facts: Sequence[list[str]],
        multiplicities: Sequence[int] | None = None,
    ) -> Updates:
        """Encode facts of canonical terms; each is asserted once by default."""
        terms = [*chain.from_iterable(facts)]
        return Updates(
            predicate,
            self.dictionary.encode(column(terms)).reshape(len(facts), len(facts[0])),
            np.array(multiplicities or [1] * len(facts), dtype=np.int64),
        )


def _counts_all(plan: ProgramPlan) -> bool:
    """Whether the backend's counts are of the facts of the program alone, all asserted present."""
    return not plan.hidden and not plan.lattices


def _text(rules: str) -> str:
    if not isinstance(rules, str):
        raise ProgramError(f"Rules to add or remove must be a str, got {type(rules).__name__}.")
    return rules


def _terms(fact: Atom) -> list[str]:
    """The arguments of a fact of the program."""
    return [argument.term for argument in fact.arguments if isinstance(argument, Constant)]
