"""Who uses an application id. Invariant: a process that finds another one has disturbed nothing.

A transactional id belongs to the process that took it last, which ends the one before, and Kafka
does not tell whether its owner is alive. It does for members of a group: one that sends no
heartbeat for some seconds is removed. So each process is a member of a group of its application.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException

from streamreasoner.errors import BrokerError
from streamreasoner.io.kafka.access.rights import on_groups
from streamreasoner.io.kafka.clients import librdkafka, no_answer, not_created, unreachable
from streamreasoner.io.kafka.topic_checks import admin_client

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from confluent_kafka.admin import AdminClient

    from streamreasoner.config.kafka import KafkaConfig

# Kafka removes a process that was killed after this time; brokers allow no less than 6 s.
_SESSION_SECONDS = 10.0
# For one that was killed just before.
_WAIT_SECONDS = _SESSION_SECONDS + 5.0
_JOIN_SECONDS = 60.0
_DESCRIBE_SECONDS = 5.0
_POLL_SECONDS = 0.2
# A broker that has just started looks for the coordinator of the group.
_LOOKING = frozenset(
    {
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
    }
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Process:
    """A process of an application.

    Attributes:
        host: The name of its machine.
        pid: Its process id there.
        lock: What tells the lock on its state directory from other files of the machine.
        directory: Its state directory.
    """

    host: str
    pid: str
    lock: str
    directory: str

    @classmethod
    def own(cls, directory: Path) -> Process:
        """This process, which holds the lock on a state directory."""
        status = (directory / "lock").stat()
        lock = f"{status.st_dev}:{status.st_ino}"
        return cls(socket.gethostname(), str(os.getpid()), lock, str(directory.absolute()))

    @classmethod
    def read(cls, text: str) -> Process:
        """The process of a member's client id, which other programs may have chosen."""
        parts = text.split(" ", 3)
        return cls(*parts) if len(parts) == 4 else cls("?", "?", "", text)  # noqa: PLR2004 - fields

    def __str__(self) -> str:
        return (
            f"process {self.pid} on the machine {self.host}, with the state directory "
            f"{self.directory}"
        )

    @property
    def client_id(self) -> str:
        """What it tells Kafka."""
        return f"{self.host} {self.pid} {self.lock} {self.directory}"

    def has_replaced(self, other: Process) -> bool:
        """Whether the other one held the lock that this one holds, so that it has ended."""
        return (self.host, self.lock, self.directory) == (other.host, other.lock, other.directory)


