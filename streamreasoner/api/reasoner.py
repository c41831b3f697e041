"""The reasoner as a Python object.

Invariant: updates and results are rdflib terms, Python values or tables of texts. What has ids is
the session below it.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from streamreasoner.api.arrow_input import updates_of
from streamreasoner.api.files import updates_of_file
from streamreasoner.api.questions import Questions
from streamreasoner.api.results import Diff
from streamreasoner.api.updates import (
    Update,
    check_asserted,
    check_predicate,
    encoded,
    milliseconds,
)
from streamreasoner.backends.store import in_memory
from streamreasoner.engine.epoch import (
    DEFAULT_MAX_NEW_TERMS,
    DEFAULT_RECURSION_LIMIT,
    EpochResult,
)
from streamreasoner.engine.input.registers import frontier_of
from streamreasoner.engine.session import Session, Store
from streamreasoner.engine.turn import in_turn
from streamreasoner.io.files.documents import (
    Reading,
    declared_prefixes,
    named_format,
)
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.program.checked import CheckedProgram
from streamreasoner.program.edit import (
    with_query,
    with_rules,
    without_query,
    without_rules,
)
from streamreasoner.program.hierarchies import Hierarchies, encodes
from streamreasoner.program.load import load_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streamreasoner.api.updates import Time
    from streamreasoner.engine.updates import Updates
    from streamreasoner.query.sparql.limits import QueryLimits


class Reasoner(Questions):
    """Keeps every consequence of a rule program up to date under assertions and retractions.

    Any number of threads may call its methods. They take turns: each sees whole epochs, and the
    outcome is that of some order of the calls. A query takes its turn to read an epoch and to look
    up terms, and is evaluated next to other calls; results are decoded without a turn, and stay
    valid. Of the session, only the methods take turns: do not use its engine next to other threads.

    Attributes:
        session: The same on ids, for callers that have ids.
        turn: Held by a thread while it reads or changes the state.

    Args:
        program: A checked program; `Reasoner.from_rules` reads and checks one.
        recursion_limit: Iterations after which a stratum counts as not converging.
        max_new_terms: Most new terms that the rules of an epoch may make.
        allowed_lateness: How far the frontier stays behind the greatest event time.
        store: Storage of terms and facts; by default the memory of this process.
        cores: How many cores large epochs may use, from 1 to 64, each with a part of the facts.
        hierarchies: Whether facts that rules copy along a hierarchy, such as inherited types, are
            all "stored", or only where rules read them ("encoded"), or as it pays ("auto").
    """

    def __init__(
        self,
        program: CheckedProgram,
        *,
        recursion_limit: int = DEFAULT_RECURSION_LIMIT,
        max_new_terms: int = DEFAULT_MAX_NEW_TERMS,
        allowed_lateness: timedelta = timedelta(0),
        store: Store | None = None,
        cores: int = 1,
        hierarchies: Hierarchies = "auto",
    ) -> None:
        if not isinstance(program, CheckedProgram):
            raise TypeError(
                f"A Reasoner takes a checked program, not {type(program).__name__}. "
                "Use Reasoner.from_rules for a text, a file or a ruleset."
            )
        session = Session(
            program,
            in_memory(cores) if store is None else store,
            recursion_limit=recursion_limit,
            max_new_terms=max_new_terms,
            encodes=encodes(hierarchies),
        )
        self._begin(session, allowed_lateness)

    @classmethod
    def of_session(cls, session: Session, allowed_lateness: timedelta = timedelta(0)) -> Reasoner:
        """A reasoner of a session that is there, whose state it shares.

        Args:
            session: The session.
            allowed_lateness: How far the frontier stays behind the greatest event time.
        """
        reasoner = cls.__new__(cls)
        reasoner._begin(session, allowed_lateness)  # noqa: SLF001 - it is one of this class
        return reasoner

    def _begin(self, session: Session, allowed_lateness: timedelta) -> None:
        super().__init__(session)
        self._lateness = allowed_lateness // timedelta(milliseconds=1)

    @classmethod
    def from_rules(
        cls,
        rules: str | Path,
        *,
        media_type: str | None = None,
        graphs: Literal["default", "union", "each"] | None = None,
        recursion_limit: int = DEFAULT_RECURSION_LIMIT,
        max_new_terms: int = DEFAULT_MAX_NEW_TERMS,
        allowed_lateness: timedelta = timedelta(0),
        cores: int = 1,
        hierarchies: Hierarchies = "auto",
    ) -> Reasoner:
        """A reasoner for rules given as text, as the path of a file or as the name of a ruleset.

        Args:
            rules: The rules.
            media_type: Of which type a text is, such as `application/sparql-rl`; a str is always a
                text then. By default a path tells it, and a text is of the rule language.
            graphs: How the quads of named graphs count for rules about triples: not at all, as
                triples, or so that rules hold within each graph. By default as the rules say it.
            recursion_limit: As of the class.
            max_new_terms: As of the class.
            allowed_lateness: As of the class.
            cores: As of the class.
            hierarchies: As of the class.

        Raises:
            DataError: The number of cores is out of range, or hierarchies another word.
            ProgramError: The rules are invalid; the message lists every error with its position.
        """
        return cls(
            load_program(rules, graphs, media_type),
            recursion_limit=recursion_limit,
            max_new_terms=max_new_terms,
            allowed_lateness=allowed_lateness,
            cores=cores,
            hierarchies=hierarchies,
        )

    @classmethod
    def open(
        cls,
        directory: str | Path,
        rules: str | Path | None = None,
        *,
        graphs: Literal["default", "union", "each"] | None = None,
        recursion_limit: int = DEFAULT_RECURSION_LIMIT,
        max_new_terms: int = DEFAULT_MAX_NEW_TERMS,
        allowed_lateness: timedelta = timedelta(0),
        cores: int = 1,
        hierarchies: Hierarchies = "auto",
    ) -> Reasoner:
        """A reasoner whose state is in a directory, in the Delta tables that a pipeline has.

        Each epoch is durable once the method that applies it returns: after a crash, the state has
        all of it or nothing, and `epochs` tells which. Other processes may read the state meanwhile
        (`streamreasoner serve`, `state`, `diff`, `history`), and one at a time has it open. Close
        it, or use it in a `with` statement.

        Args:
            directory: The directory; created if absent.
            rules: The rules of a new state. For a state that is there, None or its present rules.
            graphs: As in `from_rules`.
            recursion_limit: As of the class.
            max_new_terms: As of the class.
            allowed_lateness: As of the class.
            cores: As of the class.
            hierarchies: As of the class, for what is in memory: the tables have all facts. May
                be another one than before.

        Raises:
            DataError: The number of cores is out of range, or hierarchies another word.
            ProgramError: The rules are invalid; the message lists every error with its position.
            EnvironmentSetupError: Another process has it open, or the directory cannot be written.
            StateError: The state is damaged, of another version, of a pipeline, or has other rules;
                or there is none, and no rules to begin one.
        """
        # Most reasoners are in memory, so they do not import how.
        from streamreasoner.api.durable.opening import open_session  # noqa: PLC0415

        session = open_session(
            Path(directory),
            None if rules is None else load_program(rules, graphs),
            recursion_limit=recursion_limit,
            max_new_terms=max_new_terms,
            cores=cores,
            hierarchies=hierarchies,
        )
        return cls.of_session(session, allowed_lateness)

    def close(self) -> None:
        """Release what the reasoner has open; one in memory has nothing open."""
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def epochs(self) -> int:
        """How many epochs have been applied, which is the number of the next one."""
        return self.session.next_epoch

    def apply(self, updates: Iterable[Update]) -> Diff:
        """Apply one epoch of updates, in any order.

        The greatest of their times, less the allowed lateness, moves the frontier, so that facts
        may expire.

        Raises:
            DataError: An update is not a valid fact of the program; the message has its index.
            EngineError: The epoch failed and was rolled back.
        """
        rows = list(updates)  # whatever makes them may wait for another thread
        with self.turn:
            return self._apply(list(encoded(rows, self.session)))

    @in_turn
    def apply_arrow(self, table: object, predicate: str = TRIPLE) -> Diff:
        """Apply one epoch of updates from a table, without a Python object for each term.

        Args:
            table: A `pyarrow.Table`, or whatever hands one over (polars, pandas, DuckDB). Its
                columns are those that `Facts.to_arrow` has: `s`, `p` and `o` of triples, and `g` of
                quads; else those of `@columns`, or the variables of its first rule. Or they are
                `a0`, `a1`, and so on, by position. Texts are terms in N-Triples syntax; numbers,
                booleans, dates and timestamps are literals. It may have the column `multiplicity`
                of integers, which are 1 otherwise, and `ts` of event times, as milliseconds since
                1970 or timestamps with a time zone.
            predicate: The predicate of its facts.

        Raises:
            DataError: A column is missing, unknown or of another type, or a row is not valid;
                the message has its number.
            EngineError: The epoch failed and was rolled back.
        """
        return self.apply_tables({predicate: table})

    @in_turn
    def apply_tables(self, tables: Mapping[str, object]) -> Diff:
        """Apply one epoch of updates from several tables.

        Args:
            tables: The table of each predicate; see `apply_arrow`.

        Raises:
            DataError: As of `apply_arrow`; nothing has changed.
            EngineError: The epoch failed and was rolled back.
        """
        updates = []
        for predicate, table in tables.items():
            check_predicate(predicate, None, self.program)
            check_asserted(predicate, self.program.constraints, "")
            dictionary = self.session.dictionary
            columns = self.program.columns(predicate)
            updates.append(updates_of(table, predicate, columns, dictionary))
        return self._apply(updates)

    @in_turn
    def advance(self, to: Time) -> Diff:
        """Move the frontier to a time, as one epoch without other input.

        Facts that expire until then leave, with their consequences. A frontier never falls: an
        earlier time changes nothing.

        Args:
            to: Milliseconds since 1970, or a datetime with a time zone.

        Raises:
            DataError: It is not a time.
            EngineError: The epoch failed and was rolled back.
        """
        return self._diff(self.session.apply((), frontier=milliseconds(to)))

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
        blocks = chain.from_iterable(
            updates_of_file(self.session, path, how, ts=ts) for path in paths
        )
        diff = self._diff(self.session.load(blocks))
        self._prefixes = {**declared_prefixes(paths), **self._prefixes}
        return diff

    @in_turn
    def add_rules(
        self, rules: str, source: str = "<added rules>", *, media_type: str | None = None
    ) -> Diff:
        """Add rules, facts and directives to the program, as one epoch without other input.

        Args:
            rules: Their text, with its own prefixes.
            source: Name of the text in diagnostics; what it ends in tells the language.
            media_type: As in `from_rules`.

        Raises:
            ProgramError: The rules are invalid, alone or with the program; nothing has changed.
            EngineError: The epoch failed and was rolled back, with the change of the program.
        """
        return self.change_program(with_rules(self.program, rules, source, media_type))

    @in_turn
    def remove_rules(
        self, rules: str, source: str = "<removed rules>", *, media_type: str | None = None
    ) -> Diff:
        """Remove rules and facts from the program, as one epoch without other input.

        Args:
            rules: Their text, with the same variable names as in the program.
            source: Name of the text in diagnostics; what it ends in tells the language.
            media_type: As in `from_rules`.

        Raises:
            ProgramError: The program has no such rule, or is invalid without it.
            EngineError: The epoch failed and was rolled back, with the change of the program.
        """
        return self.change_program(without_rules(self.program, rules, source, media_type))

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
        return self.change_program(with_query(self.program, name, text, f"<query {name}>"))

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
        return self.change_program(without_query(self.program, name, text, source))

    @in_turn
    def change_program(self, program: CheckedProgram) -> Diff:
        """Switch to another program, as one epoch without other input.

        Raises:
            EngineError: The epoch failed and was rolled back, with the change of the program.
        """
        before = self.program
        return self._diff(self.session.apply((), program), before)

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

        time = None if ts is None else milliseconds(ts)
        before = AssertedFacts(
            self.session, self._epoch_facts(), self._lateness, time, inferred=inferred
        )
        return self._apply(before.perform(text, base, limits))

    def _apply(self, updates: Sequence[Updates]) -> Diff:
        return self._diff(
            self.session.apply(updates, frontier=frontier_of(updates, self._lateness))
        )

    def _diff(self, result: EpochResult, before: CheckedProgram | None = None) -> Diff:
        return Diff.of(self.session, result, before)
