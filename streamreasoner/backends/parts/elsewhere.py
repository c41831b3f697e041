"""The parts of a state in other processes, which take the steps that this one tells them.

Invariant: an answer is read from each part before anything else is asked, whatever one of them met.
A lost process loses the parts: the state is restored in new ones, and the epoch is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from multiprocessing import AuthenticationError
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, cast

from streamreasoner.backends.columnar.backend import needs_values
from streamreasoner.backends.parts import wire
from streamreasoner.backends.parts.part import owned_rows
from streamreasoner.backends.parts.worker import DONE, FAILED, TERM
from streamreasoner.engine.ports import EpochChanges
from streamreasoner.engine.updates import Updates, check_arity
from streamreasoner.errors import EngineError, PartsLostError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection, Listener

    from streamreasoner.backends.parts.port import Owners
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.plan.program_change import ProgramChange
    from streamreasoner.plan.program_plan import Lattice, ProgramPlan, Reduction
    from streamreasoner.rdf.dictionary import Dictionary, Terms

LOST = (
    "A process that holds a part of the state has ended, or cannot be reached. Nothing is lost: "
    "the state is restored from its tables, and the epoch is repeated."
)
"""What a PartsLostError says."""


class Team:
    """The processes that hold parts, in the order of their numbers.

    Args:
        connections: One to each of them.
        dictionary: Gives ids to terms.
    """

    def __init__(self, connections: Sequence[Connection], dictionary: Dictionary) -> None:
        self._connections = tuple(connections)
        self._dictionary = dictionary
        self._known: int | None = None

    def __len__(self) -> int:
        return len(self._connections)

    def follow(self) -> None:
        """Tell the parts all terms from now on."""
        if self._known is None:
            self._known = 0

    def news(self) -> Terms | None:
        """The terms that the parts lack; None if there are none, or if they need none."""
        known, count = self._known, len(self._dictionary)
        if known is None or known == count:
            return None
        self._known = count
        return self._dictionary.terms(known, count)

    def call(self, step: str, *arguments: object) -> list[Any]:
        """Let all parts take a step; returns their answers.

        Raises:
            PartsLostError: A process is gone.
            EngineError: A part failed; the others have taken the step.
        """
        return self.call_each(step, repeat(arguments, len(self)))

    def call_each(self, step: str, arguments: Iterable[tuple[object, ...] | None]) -> list[Any]:
        """The same with arguments for each part; one with None takes no step, and answers None."""
        answers: list[Any] = [None] * len(self)
        waiting: dict[Connection, int] = {}
        failure: Exception | None = None
        try:
            for number, own in enumerate(arguments):
                if own is not None:
                    self._connections[number].send((step, own))
                    waiting[self._connections[number]] = number
            while waiting:
                for connection in cast("list[Connection]", wait([*waiting])):
                    kind, content = connection.recv()
                    if kind == TERM:
                        connection.send(self._answer(*content))
                        continue
                    number = waiting.pop(connection)
                    if kind == FAILED:
                        failure = wire.again(content)
                    answers[number] = content
        except wire.LOST as error:
            raise PartsLostError(LOST) from error
        if failure is not None:
            raise failure
        return answers

    def _answer(self, term: str, known: int | None) -> tuple[int, object]:
        """The id of a term, and the terms from a number on; or why it has none."""
        try:
            identifier = self._dictionary.intern(term)
        except EngineError as error:
            return FAILED, wire.described(error)
        news = None if known is None else self._dictionary.terms(known, len(self._dictionary))
        return DONE, (identifier, news)

    @classmethod
    def gathered(cls, listener: Listener, count: int, dictionary: Dictionary) -> Team:
        """Wait until as many processes as there are parts have joined.

        Args:
            listener: Where they connect.
            count: How many there are.
            dictionary: Gives ids to terms.

        Raises:
            StreamReasonerError: Sent in place of what a process sends: it ends the wait.
        """
        latest = 0
        joined: dict[int, tuple[Connection, wire.Address]] = {}
        while len(joined) < count:
            try:
                connection = wire.accept(listener)
                hello = connection.recv()
            except (*wire.LOST, AuthenticationError):
                continue
            if isinstance(hello, Exception):
                raise hello
            attempt, number, address = hello
            if attempt > latest:
                latest, joined = attempt, {}
            if attempt == latest:
                joined[number] = connection, address
        members = [joined[number] for number in range(count)]
        addresses = [address for _, address in members]
        try:
            for connection, _ in members:
                connection.send(addresses)
        except wire.LOST as error:
            raise PartsLostError(LOST) from error
        return cls([connection for connection, _ in members], dictionary)

    def close(self) -> None:
        """Let the processes end."""
        for connection in self._connections:
            wire.close(connection)


@dataclass(frozen=True, slots=True)
class _Collection:
    """Blocks of what an epoch has changed, which are fetched when they are read."""

    team: Team
    name: str

    def __iter__(self) -> Iterator[Any]:
        for blocks in self.team.call("changed", self.name):
            yield from blocks


class PartsElsewhere:
    """Parts in the processes of a team.

    Args:
        team: The team.
        plan: The plan of a part.
        owners: The owning argument of each predicate.
    """

    def __init__(self, team: Team, plan: ProgramPlan, owners: Owners) -> None:
        self.count = len(team)
        self._team = team
        self._program = self._former = owners, plan.arities
        self._compile("begin", plan, plan, owners)

    def _compile(self, step: str, plan: ProgramPlan, *arguments: object) -> None:
        """Take a step that compiles a plan."""
        if needs_values(plan):
            self._team.follow()
        first, *others = self._team.call(step, *arguments, self._team.news())
        if any(other != first for other in others):
            raise EngineError(
                "The processes that hold parts have compiled the program differently. Use the same "
                "version of streamreasoner and of Python everywhere."
            )

    def ask(self, question: Callable[[Any], Any]) -> list[Any]:
        """What each part answers."""
        return self._team.call("ask", question)

    def ask_each(self, questions: Sequence[Callable[[Any], Any] | None]) -> list[Any]:
        """What each part answers to its own question."""
        return self._team.call_each(
            "ask", (None if each is None else (each,) for each in questions)
        )

    def add(self, updates: Updates) -> None:
        """Add asserted multiplicities, those of each fact in the part that owns it."""
        predicate, args = updates.predicate, updates.args
        owners, arities = self._program
        check_arity(predicate, args, arities)
        owned = owned_rows(owners[predicate], args, self.count)
        self._team.call_each(
            "add",
            (
                None
                if rows is None
                else (Updates(predicate, args[rows], updates.multiplicity[rows]),)
                for rows in owned
            ),
        )

    def adopt(self, change: ProgramChange, owners: Owners) -> None:
        """Keep the state as another plan of a part needs it, until a rollback."""
        self._program = owners, change.after.arities
        self._compile("adopt", change.after, change, owners)

    def leave(self) -> None:
        """Send facts to the parts that own them now, and empty all copies."""
        self._team.call("leave")

    def evaluate(self) -> None:
        """Evaluate the rules of the change, and send heads to their owners."""
        self._team.call("evaluate")

    def retract(self, reduction: Reduction) -> None:
        """Subtract the results of a reduction, and send them to their owners."""
        self._team.call("retract", reduction)

    def resettle(self, lattices: Sequence[Lattice]) -> None:
        """Touch what the change has changed."""
        self._team.call("resettle", lattices, self._team.news())

    def recompute(self) -> bool:
        """Begin the epoch anew; whether each part had room for a second state."""
        has_room = all(self._team.call("second_state"))
        self._team.call("begin_anew" if has_room else "begin_again")
        return has_room

    def enter(self, stratum: int) -> None:
        """Start a stratum."""
        self._team.call("enter", stratum, self._team.news())

    def reduce(self, reduction: Reduction) -> None:
        """Replace results of a reduction, and send them to their owners."""
        self._team.call("reduce", reduction)

    def next_touched(self, after: int) -> int:
        """The first iteration after *after* that some part has to settle, or -1."""
        found = self._team.call("next_touched", after, self._team.news())
        return min((each for each in found if each >= 0), default=-1)

    def settle(self, iteration: int) -> int:
        """Settle an iteration, and then copies; returns the number of deltas."""
        return sum(self._team.call("settle", iteration))

    def derive(self, iteration: int) -> None:
        """Apply the deltas, and send heads to their owners."""
        self._team.call("derive", iteration)

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far; it is fetched when it is read."""
        changed = {name for names in self._team.call("read_changes") for name in names}
        return EpochChanges(**{name: _Collection(self._team, name) for name in changed})

    def commit(self) -> None:
        """Make the epoch's changes final."""
        self._team.call("commit")
        self._former = self._program

    def rollback(self) -> None:
        """Undo the epoch completely."""
        self._program = self._former
        self._team.call("rollback")

    def load(self, rows: Sequence[TraceRows | None]) -> None:
        """Load a block of a trace: the rows that each part owns."""
        self._team.call_each("load", (None if each is None else (each,) for each in rows))

    def finish_restore(self) -> None:
        """Settle what was loaded or sent, and copy it; a commit keeps it."""
        self._team.call("finish_restore", self._team.news())
