"""Sessions of Spark for benchmarks, and the processor time of their processes.

Invariant: processor time of Python and of Java is told apart, as Java only places what Python does.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from streamreasoner.backends.parts.elsewhere import PartsElsewhere
from streamreasoner.io.spark import session
from streamreasoner.state.lock import StateLock
from streamreasoner.system import jvm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from streamreasoner.plan.program_plan import Reduction


@contextmanager
def spark(settings: Mapping[str, str]) -> Iterator[session.RunningSession]:
    """A session with a JVM of its own, and with its files in a temporary folder."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="streamreasoner-")))
        lock, processes = StateLock(folder), jvm.ProcessGroup()
        stack.callback(lock.close)
        stack.callback(processes.close)
        running = session.start("benchmark", folder, settings, lock.descriptor, processes)
        stack.callback(running.stop)
        yield running


@dataclass(frozen=True, slots=True)
class Cost:
    """What some work has taken.

    Attributes:
        seconds: By the clock.
        driver: Seconds of processor time of this process.
        parts: Those of the processes that hold parts, all together.
        java: Those of the processes of Java that this one has started, all together.
    """

    seconds: float
    driver: float
    parts: float
    java: float

    def __truediv__(self, count: int) -> Cost:
        """The share of each of several equal works."""
        return Cost(*(each / count for each in (self.seconds, self.driver, self.parts, self.java)))


def measured(work: Callable[[], object], parts: Any = None) -> Cost:
    """What a call takes, without what it takes to measure it.

    Args:
        work: Called once.
        parts: Those that other processes hold, if any.
    """
    java, elsewhere = _java(), _elsewhere(parts)
    driver, started = time.process_time(), time.perf_counter()
    work()
    seconds, driver = time.perf_counter() - started, time.process_time() - driver
    return Cost(seconds, driver, _elsewhere(parts) - elsewhere, _java() - java)


def resident(parts: Any) -> list[int]:
    """Bytes of memory that each process has that holds a part."""
    found: list[int] = parts.ask(_resident)
    return found


def _resident(_: object) -> int:
    """Asked in the process of a part."""
    return int(psutil.Process().memory_info().rss)


def _elsewhere(parts: Any) -> float:
    """Seconds of processor time of the processes that hold parts."""
    return 0.0 if parts is None else float(sum(parts.ask(_processor_time)))


def _processor_time(_: object) -> float:
    """Asked in the process of a part."""
    return time.process_time()


def _java() -> float:
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if process.name() == "java":
                times = process.cpu_times()
                total += times.user + times.system
    return total


class Counted(PartsElsewhere):
    """Parts in other processes, whose exchanges are counted.

    Attributes:
        rounds: How often each part has sent each other a parcel.
    """

    rounds = 0

    def settle(self, iteration: int) -> int:
        """Settle an iteration, and exchange changes of facts that others have copies of."""
        self.rounds += 1
        return super().settle(iteration)

    def derive(self, iteration: int) -> None:
        """Apply the deltas, and exchange heads."""
        self.rounds += 1
        super().derive(iteration)

    def reduce(self, reduction: Reduction) -> None:
        """Replace results of a reduction, and exchange them."""
        self.rounds += 1
        super().reduce(reduction)
