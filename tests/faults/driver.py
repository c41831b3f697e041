"""A pipeline that kills itself: `driver.py CONFIG POINT EPOCH`.

The process sends itself SIGKILL at the named point of the first epoch from EPOCH on. The point
`ignore-marker` kills nothing: it ignores the progress marker, a bug that the fault tests must
detect. Nor does `clock`, which makes the clock wrong.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from streamreasoner.config import load
from streamreasoner.io.kafka.sink import Sink
from streamreasoner.io.observer import PipelineObserver
from streamreasoner.pipeline import recovery
from streamreasoner.pipeline.attempts import AttemptsFile
from streamreasoner.service import supervise
from streamreasoner.state import schemas
from streamreasoner.state.delta.table import Table
from streamreasoner.state.objects.journal import Journal
from streamreasoner.system.stopping import on_signals


def die():
    """Crash: no handlers, no clean-up."""
    os.kill(os.getpid(), signal.SIGKILL)


class DieAfterStage(PipelineObserver):
    """Dies when a stage of the batch is done: `read`, `decode`, ..., `publish`, or the batch."""

    def __init__(self, point, epoch):
        self.point, self.from_epoch, self.epoch, self.last = point, epoch, -1, ""

    def batch_started(self, epoch, _rows):
        """Record the epoch."""
        self.epoch, self.last = epoch, "read"

    def stage(self, name, _seconds):
        """Record the stage, and die if this is the one."""
        self.last = name
        if name == self.point and self.epoch >= self.from_epoch:
            die()

    def batch_finished(self, epoch, _seconds):
        """Die if this is the point."""
        if self.point == "finished" and epoch >= self.from_epoch:
            die()


def own(record):
    """The tables that have rows of an epoch; the trace is not among them."""
    return {name for name, epoch in record.latest.items() if epoch == record.epoch}


def die_within_store(epoch, first, last):
    """Die within durable step 1: the first of two tables has the epoch, the last has not."""
    append, appended = Table.append, threading.Event()

    def cut(self, files, record, *rest):
        if (
            record.epoch >= epoch
            and self.name == last
            and {first, last} <= {schemas.TRACE, *own(record)}
        ):
            appended.wait()
            die()
        result = append(self, files, record, *rest)
        if record.epoch >= epoch and self.name == first:
            appended.set()
        return result

    Table.append = cut


def die_within_publish(epoch):
    """Die within durable step 2: the broker has every message, the transaction is open."""
    publish = Sink.publish

    def cut(self, publication):
        if publication.marker.epoch >= epoch:
            commit = self._producer
            self._producer = Uncommitted(commit)
        publish(self, publication)

    Sink.publish = cut


UPLOADS = {
    "within-plan-upload": ("read", "die"),
    "plan-uploaded": ("read", "done"),
    "within-upload": ("store", "die"),
    "uploaded": ("store", "done"),
    "stall": ("store", "stall"),
}
"""Points of an upload: the stage that it follows, and what is done."""


def within_upload(observer, after, act):
    """Die in the upload after a stage, before the store has it or right after; or stop there."""
    append = Journal.append

    def cut(self, *args, **options):
        due = observer.epoch >= observer.from_epoch and observer.last == after
        if due and act == "die":
            die()
        if due and act == "stall":
            Journal.append = append
            sys.stderr.write("STALLED\n")
            # Of this thread: it would go on for a moment while another one handles the signal.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        append(self, *args, **options)
        if due and act == "done":
            die()

    Journal.append = cut


class Uncommitted:
    """A producer that dies instead of committing."""

    def __init__(self, producer):
        self.producer = producer

    def commit_transaction(self, _):
        """Die, after the messages have been acknowledged."""
        assert self.producer.flush() == 0
        die()

    def __getattr__(self, name):
        return getattr(self.producer, name)


def die_with_a_verdict():
    """Die after the verdict is written: no table has the epoch yet."""
    write = AttemptsFile.write

    def cut(self, attempts):
        write(self, attempts)
        if attempts.verdict is not None:
            die()

    AttemptsFile.write = cut


def ignore_marker():
    """Publish every replayed epoch again."""
    recover = recovery.resume
    recovery.resume = lambda *parts: replace(recover(*parts), published=-1)


def jump():
    """Let the clock of Python be as wrong as a file says, in seconds."""
    right, file = time.time, Path(os.environ["WRONG_CLOCK"])
    time.time = lambda: right() + float(file.read_text() or 0)


def main():
    """Run the pipeline with one point armed."""
    config, point, epoch = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    observer = DieAfterStage(point, epoch)
    match point:
        case "within-store":
            die_within_store(epoch, schemas.CHANGES, schemas.TRACE)
        case "without-program":
            die_within_store(epoch, schemas.TRACE, schemas.PROGRAMS)
        case "verdict":
            die_with_a_verdict()
        case _ if point in UPLOADS:
            within_upload(observer, *UPLOADS[point])
        case "within-publish":
            die_within_publish(epoch)
        case "ignore-marker":
            ignore_marker()
        case "clock":
            jump()
    with on_signals() as stop:
        supervise.run(load(config), stop, observer)


if __name__ == "__main__":
    main()
