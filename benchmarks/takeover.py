"""How long is a pipeline away when it is killed and another process stands by?

    python benchmarks/takeover.py [--takeovers 100] [--scale 0] [--cold] [--json FILE]
    python benchmarks/takeover.py --parts 3 [--executors] ...

The state has the triples of LUBM(`--scale`) under rho-df, none with 0, and the rules of `soak.py`
over a graph whose edges come and go, 20 updates a second. Two processes run `streamreasoner run
--standby`. The one that leads is killed (SIGKILL) at a random moment when the other one is ready,
and a third is started. The time is from the kill to the receipt of the first message that was
appended to the output topic after it. With `--cold` no process stands by: a new one is started.

With `--parts` the state is in executors of a Spark cluster of four workers with a core each, on
this machine. With `--executors`, too, the process goes on, and executors that hold a part are
killed; then the message is one that was appended after the state was restored.

Claims: the sums of all published changes are what a plain search derives from the edges that are
left, no fact changed twice in an epoch or came while it was there; and the worst time is below 3 s,
or below 30 s of a process that begins without Spark: `--cold`, `--parts`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

import numpy as np
from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaAdminClient

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness, soak
from benchmarks.startup import free_port
from streamreasoner.config import load
from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.kafka.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import Callable

    import psutil

CLAIM = 3.0  # seconds
CLAIM_OF_COLD = 30.0
PATIENCE = 900.0
STREAM = 1.0  # seconds of input before a kill, and as much again at random
RATE = 20.0
WORKERS = 4
_RESTORED = "State restored"


def main() -> int:
    """Run the takeovers, print the table, and fail if a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--takeovers", type=int, default=100)
    arguments.add_argument("--scale", type=int, default=0, help="universities of LUBM")
    arguments.add_argument("--cold", action="store_true", help="no process stands by")
    arguments.add_argument("--parts", type=int, help="the state is in executors of a cluster")
    arguments.add_argument("--executors", action="store_true", help="kill those that hold parts")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="streamreasoner-"))
        broker = stack.enter_context(Broker())
        machines = None
        if options.parts is not None:
            sys.path.append(str(harness.ROOT / "tests"))
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="streamreasoner-"))
            cluster = importlib.import_module("cluster").cluster
            machines = stack.enter_context(cluster(Path(place), WORKERS))
        figures = run(Path(directory), broker.bootstrap_servers, options, machines)
    seconds = figures["seconds"]
    rows = [[len(seconds), median(seconds), max(seconds), *figures["errors"].values()]]
    header = ["takeovers", "median, s", "worst, s", *figures["errors"]]
    table = harness.print_table(f"Takeovers, LUBM({options.scale})", header, rows)
    harness.save(options.json, {**harness.machine(), **figures, "tables": [table]})
    claim = CLAIM_OF_COLD if options.cold or options.parts is not None else CLAIM
    is_late = max(seconds) >= claim
    if is_late:
        print(f"CLAIM FAILED: a takeover took {max(seconds):.2f} s.")
    return int(is_late or any(figures["errors"].values()))


def run(
    directory: Path, servers: str, options: argparse.Namespace, machines: Any
) -> dict[str, Any]:
    """All takeovers; returns their seconds, and how many facts are lost, wrong and doubled."""
    config = configure(directory, servers, options, machines)
    random = np.random.default_rng(options.seed)
    stream, reader, arrivals = Stream(servers, random), soak.Reader(servers), Arrivals(servers)
    leader = Process(config)
    leader.await_status(lambda status: status.startswith("ok: the query"))
    seconds = []
    for number in range(options.takeovers):
        standby = None if options.cold or options.executors else Process(config)
        if standby is not None:
            standby.await_status(lambda status: status.startswith("standing by"))
        time.sleep(STREAM * (1 + random.random()))
        killed = after = time.time()
        if options.executors:
            after = leader.lose_executor(machines.executors())
        else:
            leader.kill()
            leader = standby or Process(config)
        seconds.append(arrivals.first_after(after) - killed)
        print(f"{number + 1}: {seconds[-1]:.2f} s", flush=True)
        leader.await_status(lambda status: status.startswith("ok: the query"))
    expected = stream.end()
    soak.settle(reader, expected)
    leader.kill()
    reader.close()
    present = set(reader.present)
    errors = {
        "lost": len(expected - present),
        "wrong": len(present - expected),
        "doubled": reader.doubled,
    }
    return {"seconds": seconds, "errors": errors, "changes": reader.changes}


