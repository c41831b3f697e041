"""A session that stores each epoch before it returns.

The durable steps of an epoch, which are those of a pipeline without Kafka's:

0. Write the journal: the input, so that step 1 can be done again.
1. Append the epoch to the Delta tables.
2. Return.

Invariant: after a crash at any point, the epoch is in the state as a whole or not at all. A crash
within step 1 leaves tables that have the epoch and tables that do not; the next start evaluates the
journal again, and the tables that have the epoch skip it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from streamreasoner.api.durable import batches, journal
from streamreasoner.engine.blocks import of_predicates
from streamreasoner.engine.input.registers import NO_FRONTIER
from streamreasoner.engine.session import Session
from streamreasoner.engine.turn import in_turn
from streamreasoner.errors import EngineError, StateError
from streamreasoner.io.codec.encode import decode_changes
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.program.edit import canonical_program
from streamreasoner.state.in_effect import SOURCE, stored_text
from streamreasoner.state.record import EpochRecord
from streamreasoner.state.version import FORMAT, SEMANTICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from streamreasoner.api.durable.batches import Batch
    from streamreasoner.api.durable.journal import Entry
    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.engine.updates import Updates
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.program.text import ProgramText
    from streamreasoner.state.lock import StateLock
    from streamreasoner.state.record import Offsets
    from streamreasoner.state.tables import Tables


@dataclass(frozen=True, slots=True)
class _Input:
    """What an epoch is given.

    Attributes:
        updates: Its input.
        program: The program from this epoch on, if it changes.
        text: The same as it is stored.
        frontier: The frontier from this epoch on, unless it is beyond it already.
        ts: Its time, milliseconds since 1970.
        offsets: Which batches of streams it is; see `batches`.
    """

    updates: Sequence[Updates]
    program: CheckedProgram | None
    text: ProgramText | None
    frontier: int
    ts: int
    offsets: Offsets


class DurableSession(Session):
    """A session whose epochs are stored; made by `opening.open_session`.

    Attributes:
        directory: The directory of the state.
        tables: Its tables.
        lock: Its lock.
        positions: Offsets of the last epoch: which batches of streams the state has.
    """

    directory: Path
    tables: Tables
    lock: StateLock
    positions: Offsets
    _why_ended: str | None = None

    @in_turn
    def apply(
        self,
        updates: Iterable[Updates],
        program: CheckedProgram | None = None,
        frontier: int = NO_FRONTIER,
        *,
        epoch: int | None = None,
        report: bool = True,
    ) -> EpochResult:
        """Apply one epoch, and store it; see `Session.apply`.

        Raises:
            StateError: The state is closed, or the epoch cannot be stored.
        """
        del epoch, report  # epochs follow each other, and what changes is stored
        text = None
        if program is not None:
            program = canonical_program(program, SOURCE)
            text = stored_text(program)
            self._check_width(text)
        return self._run(self._input([*updates], frontier, program=program, text=text))

    @in_turn
    def apply_batch(self, batch: Batch, updates: Sequence[Updates], frontier: int) -> EpochResult:
        """Apply a batch of a stream as one epoch, and store it with its number.

        Args:
            batch: The batch, which the state does not have; see `batches.is_known`.
            updates: Its input.
            frontier: The frontier from this epoch on, unless it is beyond it already.

        Raises:
            DataError: As of `apply`.
            EngineError: As of `apply`.
            StateError: The state is closed, or the epoch cannot be stored.
        """
        return self._run(self._input(updates, frontier, batch))

    def _input(
        self,
        updates: Sequence[Updates],
        frontier: int,
        batch: Batch | None = None,
        program: CheckedProgram | None = None,
        text: ProgramText | None = None,
    ) -> _Input:
        offsets = batches.after(self.positions, batch)
        return _Input(updates, program, text, frontier, _time(updates), offsets)

    def resume(self, entry: Entry, program: CheckedProgram | None) -> None:
        """Evaluate the epoch of a journal again, and store it.

        Args:
            entry: The journal.
            program: The program from this epoch on, if it changed.
        """
        text = None if program is None else stored_text(program)
        self._run(_Input(entry.updates, program, text, entry.frontier, entry.ts, entry.offsets))

    @in_turn
    def close(self) -> None:
        """Release the state, so that another process may open it."""
        if self._why_ended is not _CLOSED:
            self._why_ended = _CLOSED
            self.tables.close()
            self.lock.close()

    def _run(self, given: _Input) -> EpochResult:
        if self._why_ended is not None:
            raise StateError(self._why_ended.format(self.directory))
        before = self.program
        result = super().apply(given.updates, given.program, given.frontier)
        try:
            self._store(given, result, (before, self.program))
            self.positions = given.offsets
        except BaseException as error:
            self._why_ended = _FAILED
            if isinstance(error, OSError):
                raise StateError(
                    f"{self.directory} cannot be written: {error}. Fix the cause, then open the "
                    "state again."
                ) from error
            raise
        return result

    def _store(
        self,
        given: _Input,
        result: EpochResult,
        programs: tuple[CheckedProgram, CheckedProgram],
    ) -> None:
        """The durable steps."""
        tables, text, first = self.tables, given.text, self.tables.terms_stored
        terms = self.dictionary.terms(first, len(self.dictionary))
        published = {name for each in programs for name in each.published}
        constraints = {name for each in programs for name in each.constraints}
        changes = decode_changes(of_predicates(result.derived, published), self.dictionary)
        violations = decode_changes(of_predicates(result.closure, constraints), self.dictionary)
        reached = result.frontier if self.program.expiries else NO_FRONTIER
        record = EpochRecord(
            result.epoch,
            given.offsets,
            (tables.programs[-1][1] if text is None else text).hash,
            FORMAT,
            SEMANTICS,
            None if reached == NO_FRONTIER else reached,
            encoded=self.encodes,
        )
        journal.write(
            self.directory,
            journal.Entry(
                result.epoch,
                given.ts,
                given.frontier,
                None if text is None else text.text,
                first,
                terms,
                given.updates,
                given.offsets,
            ),
        )
        dated = [(timestamps.instant(given.ts), chain(changes, violations))]
        tables.commit(record, (first, terms), result.trace, dated, text)
        journal.delete(self.directory)
        tables.maintain_if_due()

    def _check_width(self, text: ProgramText) -> None:
        for predicate, arity in text.arities.items():
            if arity > self.tables.width:
                raise EngineError(
                    f"'{predicate}' has {arity} arguments; the tables of this state have columns "
                    f"for {self.tables.width}. Load the facts into a new state."
                )


_CLOSED = "The state {} is closed. Open it again with Reasoner.open."
_FAILED = "An epoch could not be stored in {}. Close the reasoner, and open the state again."


def _time(updates: Iterable[Updates]) -> int:
    """The time of an epoch: the greatest event time, or now, in milliseconds since 1970."""
    times = [
        int(each.times.max()) for each in updates if each.times is not None and len(each.times)
    ]
    return min(max(times), timestamps.LAST) if times else time.time_ns() // 1_000_000
