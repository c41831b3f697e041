"""A single-node Kafka on loopback for demos, tests and benchmarks, without a container.

Invariant: the broker does not outlive the process that started it, even after SIGKILL.

    with Broker() as broker:
        produce_to(broker.bootstrap_servers)
"""

from __future__ import annotations

import base64
import contextlib
import logging
import random
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from streamreasoner.errors import BrokerError, EnvironmentSetupError
from streamreasoner.system import jvm
from streamreasoner.system.class_data import ClassData

if TYPE_CHECKING:
    from typing import Self

KAFKA_VERSION = "4.3.0"
COORDINATES = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",
)
# Flags for short start-up and little memory, at the expense of peak throughput.
_JVM_FLAGS = ("-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_READY_SECONDS = 300.0
_STOP_SECONDS = 15.0
# A broker that records its classes writes the archive when it exits.
_RECORDING_STOP_SECONDS = 120.0
_PORT_ATTEMPTS = 3
# Below those that systems give to outgoing connections: one of these could take the port of a
# broker that is killed and started again.
_PORTS = range(20_000, 32_768)
# Java's exit code after SIGTERM.
_STOPPED = 143

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.heartbeat.interval.ms=1000
broker.session.timeout.ms=4000
metadata.max.idle.interval.ms=0
log.cleaner.dedupe.buffer.size=4194304
num.network.threads=2
num.io.threads=2
"""

_LOGGING = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p %c{1}: %m%n
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
"""

_log = logging.getLogger(__name__)


def is_downloaded() -> bool:
    """Whether the broker's jars are in the cache, so that a start needs no network."""
    return jvm.are_downloaded(f"kafka-{KAFKA_VERSION}", COORDINATES)


class Broker:
    """An embedded single-node KRaft broker as a context manager.

    The ports are chosen at the first start and reused, so clients survive `kill` and `start`.

    Args:
        directory: Where data, configuration and log are kept; a broker started on an earlier one's
            directory continues its topics. None means a temporary directory, removed by
            `stop`.
        properties: Lines that override the configuration chosen here; `{port}` and
            `{controller_port}` in them stand for the broker's ports.
        port: Port for clients; None means any free port.
    """

    def __init__(
        self, directory: Path | None = None, properties: str = "", port: int | None = None
    ) -> None:
        self._port = port
        self._temporary = directory is None
        self._directory = directory
        # The last of two lines with the same name wins.
        self._properties = _PROPERTIES + properties
        self._ports: tuple[int, int] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._process_group: jvm.ProcessGroup | None = None
        self._class_data: ClassData | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` for clients; known once started."""
        if self._ports is None:
            raise BrokerError("The embedded broker has not been started.")
        return f"127.0.0.1:{self._ports[0]}"

    @property
    def directory(self) -> Path:
        """Where data, configuration and `broker.log` are; known once started."""
        if self._directory is None:
            raise BrokerError("The embedded broker has not been started.")
        return self._directory

    @property
    def log_file(self) -> Path:
        """The broker's output, over all its starts."""
        return self.directory / "broker.log"

    @property
    def pid(self) -> int | None:
        """Process id while running, else None."""
        return self._process.pid if self._process is not None else None

    @property
    def exit_code(self) -> int | None:
        """How it ended by itself, minus the number if by a signal; else None."""
        return self._process.poll() if self._process is not None else None

    def start(self) -> None:
        """Start and wait until the broker answers an administrative request.

        Raises:
            EnvironmentSetupError: Java or the jars are missing, or the port is taken.
            BrokerError: The broker does not start; the message ends with the log's last lines.
        """
        if self._process is not None:
            raise BrokerError("The embedded broker is already running.")
        command = jvm.java()
        jars = sorted(jvm.jars(f"kafka-{KAFKA_VERSION}", COORDINATES).glob("*.jar"))
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="streamreasoner-kafka-"))
        self._directory.mkdir(parents=True, exist_ok=True)
        java = [command, *_JVM_FLAGS, f"-Dlog4j2.configurationFile={self._write_logging()}"]
        java += ["-cp", ":".join(map(str, jars))]
        # Another process can take a free port before Kafka binds it; only a first start may move.
        attempts = 1 if self._ports else _PORT_ATTEMPTS
        for attempt in range(1, attempts + 1):
            ports = self._ports or _free_ports(self._port)
            class_data = ClassData("kafka", command, jars, self._directory)
            self._class_data = class_data
            try:
                self._launch(java, ports, class_data)
            except BrokerError as error:
                self.kill()
                if attempt == attempts or "Address already in use" not in str(error):
                    self._remove_if_temporary()
                    raise
            except BaseException:
                self.kill()
                self._remove_if_temporary()
                raise
            else:
                self._ports = ports
                return

    def wait(self) -> None:
        """Wait until the broker ends by itself.

        Raises:
            BrokerError: It has ended.
        """
        if self._process is not None:
            code = self._process.wait()
            raise self._failure(f"The broker has ended with exit code {code}")

    def stop(self) -> None:
        """Stop gracefully, or by force after a deadline; removes a temporary directory."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            recording = self._class_data is not None and self._class_data.recording
            timeout = _RECORDING_STOP_SECONDS if recording else _STOP_SECONDS
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                _log.warning("The broker did not stop within %s s: killing it.", timeout)
        self.kill()
        self._remove_if_temporary()

    def kill(self) -> None:
        """Kill the broker at once (SIGKILL); its data remain, and `start` continues with them."""
        if self._process_group is not None:
            self._process_group.close()
        code = None if self._process is None else self._process.wait()
        if self._class_data is not None:
            self._class_data.close(exited=code == _STOPPED)
        self._process = self._process_group = self._class_data = None

    def _launch(self, java: list[str], ports: tuple[int, int], class_data: ClassData) -> None:
        properties = self._write_properties(ports)
        self._process_group = jvm.ProcessGroup()
        with self.log_file.open("ab") as log:
            group = self._process_group.id
            if not (self.directory / "data" / "meta.properties").exists():
                cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
                format_storage = [
                    *java,
                    *class_data.flags_of_readers,
                    "kafka.tools.StorageTool",
                    "format",
                    f"--cluster-id={cluster}",
                ]
                format_storage += ["-c", str(properties)]
                result = subprocess.run(
                    format_storage,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    check=False,
                    process_group=group,
                )
                if result.returncode != 0:
                    raise self._failure("Cannot format the embedded broker's storage")
            self._process = subprocess.Popen(
                [*java, *class_data.flags, "kafka.Kafka", str(properties)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=group,
            )
        self._await_ready(f"127.0.0.1:{ports[0]}")

    def _await_ready(self, address: str) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        host, port = address.split(":")
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is not None:
                raise self._failure("The embedded broker exited during start-up")
            with contextlib.suppress(OSError, KafkaError):
                # The client backs off for seconds when refused, so it asks only an open port.
                socket.create_connection((host, int(port)), timeout=1).close()
                admin = KafkaAdminClient(bootstrap_servers=address, request_timeout_ms=5_000)
                try:
                    if admin.describe_cluster()["brokers"]:
                        return
                finally:
                    admin.close()
            time.sleep(0.05)
        raise self._failure(f"The embedded broker did not answer within {_READY_SECONDS} s")

    def _write_properties(self, ports: tuple[int, int]) -> Path:
        path = self.directory / "server.properties"
        data = self.directory / "data"
        path.write_text(self._properties.format(port=ports[0], controller_port=ports[1], data=data))
        return path

    def _write_logging(self) -> Path:
        path = self.directory / "log4j2.properties"
        path.write_text(_LOGGING)
        return path

    def _failure(self, what: str) -> BrokerError:
        lines = self.log_file.read_text(errors="replace").splitlines()
        tail = [line for line in lines if not line.startswith("\tat ")][-12:]
        return BrokerError(f"{what}. The end of {self.log_file}:\n" + "\n".join(tail))

    def _remove_if_temporary(self) -> None:
        if self._temporary and self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None


def _free_ports(port: int | None) -> tuple[int, int]:
    """Free ports for clients, or the given one, and for the controller."""
    free = filter(_is_free, random.sample(_PORTS, len(_PORTS)))
    if port is None:
        return next(free), next(free)
    with socket.socket() as clients:
        clients.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            clients.bind(("127.0.0.1", port))
        except OSError as error:
            raise EnvironmentSetupError(
                f"Port {port} cannot be used: {error.strerror}. Choose another, or stop the "
                "process that listens there."
            ) from None
        return port, next(free)


def _is_free(port: int) -> bool:
    with socket.socket() as tried, contextlib.suppress(OSError):
        tried.bind(("127.0.0.1", port))
        return True
    return False
