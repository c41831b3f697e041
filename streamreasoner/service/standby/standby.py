"""Waits for the state of a running pipeline, with all that a start takes.

Invariant: until it holds the lock it writes nothing that the other process reads, and takes no id.

Spark runs, kernels are compiled, and an engine follows the state. Of a state in executors, only
kernels are compiled: Spark would take cores that the other process needs. The lock says who leads:
a process that dies releases it, whatever it died of, and its JVM dies with it. From then on this is
a start like any other, which finds the state restored.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.backends.choice import BackendKind
from streamreasoner.pipeline.warming.rehearsal import rehearse
from streamreasoner.service.checks import check_state
from streamreasoner.service.size import place_of_state, recorded_place
from streamreasoner.service.standby.follower import Follower

if TYPE_CHECKING:
    from concurrent.futures import Future
    from contextlib import ExitStack

    from streamreasoner.config import Config
    from streamreasoner.io.spark.session import RunningSession
    from streamreasoner.service.checks import Checked
    from streamreasoner.service.watch import Watch
    from streamreasoner.system.stopping import Stop

_POLL_SECONDS = 0.05
_log = logging.getLogger(__name__)


class OtherPlaceError(Exception):
    """The state has moved to another backend: stand by again, as that one needs it."""


@dataclass(frozen=True, slots=True)
class Standby:
    """What a process has that stands by.

    Attributes:
        config: Its configuration.
        place: Where the state is.
        checked: What the checks of its start have opened.
        watch: Shows that it stands by.
        starting: Spark, which starts; None if it is to start when this process leads.
        warming: Kernels, which are compiled.
    """

    config: Config
    place: BackendKind
    checked: Checked
    watch: Watch
    starting: Future[RunningSession] | None
    warming: Future[None]

    def wait(self, stop: Stop, stack: ExitStack) -> Follower | None:
        """Return when this process holds the lock; what follows the state, if it is in memory.

        Raises:
            StopRequestedError: The process is asked to end.
            OtherPlaceError: The state is elsewhere by now.
            StreamReasonerError: The state cannot be followed.
        """
        config, lock = self.config, self.checked.lock
        threads = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="rehearsal"))
        rehearsing = threads.submit(self._rehearse, self.starting)
        follower = None
        if self.place is BackendKind.COLUMNAR:
            follower = Follower(config, self.checked.program)
        leader = lock.holder
        _log.info("Process %s has the state. This one stands by.", leader)
        while not lock.take():
            stop.check()
            leader = lock.holder
            if recorded_place(config) not in {self.place, None}:
                raise OtherPlaceError
            if follower is not None:
                follower.follow()
            if self.watch.metrics is not None:
                is_ready = rehearsing.done() and self.warming.done()
                status = _status(leader, follower, is_ready=is_ready)
                self.watch.metrics.standing_by(status, -1 if follower is None else follower.epoch)
            time.sleep(_POLL_SECONDS)
        _log.info("Process %s has ended. This one takes over.", leader)
        self.checked.upload.fill()
        check_state(config)
        if place_of_state(config) is not self.place:
            raise OtherPlaceError
        stop.result(rehearsing)
        if self.watch.metrics is not None:
            self.watch.metrics.standing_by(None)
        return follower

    def _rehearse(self, starting: Future[RunningSession] | None) -> None:
        if starting is not None:
            config = self.config
            rehearse(starting.result(), config.kafka, config.rules.control_topic)


def _status(leader: str, follower: Follower | None, *, is_ready: bool) -> str:
    if not is_ready:
        return f"getting ready to stand by for process {leader}"
    if follower is None:
        return f"standing by for process {leader}"
    epoch = f"at epoch {follower.epoch}" if follower.epoch >= 0 else "which has no epoch yet"
    return f"standing by for process {leader}, {epoch}"
