"""Evaluates slots of event time. Invariant: what a slot changes does not depend on batches.

A batch is one epoch of the state, and closes any number of slots, whose updates came with it or
earlier. Each slot that has updates, or in which a fact may expire, is evaluated by itself, in
order, at the frontier of its end. What the program states is evaluated before all slots.

A slot that fails is evaluated without the messages that it fails with, see `failing.isolation`.
They depend on the slot and the state before it, so that a replay leaves out the same ones.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.counts import counted
from streamreasoner.engine.input.registers import NO_FRONTIER
from streamreasoner.errors import StreamReasonerError
from streamreasoner.io.codec.decode import Codec
from streamreasoner.io.codec.encode import decode_changes, in_text_order
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.rejected import Reason, Rejected
from streamreasoner.io.observer import timed
from streamreasoner.pipeline.evaluated import Evaluated, Moment, Violations
from streamreasoner.pipeline.failing.isolation import isolate
from streamreasoner.pipeline.failing.last_resort import describe, is_environmental
from streamreasoner.plan.lower.lowering import lower

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.engine.session import Session
    from streamreasoner.engine.updates import TraceRows, Updates
    from streamreasoner.io.codec.decode import InputOptions
    from streamreasoner.io.observer import PipelineObserver
    from streamreasoner.pipeline.published import Published
    from streamreasoner.pipeline.slots.waiting import Place, Slot, Waiting
    from streamreasoner.pipeline.slots.watermarks import Watermarks
    from streamreasoner.state.in_effect import ProgramInEffect
    from streamreasoner.state.record import Offsets

BEGINNING = 0
"""Time and number of what the program states."""
_log = logging.getLogger(__name__)


class SlotEvaluator:
    """Runs batches through codec and engine, slot by slot.

    Args:
        session: The state; it runs `program`.
        program: The program, which does not change.
        options: What messages are, and how long.
        published: What is published, and how.
        observer: Notified of the time that decoding and evaluating take.
        watermarks: How far event time has come.
        waiting: Updates that wait for their slots.
        reread: Reads messages again that an earlier batch has read.
    """

    def __init__(  # noqa: PLR0917 - in the order of use
        self,
        session: Session,
        program: ProgramInEffect,
        options: InputOptions,
        published: Published,
        observer: PipelineObserver,
        watermarks: Watermarks,
        waiting: Waiting,
        reread: Callable[[Offsets], pa.Table],
    ) -> None:
        self._session = session
        self._program = program
        self._published = published
        self._observer = observer
        self._watermarks = watermarks
        self._waiting = waiting
        self._reread = reread
        checked = program.checked
        self._codec = Codec(
            session.dictionary,
            checked.arities,
            options,
            checked.constraints,
            tuple(each.pattern for each in lower(checked).expiries),
            hidden=checked.unlisted,
        )
        self._violations = Violations(session.engine, checked, observer)

    def evaluate(
        self, batch: pa.Table, epoch: int, offsets: Offsets, keep_alive: Callable[[], None]
    ) -> Evaluated:
        """Evaluate the slots that a batch closes.

        Args:
            batch: Messages with the columns of `source.COLUMNS`, in the order of a replay.
            epoch: Its epoch.
            offsets: Its range.
            keep_alive: Called between slots; restarts the batch timeout.

        Raises:
            StreamReasonerError: A slot fails, and its messages are not to blame.
        """
        watermarks, waiting, session = self._watermarks, self._waiting, self._session
        with timed(self._observer, "decode"):
            decoded = self._codec.decode(batch)
            late = watermarks.late
            waiting.add(batch, decoded, watermarks.advance(batch, decoded, offsets))
        trace: list[TraceRows] = []
        moments: list[Moment] = []
        left_out: dict[Place, str] = {}
        with timed(self._observer, "evaluate"):
            if epoch == 0:
                result = session.apply((), epoch=epoch)
                moments.append(self._moment(result, BEGINNING, BEGINNING))
                trace += result.trace
            while (end := self._next()) is not None:
                if moments:
                    keep_alive()
                slot = waiting.take() if end == waiting.first else None
                result = self._closed(slot, end, epoch, left_out, keep_alive)
                number, ts = end // watermarks.granularity, min(end, timestamps.LAST)
                moments.append(self._moment(result, ts, number))
                trace += result.trace
            # Nothing is left to change until the frontier moves again.
            last = session.apply((), frontier=watermarks.closed, epoch=epoch)
            self._observer.epoch_evaluated(last, self._program.checked)
        if decoded.event_time is not None:
            self._observer.event_time(decoded.event_time)
        self._observer.slots_waiting(len(waiting), watermarks.late - late)
        frontier = watermarks.frontier
        return Evaluated(
            epoch=epoch,
            trace=trace,
            moments=moments,
            constraints=self._program.checked.constraints,
            program=self._program.text,
            before=self._program.text,
            frontier=None if frontier == NO_FRONTIER else frontier,
            encoded=self._session.encodes,
            slots=watermarks.record,
            waiting=tuple(waiting.added(watermarks.closed)),
            rejections=((batch, decoded.rejected), *self._dead(left_out)),
        )

    def _next(self) -> int | None:
        """The end of the next slot to evaluate, None if that is not closed yet."""
        deadline = self._session.engine.next_deadline
        ends = [
            self._waiting.first,
            None if deadline is None else self._watermarks.end_for(deadline),
        ]
        first = min((end for end in ends if end is not None), default=None)
        return None if first is None or first > self._watermarks.closed else first

    def _moment(self, result: EpochResult, ts: int, number: int) -> Moment:
        """What a slot changes, decoded before the next one."""
        self._observer.epoch_evaluated(result, self._program.checked)
        program, dictionary = self._program.checked, self._session.dictionary
        changes = self._published.changes(result, program, program)
        violations = self._violations.of(result, program.constraints, program, dictionary)
        return Moment(
            ts,
            number,
            in_text_order(decode_changes(changes, dictionary)),
            in_text_order(violations),
        )

    def _closed(
        self,
        slot: Slot | None,
        end: int,
        epoch: int,
        left_out: dict[Place, str],
        keep_alive: Callable[[], None],
    ) -> EpochResult:
        """Evaluate one slot; adds the messages that it fails with to `left_out`."""
        try:
            updates: Sequence[Updates] = () if slot is None else slot.updates()
            return self._session.apply(updates, frontier=end, epoch=epoch)
        except Exception as error:
            if is_environmental(error) or slot is None:
                raise
            _log.debug("The slot until %d fails.", end, exc_info=error)
        _log.warning(
            "The slot of event time until %s fails. It has %s, evaluated in parts to find "
            "those that cause the failure, which go to the dead-letter topic.",
            timestamps.iso(min(end, timestamps.LAST)),
            counted(len(slot.messages), "message"),
        )
        failure = self._fails((), end)
        if failure is not None:
            raise StreamReasonerError(
                f"A slot of event time fails even without its messages: {failure} Restart the "
                "process with more memory or a larger rules.recursion_limit."
            )

        def chosen(rows: Sequence[int]) -> list[Updates]:
            return slot.updates(np.isin(np.arange(len(slot.messages)), rows))

        def fails(accepted: Sequence[int], part: Sequence[int]) -> str | None:
            keep_alive()
            return self._fails(chosen([*accepted, *part]), end)

        found = isolate(len(slot.messages), fails)
        left_out.update({slot.messages[row]: found[row] for row in sorted(found)})
        rest = [row for row in range(len(slot.messages)) if row not in found]
        return self._session.apply(chosen(rest), frontier=end, epoch=epoch)

    def _fails(self, updates: Sequence[Updates], end: int) -> str | None:
        try:
            self._session.rehearse(updates, frontier=end)
        except Exception as error:
            if is_environmental(error):
                raise
            return describe(error)
        return None

    def _dead(self, left_out: dict[Place, str]) -> Iterator[tuple[pa.Table, list[Rejected]]]:
        """The messages that slots are evaluated without, each with the reason."""
        for place, why in left_out.items():
            topic, partition, offset = place
            table = self._reread({topic: {str(partition): [offset, offset + 1]}})
            reason = f"Its slot fails with this message: {why}"
            if not len(table):
                reason += " The message itself is no longer in its topic."
                table = _placeholder(table.schema, place)
            yield table, [Rejected(0, Reason.EPOCH_FAILED, reason)]


def _placeholder(schema: pa.Schema, place: Place) -> pa.Table:
    """A message of which only the place is known."""
    known = dict(zip(("topic", "partition", "offset"), place, strict=True))
    return pa.Table.from_pylist([known], schema)
