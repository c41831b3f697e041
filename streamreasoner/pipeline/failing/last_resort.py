"""Evaluates a failing batch in parts. Invariant: only a message that fails alone is left out.

An evaluation fails by an exception, or by ending the process: it hangs until the watchdog acts, or
is killed, for example out of memory. The next process detects the second kind by an epoch that is
planned but not stored:

| process | does                                              | on the disk                |
|---------|---------------------------------------------------|----------------------------|
| first   | evaluates the epoch and dies                      | nothing                    |
| second  | records that, evaluates the epoch again and dies  | one attempt                |
| third   | records and evaluates parts of the batch          | the trials, then a verdict |

Processes that hold parts of the state count like this one: they may have died of the epoch. An
exception starts the trials at once. Every trial is rolled back. The first trial is the epoch
without input: if that fails, no message is to blame. Nor is any for failures of the environment.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from streamreasoner.counts import counted
from streamreasoner.errors import (
    BrokerError,
    DictionaryFullError,
    EnvironmentSetupError,
    PartsLostError,
    SchemaRegistryError,
    StateError,
    StateFullError,
    StreamReasonerError,
)
from streamreasoner.pipeline.attempts import Attempts, LeftOut, Verdict
from streamreasoner.pipeline.failing.isolation import isolate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from streamreasoner.pipeline.attempts import AttemptsFile
    from streamreasoner.pipeline.evaluated import Evaluated
    from streamreasoner.pipeline.evaluator import Evaluator
    from streamreasoner.state.record import Offsets

_ENVIRONMENT = (
    StateError,
    StateFullError,
    DictionaryFullError,
    PartsLostError,
    BrokerError,
    SchemaRegistryError,
    EnvironmentSetupError,
    OSError,
    MemoryError,
)
# Their exceptions come from Spark's processes, disks and network.
_PACKAGES = frozenset({"py4j", "pyspark"})
_LONGEST = 2_000
_ENDED = (
    "The evaluating process dies: it hangs for longer than pipeline.batch_timeout, or is "
    "killed, for example out of memory."
)
_log = logging.getLogger(__name__)


def is_environmental(error: Exception) -> bool:
    """Whether an error comes from the environment and never from a message."""
    package, _, _ = type(error).__module__.partition(".")
    return isinstance(error, _ENVIRONMENT) or package in _PACKAGES


class LastResort:
    """Evaluates batches without the messages that they would fail with.

    Args:
        evaluator: Evaluates a batch.
        file: Records of earlier attempts.
        replayed: An epoch that an earlier process may have begun, None if there is none.
        has_begun: Whether a table has rows of an epoch, which implies that the whole batch
            passed or that there is a verdict.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        file: AttemptsFile,
        replayed: int | None,
        has_begun: Callable[[int], bool],
    ) -> None:
        self._evaluator = evaluator
        self._file = file
        self._replayed = replayed
        self._has_begun = has_begun

    def evaluate(
        self, batch: pa.Table, epoch: int, offsets: Offsets, keep_alive: Callable[[], None]
    ) -> Evaluated:
        """Evaluate a batch as one epoch.

        Args:
            batch: Messages with the columns of `source.COLUMNS`, in the order of a replay.
            epoch: Its epoch.
            offsets: Its input range.
            keep_alive: Called before each trial; restarts the batch timeout.

        Raises:
            StreamReasonerError: The epoch fails, and its messages are not to blame.
        """
        attempts = self._file.about(epoch, offsets)
        if attempts is not None and attempts.verdict is not None:
            return self._evaluator.evaluate(batch, epoch, attempts.verdict)
        if self._has_begun(epoch):
            return self._evaluator.evaluate(batch, epoch)
        if attempts is None:
            if epoch == self._replayed:
                self._file.write(Attempts(epoch, offsets, begun=1))
            try:
                evaluated = self._evaluator.evaluate(batch, epoch)
            except PartsLostError:
                raise
            except Exception as error:
                self._file.forget()
                if is_environmental(error):
                    raise
                attempts = Attempts(epoch, offsets, (describe(error),))
                _log.debug("Epoch %d fails.", epoch, exc_info=error)
            else:
                self._file.forget()
                return evaluated
        elif not attempts.trials:
            attempts = Attempts(epoch, offsets, (_ENDED,))
        _log.warning(
            "Epoch %d fails. It has %s, evaluated in parts to find those that cause the failure.",
            epoch,
            counted(len(batch), "message"),
        )
        verdict = _Trials(self._evaluator, self._file, attempts, keep_alive).verdict(batch)
        keep_alive()
        return self._evaluator.evaluate(batch, epoch, verdict)


