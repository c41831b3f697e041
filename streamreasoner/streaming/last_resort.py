"""A batch that fails is taken apart. Invariant: only what fails by itself, twice, is left out.

An evaluation fails by an exception, or by ending the process: it hangs until the watchdog acts, or
is killed, for lack of memory say. The second kind is noticed by the next process, which finds an
epoch that is planned and not stored:

| process | does                                              | on the disk                |
|---------|---------------------------------------------------|----------------------------|
| first   | evaluates the epoch, and ends                     | nothing                    |
| second  | notes it, evaluates the epoch again, and ends     | one attempt                |
| third   | notes and evaluates parts of the batch, and so on | the trials, then a verdict |

An exception leads to the trials at once. A trial ends with a rollback. Before anything else it is
tried whether the epoch passes without input: if not, no message is to blame, and nor is one for
failures of the environment.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from streamreasoner.errors import (
    BrokerError,
    EnvironmentSetupError,
    StateError,
    StateFullError,
    StreamReasonerError,
)
from streamreasoner.streaming.attempts import Attempts, LeftOut, Verdict
from streamreasoner.streaming.isolation import isolate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from streamreasoner.streaming.attempts import AttemptsFile
    from streamreasoner.streaming.evaluate import Evaluated, Evaluator
    from streamreasoner.streaming.ports import Offsets

_ENVIRONMENT = (
    StateError,
    StateFullError,
    BrokerError,
    EnvironmentSetupError,
    OSError,
    MemoryError,
)
# What these raise is about Spark's processes, disks and network.
_PACKAGES = frozenset({"py4j", "pyspark", "duckdb", "_duckdb"})
_LONGEST = 2_000
_ENDED = (
    "The process that evaluates it ends: it hangs for longer than pipeline.batch_timeout, or is "
    "killed, as when memory runs out."
)
_log = logging.getLogger(__name__)


def is_environmental(error: Exception) -> bool:
    """Whether an error comes from what surrounds the process, and never from a message."""
    package, _, _ = type(error).__module__.partition(".")
    return isinstance(error, _ENVIRONMENT) or package in _PACKAGES


class LastResort:
    """Evaluates batches, and leaves out of them what they would fail with.

    Args:
        evaluator: Evaluates a batch.
        file: What is known from earlier attempts.
        replayed: An epoch that an earlier process may have begun, None if there is none.
        has_begun: Whether a table has rows of an epoch: then the whole batch was evaluated, or
            there is a verdict.
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
            keep_alive: Called before each evaluation of a part; gives it the time of a batch.

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
            except Exception as error:
                self._file.forget()
                if is_environmental(error):
                    raise
                attempts = Attempts(epoch, offsets, (_said(error),))
                _log.debug("Epoch %d fails.", epoch, exc_info=error)
            else:
                self._file.forget()
                return evaluated
        elif not attempts.trials:
            attempts = Attempts(epoch, offsets, (_ENDED,))
        _log.warning(
            "Epoch %d fails. Its %d messages are evaluated in parts, to find the ones that it "
            "fails with.",
            epoch,
            len(batch),
        )
        verdict = _Trials(self._evaluator, self._file, attempts, keep_alive).verdict(batch)
        keep_alive()
        return self._evaluator.evaluate(batch, epoch, verdict)


class _Trials:
    """The evaluations of one batch and its parts, those of earlier processes included."""

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
        self._known = attempts.trials
        self._begun = attempts.begun
        self._results = list(attempts.trials[:1])
        self._keep_alive = keep_alive

    def verdict(self, batch: pa.Table) -> Verdict:
        """What to leave out; it is on the disk when this returns."""
        evaluator = self._evaluator
        control, messages = evaluator.split(batch)
        nothing = messages.slice(0, 0)
        program = evaluator.program
        found = self._fails(lambda: evaluator.rehearse(program, nothing), alone=True)
        if found is not None:
            raise StreamReasonerError(
                f"Epoch {self._epoch} fails, also without its messages: {found} Restart the "
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
        """Why an evaluation fails, from an earlier process if that has come so far.

        Args:
            rehearse: The evaluation.
            alone: Whether there is nothing to take apart: it must end two processes.
        """
        number = len(self._results)
        if number < len(self._known):
            result = self._known[number]
        elif self._ended(number, alone=alone):
            result = _ENDED
        else:
            result = self._try(number, rehearse)
        self._results.append(result)
        return result

    def _ended(self, number: int, *, alone: bool) -> bool:
        """Whether earlier processes have ended in this evaluation."""
        return number == len(self._known) and self._begun >= (2 if alone else 1)

    def _try(self, number: int, rehearse: Callable[[], None]) -> str | None:
        before = self._begun if number == len(self._known) else 0
        results = tuple(self._results)
        self._keep_alive()
        self._file.write(Attempts(self._epoch, self._offsets, results, before + 1))
        try:
            rehearse()
        except Exception as error:
            if is_environmental(error):
                self._file.write(Attempts(self._epoch, self._offsets, results, before))
                raise
            return _said(error)
        return None


def _report(epoch: int, verdict: Verdict, count: int) -> None:
    """Say what was found; the errors may quote terms, so they are in the dead letters only."""
    if verdict.program_refused is not None:
        _log.warning(
            "Epoch %d fails with its change of the program, which goes to the dead-letter topic.",
            epoch,
        )
    if verdict.left_out:
        first = verdict.left_out[0]
        _log.warning(
            "Epoch %d fails with %d of its %d messages, which go to the dead-letter topic with the "
            "reason. The first is at offset %d of partition %d of %s.",
            epoch,
            len(verdict.left_out),
            count,
            first.offset,
            first.partition,
            first.topic,
        )
    elif verdict.program_refused is None:
        _log.warning("Epoch %d passes in parts. It is evaluated with all of its messages.", epoch)


def _said(error: Exception) -> str:
    """What an error says, as a sentence; of one that no user should see also its kind."""
    text = str(error) if isinstance(error, StreamReasonerError) else repr(error)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
