"""Liveness and readiness. Invariant: alive means no batch is stuck; ready means batches run."""

from __future__ import annotations

import time


class Health:
    """The state behind `/healthz` and `/readyz`; set by one thread, read by others.

    Args:
        batch_timeout: Seconds after which a batch counts as stuck.
    """

    def __init__(self, batch_timeout: float) -> None:
        self._batch_timeout = batch_timeout
        self._ready = False
        self._started: tuple[int, float] | None = None
        self._waiting: str | None = None
        self._standby: str | None = None

    def standing_by(self, status: str | None) -> None:
        """Another process has the state, and this one waits for it; None: it waits no more."""
        self._standby = status

    def ready(self, *, is_ready: bool) -> None:
        """Record whether the state is restored and the query runs."""
        self._ready = is_ready

    def batch_started(self, epoch: int) -> None:
        """A batch begins."""
        self._started = (epoch, time.monotonic())

    def waiting(self, reason: str | None) -> None:
        """The batch waits for Kafka, so it is not stuck; None: it goes on."""
        self._waiting = reason
        if reason is None and self._started is not None:
            self._started = (self._started[0], time.monotonic())

    def batch_finished(self) -> None:
        """The batch is done."""
        self._started = None

    def is_alive(self) -> tuple[bool, str]:
        """Whether no batch is stuck, and a one-line status."""
        if self._standby is not None:
            return True, f"ok: {self._standby}"
        started = self._started
        if started is None:
            return True, "ok: no batch is running"
        epoch, since = started
        if self._waiting is not None:
            return True, f"ok: batch {epoch} waits for Kafka"
        seconds = time.monotonic() - since
        if seconds > self._batch_timeout:
            return False, f"batch {epoch} has been running for {seconds:.0f} s"
        return True, f"ok: batch {epoch} is running"

    def is_ready(self) -> tuple[bool, str]:
        """Whether the query takes batches, and a one-line status."""
        if self._standby is not None:
            return False, self._standby
        if not self._ready:
            return False, "the state is being restored, or the query has stopped"
        waiting = self._waiting
        if waiting is not None:
            return False, f"waiting for Kafka: {waiting}"
        return True, "ok: the query is running"