class _Trials:
    """The trials of one batch and its parts, including those of earlier processes."""

    def __init__(
        self,
        evaluator: Evaluator,
        file: AttemptsFile,
        attempts: Attempts,
        keep_alive: Callable[[], None],
    ) -> None:
        self._evaluator = evaluator
        self._file = file
        self._epoch, self._offsets = attempts.epoch, attempts.offsets
        self._recorded = attempts.trials
        self._begun = attempts.begun
        self._results = list(attempts.trials[:1])
        self._keep_alive = keep_alive

    def verdict(self, batch: pa.Table) -> Verdict:
        """What to leave out; on the disk on return."""
        evaluator = self._evaluator
        control, messages = evaluator.split(batch)
        nothing = messages.slice(0, 0)
        program = evaluator.program
        failure = self._fails(lambda: evaluator.rehearse(program, nothing), alone=True)
        if failure is not None:
            # A restart with other settings must evaluate the epoch again.
            self._file.forget()
            raise StreamReasonerError(
                f"Epoch {self._epoch} fails even without its messages: {failure} Restart the "
                "process with another program, more memory or a larger pipeline.batch_timeout."
            )
        refused = None
        changed = evaluator.decide(control).program
        if changed is not program:
            refused = self._fails(lambda: evaluator.rehearse(changed, nothing), alone=True)
            program = program if refused is not None else changed

        def fails(accepted: Sequence[int], part: Sequence[int]) -> str | None:
            rows = [*accepted, *part]
            return self._fails(
                lambda: evaluator.rehearse(program, messages.take(rows)), alone=len(part) == 1
            )

        left_out = isolate(len(messages), fails)
        places = messages.select(["topic", "partition", "offset"])
        verdict = Verdict(
            tuple(
                LeftOut(**places.slice(row, 1).to_pylist()[0], why=left_out[row])
                for row in sorted(left_out)
            ),
            refused,
        )
        results = tuple(self._results)
        self._file.write(Attempts(self._epoch, self._offsets, results, verdict=verdict))
        _report(self._epoch, verdict, len(messages))
        return verdict

    def _fails(self, rehearse: Callable[[], None], *, alone: bool) -> str | None:
        """Why a trial fails, as recorded by an earlier process if it got that far.

        Args:
            rehearse: The trial.
            alone: Whether it cannot be split: then it must have ended two processes.
        """
        number = len(self._results)
        if number < len(self._recorded):
            result = self._recorded[number]
        elif self._ended(number, alone=alone):
            result = _ENDED
        else:
            result = self._try(number, rehearse)
        self._results.append(result)
        return result

    def _ended(self, number: int, *, alone: bool) -> bool:
        """Whether earlier processes died in this trial."""
        return number == len(self._recorded) and self._begun >= (2 if alone else 1)

    def _try(self, number: int, rehearse: Callable[[], None]) -> str | None:
        before = self._begun if number == len(self._recorded) else 0
        results = tuple(self._results)
        self._keep_alive()
        self._file.write(Attempts(self._epoch, self._offsets, results, before + 1))
        try:
            rehearse()
        except PartsLostError:
            raise
        except Exception as error:
            if is_environmental(error):
                self._file.write(Attempts(self._epoch, self._offsets, results, before))
                raise
            return describe(error)
        return None


def _report(epoch: int, verdict: Verdict, count: int) -> None:
    """Log the verdict without the errors, which may quote terms; dead letters hold them."""
    if verdict.program_refused is not None:
        _log.warning(
            "Epoch %d fails with its change of the program, which goes to the dead-letter topic.",
            epoch,
        )
    if verdict.left_out:
        first = verdict.left_out[0]
        _log.warning(
            "Epoch %d fails with %d of its %s, which go to the dead-letter topic with the reason. "
            "The first is at offset %d of partition %d of %s.",
            epoch,
            len(verdict.left_out),
            counted(count, "message"),
            first.offset,
            first.partition,
            first.topic,
        )
    elif verdict.program_refused is None:
        _log.warning("Epoch %d passes in parts. Evaluating it with all of its messages.", epoch)


def describe(error: Exception) -> str:
    """An error's message, with its type if it is not a user error."""
    text = str(error) if isinstance(error, StreamReasonerError) else repr(error)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
