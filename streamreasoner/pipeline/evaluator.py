"""Evaluates a batch as an epoch, in memory. Invariant: a replay gives the same result.

Control messages are applied first: the resulting program is in effect from the beginning of the
epoch, so updates in the same batch are decoded and evaluated with it.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.engine.blocks import Blocks
from streamreasoner.engine.input.registers import NO_FRONTIER
from streamreasoner.errors import EngineError, ProgramError
from streamreasoner.io.codec import encode
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.codec.envelope import append_milliseconds
from streamreasoner.io.formats.rejected import Reason, Rejected
from streamreasoner.io.observer import timed
from streamreasoner.pipeline.attempts import Verdict
from streamreasoner.pipeline.evaluated import Evaluated, Moment, Violations
from streamreasoner.pipeline.rule_changes import Decision, decide
from streamreasoner.plan.lower.lowering import lower

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.engine.session import Session
    from streamreasoner.engine.updates import Updates
    from streamreasoner.io.codec.decode import Decoded
    from streamreasoner.io.observer import PipelineObserver
    from streamreasoner.pipeline.published import Published
    from streamreasoner.state.in_effect import ProgramInEffect

EVERYTHING = Verdict()
"""Leaves out nothing."""


class Evaluator:
    """Runs batches through control messages, codec and engine, in sequence.

    Args:
        session: The state; it runs `program`.
        program: The program in effect.
        control_topic: Topic of control messages, None if there is none.
        options: What messages are, and how long.
        published: What is published, and how.
        observer: Notified of the time that decoding and evaluating take.
        lateness: How far the frontier stays behind the clock, in milliseconds.
    """

    def __init__(  # noqa: PLR0917 - in the order of use
        self,
        session: Session,
        program: ProgramInEffect,
        control_topic: str | None,
        options: InputOptions,
        published: Published,
        observer: PipelineObserver,
        *,
        lateness: int = 0,
    ) -> None:
        self._session = session
        self._program = program
        self._control_topic = control_topic
        self._options = options
        self._published = published
        self._observer = observer
        self._lateness = lateness
        # What expires is fixed for a state.
        self._expiring = tuple(each.pattern for each in lower(program.checked).expiries)
        self._violations = Violations(session.engine, program.checked, observer)

    @property
    def program(self) -> ProgramInEffect:
        """The program in effect."""
        return self._program

    def evaluate(self, batch: pa.Table, epoch: int, verdict: Verdict = EVERYTHING) -> Evaluated:
        """Evaluate a batch as one epoch.

        Args:
            batch: Messages with the columns of `source.COLUMNS`, in the order of a replay.
            epoch: Its epoch.
            verdict: What to leave out.

        Raises:
            EngineError: The epoch failed, with and without its control messages.
        """
        before = self._program
        control, messages = self.split(batch)
        decision = self.decide(control)
        messages, left_out, rejected = _leave_out(messages, verdict)
        if verdict.program_refused is not None:
            decision = decision.withdrawn(before, verdict.program_refused)
        engine, former = self._session.engine, before.checked
        leaving = self._published.leaving(engine, former, decision.program.checked)
        try:
            decoded, result = self._attempt(decision, messages, epoch)
        except (EngineError, ProgramError) as error:
            if decision.program is before:
                raise
            decision, leaving = decision.withdrawn(before, str(error)), ()
            decoded, result = self._attempt(decision, messages, epoch)
        self._program = decision.program
        program = decision.program.checked
        self._observer.epoch_evaluated(result, program)
        constraints = {**former.constraints, **program.constraints}
        changes = [
            encode.decode_changes(part, self._session.dictionary)
            for part in (
                leaving,
                self._published.changes(result, former, program),
                self._published.entering(engine, former, program),
            )
        ]
        if decoded.event_time is not None:
            self._observer.event_time(decoded.event_time)
        moment = Moment(
            _event_time(decoded, control, decision),
            epoch,
            Blocks(partial(chain.from_iterable, changes)),
            self._violations.of(result, constraints, program, self._session.dictionary),
        )
        return Evaluated(
            epoch=epoch,
            trace=result.trace,
            moments=(moment,),
            constraints=constraints,
            program=decision.program.text,
            before=before.text,
            frontier=_recorded(result.frontier, decision.program),
            encoded=self._session.encodes,
            applied=len(decision.applied),
            rejected_control=len(decision.rejected),
            rejections=(
                (control, decision.rejected),
                (messages, decoded.rejected),
                (left_out, rejected),
            ),
        )

    def load(
        self,
        updates: Iterable[Updates],
        epoch: int,
        ts: int,
        clock: int | None,
        *,
        publish: bool,
    ) -> Evaluated:
        """Evaluate an epoch of a bootstrap, which has no messages.

        Args:
            updates: Its input.
            epoch: The epoch.
            ts: Its event time, milliseconds since 1970.
            clock: The same if it moves the frontier, else None.
            publish: Whether its changes are published.

        Raises:
            EngineError: The epoch failed.
        """
        program, constraints = self._program, self._program.checked.constraints
        with timed(self._observer, "evaluate"):
            frontier = self._frontier(clock)
            result = self._session.apply(updates, frontier=frontier, epoch=epoch)
        self._observer.epoch_evaluated(result, program.checked)
        changes = self._published.changes(result, program.checked, program.checked)
        dictionary = self._session.dictionary
        violations = self._violations.of(result, constraints, program.checked, dictionary)
        moment = Moment(
            ts,
            epoch,
            encode.decode_changes(changes, dictionary) if publish else (),
            violations if publish else (),
        )
        return Evaluated(
            epoch=epoch,
            trace=result.trace,
            moments=(moment,),
            constraints=constraints,
            program=program.text,
            before=program.text,
            frontier=_recorded(result.frontier, program),
            encoded=self._session.encodes,
            rejections=(),
        )

    def rehearse(self, program: ProgramInEffect, messages: pa.Table) -> None:
        """Find out whether an epoch of these updates fails, and roll it back.

        Args:
            program: The program of the epoch: the one in effect, or the result of `decide`.
            messages: Updates, in the order of a replay.

        Raises:
            EngineError: It fails. Other errors are possible.
        """
        decoded = self._codec(program).decode(messages)
        changed = None if program is self._program else program.checked
        self._session.rehearse(decoded.updates, changed, self._frontier(decoded.clock))

    def decide(self, control: pa.Table) -> Decision:
        """The outcome of control messages."""
        # Rules hold terms, so a control message may be as long as a term.
        options, refusal = self._options, self._published.refusal
        return decide(self._program, control, options.max_term_bytes, options.max_ahead, refusal)

    def split(self, batch: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The control messages, and the updates."""
        if self._control_topic is None:
            return batch.slice(0, 0), batch
        is_control = pc.equal(batch.column("topic"), self._control_topic)
        return batch.filter(is_control), batch.filter(pc.invert(is_control))

    def _attempt(
        self, decision: Decision, messages: pa.Table, epoch: int
    ) -> tuple[Decoded, EpochResult]:
        program = decision.program
        with timed(self._observer, "decode"):
            decoded = self._codec(program).decode(messages)
        with timed(self._observer, "evaluate"):
            frontier = self._frontier(decoded.clock, decision.clock)
            changed = None if program is self._program else program.checked
            return decoded, self._session.apply(decoded.updates, changed, frontier, epoch=epoch)

    def _frontier(self, *clocks: int | None) -> int:
        """The event time up to which input is complete, by the clocks of an epoch."""
        known = [clock - self._lateness for clock in clocks if clock is not None]
        return max(known, default=NO_FRONTIER)

    def _codec(self, program: ProgramInEffect) -> Codec:
        checked = program.checked
        return Codec(
            self._session.dictionary,
            checked.arities,
            self._options,
            checked.constraints,
            self._expiring,
            hidden=checked.unlisted,
        )


