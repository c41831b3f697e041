"""An evaluated batch. Invariant: nothing of it is durable yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from streamreasoner.engine.blocks import of_predicates
from streamreasoner.io.codec import encode
from streamreasoner.io.kafka.dead_letter import dead_letters, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from streamreasoner.engine.epoch import Engine, EpochResult
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.io.codec.encode import Message
    from streamreasoner.io.formats.rejected import Rejected
    from streamreasoner.io.kafka.dead_letter import DeadLetter
    from streamreasoner.io.observer import PipelineObserver
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.program.constraints import Constraint
    from streamreasoner.program.text import ProgramText
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.state.record import SlotRecord
    from streamreasoner.state.rows import DecodedChanges


@dataclass(frozen=True, slots=True)
class Moment:
    """What a batch changes at one event time, decoded.

    Attributes:
        ts: The event time, milliseconds since 1970.
        number: The epoch that messages name.
        changes: The changes to publish.
        violations: Those of constraints.
    """

    ts: int
    number: int
    changes: Iterable[DecodedChanges]
    violations: Iterable[DecodedChanges]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """An evaluated batch.

    Attributes:
        epoch: The epoch.
        trace: Signed differences of the trace.
        moments: What it changes, in the order of event time: one moment where each batch is an
            epoch, one for each slot that it closes where epochs are slots.
        constraints: The constraints of the programs before and from this epoch on.
        program: The program in effect from this epoch on.
        before: The program before it.
        frontier: The event time up to which input is complete; None before the first.
        encoded: Whether hierarchies are encoded after it.
        slots: How far event time has come, if epochs are slots.
        waiting: Updates that wait for their slots, see `Tables.commit`.
        applied: Number of control messages that were applied.
        rejected_control: Number of control messages that were rejected.
        rejections: Tables of messages with their rejected rows.
    """

    epoch: int
    trace: Iterable[TraceRows]
    moments: Sequence[Moment]
    constraints: Mapping[str, Constraint]
    program: ProgramText
    before: ProgramText
    frontier: int | None
    encoded: bool
    slots: SlotRecord | None = None
    waiting: Sequence[pa.Table] = ()
    applied: int = 0
    rejected_control: int = 0
    rejections: tuple[tuple[pa.Table, Sequence[Rejected]], ...] = field(default=())

    @property
    def new_program(self) -> ProgramText | None:
        """The program, if this epoch changed it."""
        return None if self.program == self.before else self.program

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """All rejected rows."""
        return tuple(chain.from_iterable(rows for _, rows in self.rejections))

    def dead_letters(self) -> Iterator[Message]:
        """The rejected messages, control messages first."""
        return chain.from_iterable(dead_letters(batch, rows) for batch, rows in self.rejections)

    def last_dead_letters(self, count: int) -> list[DeadLetter]:
        """The last of them, for people."""
        last: list[DeadLetter] = []
        for batch, rows in reversed(self.rejections):
            missing = count - len(last)
            if missing and rows:
                last = [*shown(batch, rows[-missing:]), *last]
        return last


class Violations:
    """Violations that come and go, which are counted.

    Args:
        engine: Has those that are present.
        program: The program in effect.
        observer: Notified of their number.
    """

    def __init__(self, engine: Engine, program: CheckedProgram, observer: PipelineObserver) -> None:
        found = engine.facts_of(program.constraints)
        self._present = {name: len(args) for name, args in found.items()}
        self._observer = observer
        observer.violations(self._present)

    def of(
        self,
        result: EpochResult,
        constraints: Mapping[str, Constraint],
        program: CheckedProgram,
        dictionary: Dictionary,
    ) -> Iterable[DecodedChanges]:
        """Violations to publish.

        Args:
            result: What an epoch changed.
            constraints: The constraints of the programs before and from this epoch on.
            program: That from this epoch on.
            dictionary: Maps ids to terms.
        """
        if not constraints:
            return ()
        changes = of_predicates(result.closure, constraints)
        present = dict.fromkeys(program.constraints, 0)
        for each in changes:
            if each.predicate in present:
                present[each.predicate] += int(each.multiplicity.sum())
        self._present = {
            name: self._present.get(name, 0) + change for name, change in present.items()
        }
        self._observer.violations(self._present)
        return encode.decode_changes(changes, dictionary)
