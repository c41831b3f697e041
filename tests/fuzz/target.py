"""What is fuzzed, and the search. Invariant: a finding is as small as the search can make it.

A target checks a batch of inputs: each is accepted or rejected as it is documented, and everything
else (an exception, a broken law, too much processor time) is a finding.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fuzz.mutation import Mutator

ACCEPTED = "+"
"""How the outcome of an input begins that is accepted; that of a rejected one is its reason."""


_ONE_OF = 20
"""One accepted input in this many is mutated further."""


class Target(Protocol):
    """One entrance of the package.

    Attributes:
        batch: How many inputs are checked together.
        seeds: Inputs to begin with, good and bad ones.
        tokens: Texts that mean something there.
    """

    batch: int
    seeds: Sequence[bytes]
    tokens: Sequence[bytes]

    def check(self, inputs: Sequence[bytes]) -> list[str]:
        """The outcome of each input; raises where something is wrong."""
        ...


class SlowError(AssertionError):
    """An input that takes too much processor time."""


@dataclass(frozen=True)
class Finding:
    """An input that something is wrong with.

    Attributes:
        data: The input.
        error: What is wrong.
    """

    data: bytes
    error: Exception


@dataclass
class Report:
    """What a search has done.

    Attributes:
        inputs: How many inputs were checked.
        seconds: Processor time of the checks.
        outcomes: How many inputs had each outcome.
        findings: One of each kind.
    """

    inputs: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)

    @property
    def accepted(self) -> int:
        """How many inputs were accepted."""
        return sum(n for name, n in self.outcomes.items() if name.startswith(ACCEPTED))

    def __str__(self) -> str:
        return (
            f"{self.inputs} inputs, {self.accepted} accepted, {len(self.outcomes)} outcomes,"
            f" {self.seconds:.0f} s of processor time, {len(self.findings)} findings"
        )


def search(  # noqa: PLR0917 - in the order of use
    target: Target,
    seeds: Sequence[bytes],
    mutator: Mutator,
    runs: int,
    limit_seconds: float,
    progress: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Check seeds and mutated inputs; those with new outcomes, and some accepted ones, are mutated.

    Args:
        target: What is fuzzed.
        seeds: The first inputs.
        mutator: Makes the inputs.
        runs: How many inputs to make.
        limit_seconds: The most processor time of one input.
        progress: Called after each batch.
    """
    report = Report()
    waiting = list(seeds)
    while waiting or report.inputs < runs:
        # The first batches are of seeds alone: there is nothing else to mutate.
        is_first = bool(waiting)
        inputs, waiting = waiting[: target.batch], waiting[target.batch :]
        inputs = inputs or [mutator.mutated() for _ in range(target.batch)]
        report.inputs += len(inputs)
        began = time.process_time()
        try:
            outcomes = checked(target, inputs, limit_seconds)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            if kind(error) not in report.findings:
                finding = smallest(target, inputs, limit_seconds, error)
                report.findings[kind(error)] = finding
        else:
            for number, (data, outcome) in enumerate(zip(inputs, outcomes, strict=True)):
                accepted = outcome.startswith(ACCEPTED)
                kept = accepted and number % _ONE_OF == 0
                if is_first or kept or outcome not in report.outcomes:
                    mutator.add(data, accepted=accepted)
                report.outcomes[outcome] += 1
        report.seconds += time.process_time() - began
        progress(report)
    return report


def checked(target: Target, inputs: Sequence[bytes], limit_seconds: float) -> list[str]:
    """The outcomes of a batch in which no input takes too long.

    Raises:
        SlowError: One does. A first measurement may have compiled or collected something, so that
            only a second one counts.
    """
    outcomes, seconds = timed(target, inputs)
    if seconds > limit_seconds:
        for data in inputs:
            if min(timed(target, [data])[1], timed(target, [data])[1]) > limit_seconds:
                raise SlowError(f"An input takes more than {limit_seconds} s of processor time.")
    return outcomes


def timed(target: Target, inputs: Sequence[bytes]) -> tuple[list[str], float]:
    """The outcomes of a batch, and their processor time."""
    began = time.process_time()
    return target.check(inputs), time.process_time() - began


def kind(error: Exception) -> str:
    """What findings with the same cause have in common: the exception and where it is raised."""
    where, traceback = "", error.__traceback__
    while traceback is not None:
        where = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return f"{type(error).__name__} at {where}"


def smallest(
    target: Target, inputs: Sequence[bytes], limit_seconds: float, error: Exception
) -> Finding:
    """The smallest input found that goes wrong in the same way, or the inputs that do together."""

    def fails(some: Sequence[bytes]) -> Exception | None:
        try:
            checked(target, some, limit_seconds)
        except Exception as found:  # noqa: BLE001 - compared with the first
            return found if kind(found) == kind(error) else None
        return None

    for data in inputs:
        if found := fails([data]):
            # To shrink what is slow takes too long.
            is_slow = isinstance(found, SlowError)
            return Finding(data, found) if is_slow else Finding(*_shrunk(data, found, fails))
    return Finding(b"\n\0\n".join(inputs), error)


def _shrunk(
    data: bytes, error: Exception, fails: Callable[[Sequence[bytes]], Exception | None]
) -> tuple[bytes, Exception]:
    """The input without the parts that do not matter."""
    size = len(data) // 2
    while size:
        at = 0
        while at < len(data):
            shorter = data[:at] + data[at + size :]
            if found := fails([shorter]):
                data, error = shorter, found
            else:
                at += size
        size //= 2
    return data, error