def _leave_out(
    messages: pa.Table, verdict: Verdict
) -> tuple[pa.Table, pa.Table, tuple[Rejected, ...]]:
    """The messages to evaluate, those left out, and the reason for each that is left out."""
    why = {
        (message.topic, message.partition, message.offset): message.why
        for message in verdict.left_out
    }
    if not why:
        return messages, messages.slice(0, 0), ()
    columns = (messages.column(name).to_pylist() for name in ("topic", "partition", "offset"))
    places = list(zip(*columns, strict=True))
    is_left_out = pa.array([place in why for place in places], pa.bool_())
    reasons = (
        f"The epoch fails with this message: {why[place]}" for place in places if place in why
    )
    return (
        messages.filter(pc.invert(is_left_out)),
        messages.filter(is_left_out),
        tuple(Rejected(row, Reason.EPOCH_FAILED, reason) for row, reason in enumerate(reasons)),
    )


def _recorded(frontier: int, program: ProgramInEffect) -> int | None:
    """The frontier as it is recorded: the state of a program without @expires does not need one."""
    return frontier if program.checked.expiries and frontier != NO_FRONTIER else None


def _event_time(decoded: Decoded, control: pa.Table, decision: Decision) -> int:
    """Largest event time of applied messages; a control message has its Kafka timestamp."""
    times = [time for time in (decoded.event_time, decision.clock) if time is not None]
    if decision.applied:
        times += append_milliseconds(control)[list(decision.applied)].tolist()
    return max(times, default=0)
