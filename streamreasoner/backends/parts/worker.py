"""A process that holds a part, and takes the steps that the driver tells it.

Invariant: whatever a step meets, this part exchanges parcels with all others before it answers, so
that none waits for it in vain.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from streamreasoner.backends.columnar.backend import needs_values
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.settling import exchange, parcels
from streamreasoner.backends.parts import wire
from streamreasoner.backends.parts.part import Part
from streamreasoner.backends.parts.replica import Replica
from streamreasoner.engine.ports import NO_CHANGES, EpochChanges
from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.system.processors import MOST_PARTS
from streamreasoner.values.value_columns import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from multiprocessing.connection import Connection

    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.arena import Arena
    from streamreasoner.backends.parts.port import Owners
    from streamreasoner.engine.updates import TraceRows, Updates
    from streamreasoner.plan.program_change import ProgramChange
    from streamreasoner.plan.program_plan import Lattice, ProgramPlan, Reduction
    from streamreasoner.rdf.dictionary import Terms

DONE, FAILED, TERM = range(3)
"""What a message to the driver is: an answer, an error, or a term that needs an id."""

Pack: TypeAlias = "Callable[[int, NDArray[np.int32]], int]"
"""Packs a parcel for a part, of one of the kernels of `parcels`."""

_BUFFERED = 1 << 14  # bytes that a connection takes while its other end sends, too
_FIRST_ROOM = 1 << 10  # words


class Worker:
    """A part in a process of its own.

    Args:
        number: The number of the part.
        driver: The connection to the driver.
        others: The connections to the other parts, by number.
    """

    def __init__(self, number: int, driver: Connection, others: Mapping[int, Connection]) -> None:
        self._number, self._driver, self._others = number, driver, others
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="parcels")
        self._room: NDArray[np.int32] = np.empty(_FIRST_ROOM, np.int32)
        self._dictionary = Replica(self._id_of)
        self._values = Values(self._dictionary)
        self._changes = NO_CHANGES
        self._second: Arena | None = None
        self._heads: list[NDArray[np.int32]] = []
        self._part: Part

    def run(self) -> None:
        """Take steps until the driver closes the connection.

        Raises:
            OSError: Another part is lost.
        """
        while True:
            try:
                step, arguments = self._driver.recv()
            except wire.LOST:
                return
            try:
                answer = DONE, getattr(self, step)(*arguments)
            except wire.LOST:
                raise
            except Exception as error:  # noqa: BLE001 - the driver raises it
                answer = FAILED, wire.described(error)
            self._driver.send(answer)

    def _id_of(self, term: str, known: int | None) -> tuple[int, Terms | None]:
        self._driver.send((TERM, (term, known)))
        kind, content = self._driver.recv()
        if kind == FAILED:
            raise wire.again(content)
        identifier, terms = content
        return identifier, terms

    # Steps ---------------------------------------------------------------------------------------

    def begin(self, plan: ProgramPlan, owners: Owners, terms: Terms | None) -> object:
        """Begin anew with an empty part; returns what all parts must have in common.

        Args:
            plan: The plan of a part.
            owners: The owning argument of each predicate.
            terms: The terms that this process lacks, if the program needs any.
        """
        self._dictionary.follows |= needs_values(plan)
        self._learn(terms)
        self._part = Part(
            plan,
            self._dictionary,
            self._values,
            owning=owners,
            number=self._number,
            parts=len(self._others) + 1,
            compiled=None,
            share=1,
        )
        return self._compiled()

    def adopt(self, change: ProgramChange, owners: Owners, terms: Terms | None) -> object:
        """Keep the state as another plan needs it; returns what all parts must have in common."""
        self._dictionary.follows |= needs_values(change.after)
        self._learn(terms)
        self._part.adopt(change, owners)
        return self._compiled()

    def _compiled(self) -> object:
        numbering, tables = self._part.compiled
        return [*numbering.relations], tables.columns[layout.CLASSES].tobytes()

    def ask(self, question: Callable[[Part], Any]) -> Any:
        """Answer a question about the part."""
        return question(self._part)

    def add(self, updates: Updates) -> None:
        """Add asserted multiplicities of facts that this part owns."""
        self._part.add(updates)

    def next_touched(self, after: int, terms: Terms | None) -> int:
        """The first iteration after *after* that this part has to settle, or -1.

        The heads that others have sent are added before: they may have terms that another part has
        made, which this process knows only now.
        """
        self._learn(terms)
        self._take_heads()
        return self._part.next_touched(after)

    def _take_heads(self) -> None:
        heads, self._heads = self._heads, []
        for parcel in heads:
            self._part.check(parcels.take_heads(self._part.table, parcel))

    def second_state(self) -> bool:
        """Make an empty second state; whether there is room for it."""
        try:
            self._second = self._part.second_state()
        except EnvironmentSetupError:
            return False
        return True

    def begin_anew(self) -> None:
        """Begin the epoch anew in the second state."""
        state, self._second, self._heads = self._second, None, []
        assert state is not None  # noqa: S101 - it was made in the step before
        self._part.begin_anew(state)

    def begin_again(self) -> None:
        """Undo what the rules of the epoch have done, without a second state."""
        self._second, self._heads = None, []
        self._part.begin_again()

    def enter(self, stratum: int, terms: Terms | None) -> None:
        """Start a stratum, with the terms that this process lacks."""
        self._learn(terms)
        self._part.enter(stratum)

    def settle(self, iteration: int) -> int:
        """Settle an iteration, and change copies; returns the number of deltas."""
        part, table = self._part, self._part.table
        received = self._exchange(
            lambda: part.settle(iteration),
            lambda receiver, room: parcels.pack_changes(table, receiver, iteration, room),
        )
        part.check(exchange.fetch_changes(table, table, iteration))
        for parcel in received:
            part.check(parcels.take_changes(table, parcel, 1))
        return part.deltas

    def derive(self, iteration: int) -> None:
        """Apply the deltas, and send heads to their owners."""
        self._exchange_heads(lambda: self._part.derive(iteration))

    def reduce(self, reduction: Reduction) -> None:
        """Replace results of a reduction, and send them to their owners."""
        self._exchange_heads(lambda: self._part.reduce(reduction))

    def leave(self) -> None:
        """Send facts to the parts that own them now, and empty all copies."""
        self._exchange_heads(self._part.leave)

    def evaluate(self) -> None:
        """Evaluate the rules of a change, and send heads to their owners."""
        self._exchange_heads(self._part.evaluate)

    def retract(self, reduction: Reduction) -> None:
        """Subtract the results of a reduction, and send them to their owners."""
        self._exchange_heads(lambda: self._part.retract(reduction))

    def resettle(self, lattices: Sequence[Lattice], terms: Terms | None) -> None:
        """Add what others have sent, and touch what the change has changed."""
        self._learn(terms)
        with self._part.untouched():
            self._take_heads()
        self._part.resettle(lattices)

    def read_changes(self) -> list[str]:
        """Keep what the epoch has changed so far, until the next one begins.

        Returns:
            The collections of EpochChanges that have any.
        """
        part = self._part
        self._changes = part.changes() if part.has_changes or part.is_anew else NO_CHANGES
        return [each.name for each in fields(EpochChanges) if self.changed(each.name)]

    def changed(self, collection: str) -> list[Any]:
        """The blocks of a collection of EpochChanges."""
        return [*getattr(self._changes, collection)]

    def commit(self) -> None:
        """Make the epoch's changes final."""
        self._part.commit()

    def rollback(self) -> None:
        """Undo the epoch completely."""
        self._heads = []
        self._part.rollback()

    def load(self, rows: TraceRows) -> None:
        """Load rows of a trace that this part owns."""
        self._part.restore_rows(rows)

    def finish_restore(self, terms: Terms | None) -> None:
        """Settle what was loaded or sent, and copy it; a commit keeps it."""
        self._learn(terms)
        part, table = self._part, self._part.table
        copied: list[NDArray[np.int32]] = []

        def settle() -> None:
            with part.untouched():
                self._take_heads()
            part.settle_restored()
            copied.append(part.copied())
            part.fetch_facts([(table, copied[0])])

        received = self._exchange(
            settle, lambda receiver, room: parcels.pack_facts(table, receiver, copied[0], room)
        )
        for parcel in received:
            part.check(parcels.take_changes(table, parcel, 0))
        part.arrange_copies()

    # Exchange ------------------------------------------------------------------------------------

    def _exchange_heads(self, work: Callable[[], object]) -> None:
        part, table = self._part, self._part.table
        self._heads += self._exchange(
            work, lambda receiver, room: parcels.pack_heads(table, receiver, room)
        )
        part.empty_outbox()

    def _exchange(self, work: Callable[[], object], pack: Pack) -> list[NDArray[np.int32]]:
        """Do some work, and then give each other part a parcel; returns those of the others."""
        failure: Exception | None = None
        try:
            work()
        except Exception as error:  # noqa: BLE001 - raised when the others have theirs
            failure = error
        sent = {
            number: b"" if failure is not None else self._packed(pack, number)
            for number in self._others
        }
        sending = None
        if any(len(parcel) > _BUFFERED for parcel in sent.values()):
            sending = self._sender.submit(self._send, sent)
        else:
            self._send(sent)
        received = [bytearray(other.recv_bytes()) for other in self._others.values()]
        if sending is not None:
            sending.result()
        if failure is not None:
            raise failure
        return [np.frombuffer(parcel, np.int32) for parcel in received if parcel]

    def _packed(self, pack: Pack, receiver: int) -> bytes:
        words = pack(receiver, self._room)
        if words > len(self._room):
            self._room = np.empty(words, np.int32)
            pack(receiver, self._room)
        return self._room[:words].tobytes()

    def _send(self, sent: Mapping[int, bytes]) -> None:
        for number, parcel in sent.items():
            self._others[number].send_bytes(parcel)

    def _learn(self, terms: Terms | None) -> None:
        """Add terms, with their values: heads and copies of facts may have any of them."""
        if terms is not None:
            self._dictionary.learn(terms)
            self._values.extend()


def serve(driver: wire.Address, key: bytes, number: int, host: str, attempt: int = 0) -> None:
    """Join the other parts, and hold one until the driver lets it go.

    Args:
        driver: Where the driver waits for parts.
        key: What all of them know.
        number: The number of the part.
        host: The address of this machine that the other parts use.
        attempt: How many times parts were started before.

    Raises:
        OSError: The driver cannot be reached, or another part is lost.
    """
    with wire.listen(host, key, MOST_PARTS) as listener:
        connection = wire.connect(driver, key)
        connection.send((attempt, number, listener.address))
        addresses = connection.recv()
        others = {}
        for lower in range(number):
            others[lower] = wire.connect(addresses[lower], key)
            others[lower].send(number)
        while len(others) < len(addresses) - 1:
            other = wire.accept(listener)
            others[other.recv()] = other
    Worker(number, connection, others).run()
