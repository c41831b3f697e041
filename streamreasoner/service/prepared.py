"""What a pipeline has before its state is restored.

Invariant: it serves one start after the other, and holds the lock on the state meanwhile.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.backends.choice import BackendKind
from streamreasoner.pipeline.warming import warmup
from streamreasoner.service.checks import check_start, check_state
from streamreasoner.service.size import place_of_state, place_to_stand_by
from streamreasoner.service.spark.start import start_spark
from streamreasoner.service.standby.standby import Standby
from streamreasoner.service.watch import start_watch

if TYPE_CHECKING:
    from concurrent.futures import Future
    from contextlib import ExitStack

    from streamreasoner.config import Config
    from streamreasoner.io.observer import PipelineObserver
    from streamreasoner.io.spark.existing import Guest
    from streamreasoner.io.spark.session import RunningSession
    from streamreasoner.service.checks import Checked
    from streamreasoner.service.standby.follower import Follower
    from streamreasoner.service.watch import Watch
    from streamreasoner.system.stopping import Stop


@dataclass(slots=True)
class Prepared:
    """What a pipeline has before its state is restored.

    Attributes:
        config: The configuration.
        guest: How it runs in a process that is someone else's.
        place: Where the state is.
        checked: What the checks of the start have opened; the lock is held.
        watch: What is told of its batches.
        starting: Spark, which may be starting.
        warming: Kernels, which may be compiling.
        follower: What has followed the state of another process, for the first start.
    """

    config: Config
    guest: Guest | None
    place: BackendKind
    checked: Checked
    watch: Watch
    starting: Future[RunningSession]
    warming: Future[None]
    follower: Follower | None

    def renew(self) -> None:
        """Get ready for another start, as after a crash.

        Raises:
            StreamReasonerError: The state cannot be used.
        """
        self.follower = None
        self.checked.upload.fill()
        check_state(self.config)


def prepare(
    config: Config,
    observer: PipelineObserver | None,
    stop: Stop,
    stack: ExitStack,
    *,
    standby: bool = False,
    guest: Guest | None = None,
) -> Prepared:
    """Check the configuration, and start what takes seconds in other threads.

    Args:
        config: The configuration.
        observer: Notified of every batch, in addition to the metrics.
        stop: Ends the start.
        stack: Closes what is opened.
        standby: Whether to wait, ready to take over, while another process has the state.
        guest: How it runs in a process that is someone else's.

    Raises:
        StopRequestedError: The start was ended.
        OtherPlaceError: It stood by for a state that has moved; start again.
        StreamReasonerError: A step of the start failed.
    """
    existing = None if guest is None else guest.session
    checked = check_start(config, stack, standby=standby, existing=existing)
    stop.check()
    watch = start_watch(config, stack, observer)
    # Starting Spark, restoring the state and compiling kernels each take seconds: run them
    # in parallel.
    leads = checked.lock.held
    place = place_of_state(config) if leads else place_to_stand_by(config)
    if watch.metrics is not None:
        watch.metrics.backend(place.value)
    starting, follower = None, None
    # On a cluster, Spark would keep cores that no one uses.
    if leads or place is not BackendKind.EXECUTORS:
        starting = start_spark(config, place, checked.lock, stack, existing)
    warming = stack.enter_context(ThreadPoolExecutor(1)).submit(warmup.prepare, checked.program)
    if not leads:
        follower = Standby(config, place, checked, watch, starting, warming).wait(stop, stack)
    if starting is None:
        starting = start_spark(config, place, checked.lock, stack, existing)
    return Prepared(config, guest, place, checked, watch, starting, warming, follower)