class Presence:
    """The membership of this process, from construction to `close`.

    Args:
        kafka: The cluster.
        app_id: The application.
        directory: The state directory, whose lock this process holds.
        check_stop: Called while `check` waits; may end the wait with an exception.
    """

    def __init__(
        self,
        kafka: KafkaConfig,
        app_id: str,
        directory: Path,
        check_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self._kafka = kafka
        self._check_stop = check_stop
        self._app_id = app_id
        self._group = _group(app_id)
        self._own = Process.own(directory)
        # A consumer that one thread polls does not answer another one.
        self._admin = admin_client(kafka)
        self._closed = threading.Event()
        self._refused: KafkaError | None = None
        try:
            settings = librdkafka(
                kafka,
                group_id=self._group,
                client_id=self._own.client_id,
                session_timeout_ms=int(_SESSION_SECONDS * 1000),
                heartbeat_interval_ms=int(_SESSION_SECONDS * 300),
                enable_auto_commit=False,
            )
            # It would log each attempt to connect; the pipeline says that Kafka is away.
            self._consumer = Consumer({**settings, "log_level": 2})
        except KafkaException as error:
            raise not_created(error) from None
        # A member subscribes to a topic; it need not read it.
        self._consumer.subscribe(
            [kafka.progress_topic], on_assign=lambda consumer, _: consumer.assign([])
        )
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Refuse an application id that another process uses.

        Raises:
            BrokerError: There is one, or Kafka does not answer.
        """
        began = time.monotonic()
        while True:
            members = self._members()
            if self._refused is not None:
                self._warn()
                return
            others = self._others(members)
            if self._own in members and not others:
                return
            waited = time.monotonic() - began
            if others and waited > _WAIT_SECONDS:
                raise BrokerError(
                    f"pipeline.app_id {self._app_id} is in use by {listed(others)}. Only one "
                    "process may use it, and this one has not disturbed it. Stop the other, or "
                    "give this one a kafka.output_topic and a state.directory of its own, and a "
                    "pipeline.app_id where it is set."
                )
            if waited > _JOIN_SECONDS:
                raise unreachable(self._kafka, f"joining the group {self._group}")
            self._check_stop()
            time.sleep(_POLL_SECONDS)

    def rivals(self) -> str:
        """The other processes with this application id, in words."""
        try:
            others = self._others(self._members())
        except BrokerError:
            others = []
        return listed(others) if others else f"another process with pipeline.app_id {self._app_id}"

    def why_silent(self, seconds: float) -> str | None:
        """Why no broker answers within some seconds; None if one does. Thread-safe."""
        try:
            self._admin.list_topics(self._kafka.progress_topic, timeout=seconds)
        except KafkaException as error:
            # A client may never again find a broker that did not answer it; a new one does.
            self._admin = admin_client(self._kafka)
            return (
                f"Kafka at {self._kafka.bootstrap_servers} (kafka.bootstrap_servers) does not "
                f"answer: {error.args[0].str()}. Check that the brokers are running."
            )
        return None

    def close(self) -> None:
        """Leave the group."""
        self._closed.set()
        # Without a broker the client would wait for it.
        self._thread.join(_SESSION_SECONDS / 2)

    def _run(self) -> None:
        while not self._closed.is_set():
            message = self._consumer.poll(_POLL_SECONDS)
            error = None if message is None else message.error()
            if error is not None and error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                self._refused = error
        self._consumer.close()

    def _members(self) -> Sequence[Process]:
        try:
            return _members(self._admin, self._group)
        except KafkaException as error:
            cause = error.args[0]
            if cause.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                self._refused = cause
                return ()
            if cause.code() in {*_LOOKING, KafkaError._TIMED_OUT}:  # noqa: SLF001
                return ()
            raise no_answer(self._kafka, error, on_groups(self._app_id)) from None

    def _others(self, members: Sequence[Process]) -> list[Process]:
        return [each for each in members if each != self._own and not self._own.has_replaced(each)]

    def _warn(self) -> None:
        _log.warning(
            "This user may not join the group %s, so a second process with this pipeline.app_id is "
            "not refused: it ends this one. `streamreasoner topics acls run --config FILE` prints "
            "the commands that grant the right.",
            self._group,
        )


def processes(kafka: KafkaConfig, app_id: str) -> Sequence[Process]:
    """The processes of an application, one that was killed within the last seconds included.

    Raises:
        BrokerError: Kafka does not answer or refuses.
    """
    admin, deadline = admin_client(kafka), time.monotonic() + _JOIN_SECONDS
    while True:
        try:
            return _members(admin, _group(app_id))
        except KafkaException as error:
            if error.args[0].code() not in _LOOKING or time.monotonic() > deadline:
                raise no_answer(kafka, error, on_groups(app_id)) from None
        time.sleep(_POLL_SECONDS)


def check_ended(kafka: KafkaConfig, app_id: str, what: str) -> None:
    """Refuse to do something while a process of an application runs.

    Args:
        kafka: The cluster.
        app_id: The application.
        what: What is refused.

    Raises:
        BrokerError: There is one, or Kafka does not answer.
    """
    if found := processes(kafka, app_id):
        raise BrokerError(
            f"pipeline.app_id {app_id} is in use by {listed(found)}, so {what}. Stop it, and "
            f"repeat the command. If it was killed, Kafka knows after {_SESSION_SECONDS:g} s."
        )


def _group(app_id: str) -> str:
    return f"{app_id}-process"


def _members(admin: AdminClient, group: str) -> Sequence[Process]:
    answers = admin.describe_consumer_groups([group], request_timeout=_DESCRIBE_SECONDS)
    return [Process.read(member.client_id) for member in answers[group].result().members]


def listed(found: Sequence[Process]) -> str:
    """Processes in words."""
    return " and ".join(map(str, found))