def configure(directory: Path, servers: str, options: argparse.Namespace, machines: Any) -> Path:
    """The configuration file of the pipeline, its topics, and its state."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    configs = {"message.timestamp.type": "LogAppendTime"}
    admin.create_topics(
        {"updates": {"num_partitions": 4, "replication_factor": 1, "configs": configs}}
    )
    admin.close()
    (directory / "rules.dl").write_text(f'@import "rho-df" .\n{soak.RULES}')
    path = directory / "takeover.toml"
    path.write_text(
        f'[kafka]\nbootstrap_servers = "{servers}"\ninput_topics = ["updates"]\n'
        'output_topic = "changes"\n[rules]\nprogram = "rules.dl"\n[state]\ndirectory = "state"\n'
        f'[log]\nlevel = "info"\n[pipeline]\napp_id = "takeover"\n{_place(options, machines)}'
    )
    create_topics(load(path).kafka, 1, 1)
    if options.scale:
        command = ["bootstrap", *harness.lubm(options.scale), "--config", path, "--no-publish"]
        subprocess.run(
            [sys.executable, "-m", "streamreasoner", *map(str, command)],
            cwd=harness.ROOT,
            check=True,
        )
    return path


def _place(options: argparse.Namespace, machines: Any) -> str:
    """Where the state is, as the end of the section [pipeline] and another one."""
    if machines is None:
        return ""
    settings = {**machines.options, "spark.executorEnv.PYTHONPATH": str(harness.ROOT)}
    lines = "\n".join(f'"{name}" = "{value}"' for name, value in settings.items())
    return f'backend = "executors"\nparts = {options.parts}\n[spark.options]\n{lines}\n'


class Process:
    """A process of the pipeline, with a port of its own."""

    def __init__(self, config: Path) -> None:
        self._port = free_port()
        with (config.parent / "log.txt").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "streamreasoner", "run", "--standby", "--config", config],
                cwd=harness.ROOT,
                env={**os.environ, "STREAMREASONER_SERVER__PORT": str(self._port)},
                stdout=log,
                stderr=log,
            )
        self._log = config.parent / "log.txt"

    def await_status(self, is_wanted: Callable[[str], bool]) -> None:
        """Wait until `/readyz` says what is wanted."""
        deadline = time.monotonic() + PATIENCE
        while not is_wanted(self._status()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(self._log.read_text()[-4000:])
            time.sleep(0.1)

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()

    def lose_executor(self, executors: list[psutil.Process]) -> float:
        """Kill an executor that holds a part; returns when the state is restored."""
        before = self._log.read_text().count(_RESTORED)
        next(filter(_holds_a_part, executors)).kill()
        deadline = time.monotonic() + PATIENCE
        while self._log.read_text().count(_RESTORED) == before:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(self._log.read_text()[-4000:])
            time.sleep(0.01)
        return time.time()

    def _status(self) -> str:
        try:
            url = f"http://127.0.0.1:{self._port}/readyz"
            with urllib.request.urlopen(url, timeout=10) as answer:
                return str(answer.read().decode())
        except HTTPError as error:
            return error.read().decode()
        except OSError:
            return ""


def _holds_a_part(executor: psutil.Process) -> bool:
    """Whether one of its Python processes has connections to others, and not only to Spark."""
    workers = executor.children(recursive=True)
    return any(len(worker.net_connections()) > 1 for worker in workers)


class Stream(threading.Thread):
    """Sends updates at a steady rate until it is told to end."""

    def __init__(self, servers: str, random: np.random.Generator) -> None:
        super().__init__(daemon=True)
        self._load = soak.Load(servers, np.random.default_rng(random.integers(1 << 30)), RATE)
        self._ending = threading.Event()
        self.start()

    def run(self) -> None:
        """Send."""
        began = time.monotonic()
        while not self._ending.is_set():
            self._load.send_until(time.monotonic() - began, settled=False)

    def end(self) -> set[soak.Fact]:
        """End, and return what the rules derive from what was sent."""
        self._ending.set()
        self.join()
        return self._load.facts()


class Arrivals:
    """Reads the output topic, for the times of its messages."""

    def __init__(self, servers: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "arrivals",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self._consumer.assign([TopicPartition("changes", 0, 0)])

    def first_after(self, moment: float) -> float:
        """When the first message is received that was appended after a moment."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            message = self._consumer.poll(0.1)
            if message is None or message.error() is not None:
                continue
            if message.timestamp()[1] > moment * 1000:
                return time.time()
        raise SystemExit("No output.")


if __name__ == "__main__":
    sys.exit(main())
