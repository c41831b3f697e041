"""The events of a pipeline. Invariant: an event is declared once, for all that observe it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.io.kafka.dead_letter import DeadLetter
    from streamreasoner.program.checked import CheckedProgram


# Each method has a body: to type checkers, one of a docstring alone is abstract in a protocol.
class PipelineObserver(Protocol):
    """The events of a pipeline; a subclass overrides those that it observes, the others do nothing.

    Called on the thread that does the work; must not raise and must not block.
    """

    def batch_started(self, epoch: int, rows: int) -> None:
        """A batch of `rows` messages begins."""
        del epoch, rows

    def stage(self, name: str, seconds: float) -> None:
        """A stage has taken this long: `read`, `decode`, `evaluate`, `store` or `publish`."""
        del name, seconds

    def epoch_evaluated(self, result: EpochResult, program: CheckedProgram) -> None:
        """The engine has applied the epoch; nothing of it is durable yet.

        Args:
            result: What it changed.
            program: The program in effect from this epoch on.
        """
        del result, program

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """The epoch's transaction is committed.

        Args:
            changes: Changes written to the output topic.
            rejected: Messages written to the dead-letter topic, by reason class.
            latencies: Seconds from Kafka's timestamp of each input message to the commit.
        """
        del changes, rejected, latencies

    def dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        """The last messages of an epoch on the dead-letter topic, called after `published`."""
        del letters

    def program(self, program_hash: str) -> None:
        """This program is in effect: called at the start and after each change of program.

        Args:
            program_hash: Hash of the program.
        """
        del program_hash

    def control_messages(self, applied: int, rejected: int) -> None:
        """Control messages were applied, or rejected to the dead-letter topic."""
        del applied, rejected

    def violations(self, present: Mapping[str, int]) -> None:
        """The number of violations present, by constraint: called at the start and after epochs.

        Args:
            present: The numbers by constraint, for those of the program in effect.
        """
        del present

    def event_time(self, ts: int) -> None:
        """The largest event time of the batch, in milliseconds since 1970-01-01 UTC."""
        del ts

    def waiting(self, reason: str | None) -> None:
        """The batch waits for Kafka; None: it does not any more."""
        del reason

    def paced(self, size: int, limit: int) -> None:
        """The batch had *size* bytes; the next one has at most *limit* messages."""
        del size, limit

    def slots_waiting(self, updates: int, late: int) -> None:
        """*updates* wait for their slots; *late* ones of the batch came after theirs."""
        del updates, late

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """All durable steps of the batch are done."""
        del epoch, seconds


_EVENTS = tuple(name for name in vars(PipelineObserver) if not name.startswith("_"))


class Observers(PipelineObserver):
    """Several observers as one: what is called on it is called on each of them, in their order."""

    def __init__(self, *observers: PipelineObserver) -> None:
        for event in _EVENTS:
            setattr(self, event, partial(_tell, observers, event))


def _tell(
    observers: Iterable[PipelineObserver], event: str, *arguments: object, **named: object
) -> None:
    for observer in observers:
        getattr(observer, event)(*arguments, **named)


@contextmanager
def timed(observer: PipelineObserver, stage: str) -> Iterator[None]:
    """Report how long a stage takes; a stage that fails is not reported."""
    start = time.perf_counter()
    yield
    observer.stage(stage, time.perf_counter() - start)
