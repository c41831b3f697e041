"""A batch becomes an epoch in memory. Invariant: the same batch after the same epochs is the same.

Control messages come first: the program that they lead to holds from the beginning of the epoch,
so the updates beside them are read and evaluated with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from streamreasoner.collection.blocks import chosen
from streamreasoner.errors import EngineError
from streamreasoner.streaming import output
from streamreasoner.streaming.codec import Codec
from streamreasoner.streaming.dead_letter import dead_letters
from streamreasoner.streaming.envelope import append_milliseconds
from streamreasoner.streaming.ports import timed
from streamreasoner.streaming.program import Decision, decide

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from streamreasoner.collection.programs import ProgramText
    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.reasoner import Reasoner
    from streamreasoner.streaming.codec import Decoded
    from streamreasoner.streaming.output import Message
    from streamreasoner.streaming.ports import DecodedChanges, PipelineObserver
    from streamreasoner.streaming.program import ProgramInEffect
    from streamreasoner.streaming.rejected import Rejected


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An epoch of which nothing is durable yet.

    Attributes:
        epoch: The epoch.
        result: What the engine says.
        changes: The changes to publish, decoded.
        ts: Its event time, milliseconds since 1970.
        program: The program from this epoch on.
        before: The program before it.
        accepted: Number of control messages that were followed.
        refused_control: Number of control messages that were not.
        refused: Tables of messages and their refused rows.
    """

    epoch: int
    result: EpochResult
    changes: Iterable[DecodedChanges]
    ts: int
    program: ProgramText
    before: ProgramText
    accepted: int
    refused_control: int
    refused: tuple[tuple[pa.Table, Sequence[Rejected]], ...]

    @property
    def new_program(self) -> ProgramText | None:
        """The program, if it came with this epoch."""
        return None if self.program == self.before else self.program

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """All refused rows."""
        return tuple(one for _, rows in self.refused for one in rows)

    def dead_letters(self) -> Iterator[Message]:
        """The refused messages, control messages first."""
        return chain.from_iterable(dead_letters(batch, rows) for batch, rows in self.refused)


class Evaluator:
    """Takes batches through control messages, codec and engine, one after the other.

    Args:
        reasoner: The state; it runs `program`.
        program: The program in effect.
        control_topic: Topic of control messages, None if there is none.
        max_message_bytes: Longest value that is looked at.
        closure: Whether the changes of all facts are published, or of the derived ones only.
        observer: Told how long decoding and evaluating take.
    """

    def __init__(  # noqa: PLR0917 - in the order of use
        self,
        reasoner: Reasoner,
        program: ProgramInEffect,
        control_topic: str | None,
        max_message_bytes: int,
        closure: bool,  # noqa: FBT001 - named where it is given
        observer: PipelineObserver,
    ) -> None:
        self._reasoner = reasoner
        self._program = program
        self._control_topic = control_topic
        self._max_bytes = max_message_bytes
        self._closure = closure
        self._observer = observer

    def evaluate(self, batch: pa.Table, epoch: int) -> Evaluated:
        """Evaluate a batch as one epoch.

        Args:
            batch: Messages with the columns of `source.COLUMNS`, in the order of a replay.
            epoch: Its epoch.

        Raises:
            EngineError: The epoch failed, with and without its control messages.
        """
        before = self._program
        control, messages = self._split(batch)
        decision = decide(before, control, self._max_bytes)
        try:
            decoded, result = self._attempt(decision.program, messages, epoch)
        except EngineError as error:
            if decision.program is before:
                raise
            decision = decision.withdrawn(before, str(error))
            decoded, result = self._attempt(before, messages, epoch)
        self._program = decision.program
        self._observer.epoch_evaluated(result)
        if decoded.event_time is not None:
            self._observer.event_time(decoded.event_time)
        return Evaluated(
            epoch=epoch,
            result=result,
            changes=self._selected(result, before, decision.program),
            ts=_event_time(decoded, control, decision),
            program=decision.program.text,
            before=before.text,
            accepted=len(decision.accepted),
            refused_control=len(decision.refused),
            refused=((control, decision.refused), (messages, decoded.rejected)),
        )

    def _split(self, batch: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The control messages, and the updates."""
        if self._control_topic is None:
            return batch.slice(0, 0), batch
        is_control = pc.equal(batch.column("topic"), self._control_topic)
        return batch.filter(is_control), batch.filter(pc.invert(is_control))

    def _attempt(
        self, program: ProgramInEffect, messages: pa.Table, epoch: int
    ) -> tuple[Decoded, EpochResult]:
        reasoner = self._reasoner
        with timed(self._observer, "decode"):
            codec = Codec(reasoner.dictionary, program.checked.arities, self._max_bytes)
            decoded = codec.decode(messages)
        with timed(self._observer, "evaluate"):
            if program is self._program:
                return decoded, reasoner.engine.apply(epoch, decoded.updates)
            return decoded, reasoner.adopt(program.checked, epoch, decoded.updates)

    def _selected(
        self, result: EpochResult, before: ProgramInEffect, program: ProgramInEffect
    ) -> Iterable[DecodedChanges]:
        """What is published: of @output predicates, or of all if there are no declarations.

        With a new program also of those of the one before: what the change takes back is taken
        back from readers too.
        """
        names = [set(one.checked.outputs) for one in (before, program)]
        changes = result.closure if self._closure else result.derived
        if all(names):
            wanted = set.union(*names)
            changes = chosen(changes, lambda one: one.predicate in wanted)
        return output.decode_changes(changes, self._reasoner.dictionary)


def _event_time(decoded: Decoded, control: pa.Table, decision: Decision) -> int:
    """Largest event time of what was accepted; that of a control message is Kafka's timestamp."""
    times = [] if decoded.event_time is None else [decoded.event_time]
    if decision.accepted:
        times += append_milliseconds(control)[list(decision.accepted)].tolist()
    return max(times, default=0)
