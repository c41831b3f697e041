"""Hours of a steady load with restarts: is every change exact, and does anything grow?

    python benchmarks/soak.py [--minutes 120] [--restart 20] [--rate 20] [--json FILE]

A pipeline keeps paths, counts and negations over a graph whose edges come and go; the graph has a
bounded number of nodes. Every `--restart` minutes it is ended and started again, in turn by
SIGTERM, and by SIGKILL of all its processes. A reader sums all published changes. Claims: at the
end the sums are the facts that a plain search derives from the edges that are left, no fact changed
twice in an epoch or came while it was there; and in the second half neither memory, nor files, nor
bytes on disk, nor the median latency exceed the first half's greatest values by more than a
quarter. Latency is from the append of a message to the receipt of its change; messages of the half
minute after a start are counted apart.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaAdminClient

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from streamreasoner.config import load
from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.kafka.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = """
@output reach, size, last, pong .
reach(?x, ?y) :- next(?x, ?y) .
reach(?x, ?z) :- reach(?x, ?y), next(?y, ?z) .
size(?x, count(?y)) :- reach(?x, ?y) .
last(?y) :- next(_, ?y), not next(?y, _) .
pong(?x, ?n) :- ping(?x, ?n) .
"""
GROUPS, NODES, PINGS = 200, 6, 50  # groups of nodes that edges connect; subjects of pings
EDGES = 7  # of a group, at most, of its 36
SETTLED = 30  # seconds after a start
SAMPLE = 30  # seconds
PATIENCE = 120  # seconds to wait for what was sent last
QUARTER = 1.25  # the claim
KIB = 1024

Fact = tuple[str, ...]


def main() -> int:
    """Run the load, print the tables, and fail if a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--minutes", type=float, default=120)
    arguments.add_argument("--restart", type=float, default=20, help="minutes between restarts")
    arguments.add_argument("--rate", type=float, default=20, help="updates of edges per second")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="streamreasoner-soak-") as name, Broker() as broker:
        figures = soak(Path(name), broker.bootstrap_servers, options)
    figures = {**harness.machine(), **vars(options), **figures, "json": None}
    figures["tables"] = report(figures)
    harness.save(options.json, figures)
    return 0 if all(figures["claims"].values()) else 1


def soak(directory: Path, servers: str, options: argparse.Namespace) -> dict[str, Any]:
    """The whole run; returns counts, samples and claims."""
    config = configure(directory, servers)
    load_ = Load(servers, np.random.default_rng(options.seed), options.rate)
    reader = Reader(servers)
    pipeline = Pipeline(config)
    samples: list[dict[str, float]] = []
    began, sampled, ends = time.monotonic(), 0.0, 0
    while (now := time.monotonic() - began) < options.minutes * 60:
        load_.send_until(now, settled=pipeline.age() > SETTLED)
        if now >= sampled + SAMPLE:
            sampled = now
            samples.append({"seconds": round(now), **pipeline.sizes(), **reader.latencies(load_)})
            print(samples[-1], flush=True)
        if now >= (ends + 1) * options.restart * 60:
            pipeline.end(signal.SIGKILL if ends % 2 else signal.SIGTERM)
            pipeline, ends = Pipeline(config), ends + 1
    expected = load_.facts()
    settle(reader, expected)
    pipeline.end(signal.SIGTERM)
    reader.close()
    present = set(reader.present)
    counts = {
        "updates": load_.sent,
        "changes": reader.changes,
        "epochs": reader.epochs,
        "restarts": ends,
        "facts": len(expected),
        "lost": len(expected - present),
        "wrong": len(present - expected),
        "doubled": reader.doubled,
    }
    return {"counts": counts, "samples": samples, **judge(counts, samples)}


def configure(directory: Path, servers: str) -> Path:
    """The configuration file of the pipeline, and its topics."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    configs = {"message.timestamp.type": "LogAppendTime"}
    topic = {"num_partitions": 4, "replication_factor": 1, "configs": configs}
    admin.create_topics({"updates": topic})
    admin.close()
    (directory / "rules.dl").write_text(RULES)
    path = directory / "soak.toml"
    path.write_text(
        f'[kafka]\nbootstrap_servers = "{servers}"\ninput_topics = ["updates"]\n'
        'output_topic = "changes"\n[rules]\nprogram = "rules.dl"\n[state]\ndirectory = "state"\n'
        '[pipeline]\napp_id = "soak"\ntrigger_interval = 1.0\n'
        "[retention]\nchanges = 600.0\nversions = 60.0\n"
        '[server]\nport = 0\n[log]\nlevel = "warning"\n'
    )
    create_topics(load(path).kafka, 1, 1)
    return path


class Load:
    """Edges that come and go at random, and a ping a second. Sends at a steady rate."""

    def __init__(self, servers: str, random: np.random.Generator, rate: float) -> None:
        self.sent = 0
        self.appended: dict[Fact, tuple[float, bool]] = {}
        self._random, self._rate = random, rate
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "acks": 1})
        self._edges: list[Counter[tuple[int, int]]] = [Counter() for _ in range(GROUPS)]
        self._pings: dict[int, int] = {}
        self._pinged = 0

    def send_until(self, now: float, *, settled: bool) -> None:
        """Send what is due after `now` seconds, then wait a little."""
        while self._pinged < now:
            self._ping(settled=settled)
        while self.sent < now * self._rate:
            self._toggle()
        self._producer.poll(0.02)

    def facts(self) -> set[Fact]:
        """What the rules derive, found by a plain search."""
        found: set[Fact] = {("pong", ping(x), integer(n)) for x, n in self._pings.items()}
        for group, edges in enumerate(self._edges):
            following: dict[int, set[int]] = {}
            for x, y in edges:
                following.setdefault(x, set()).add(y)
            for x in following:
                seen = reachable(x, following)
                found |= {("reach", node(group, x), node(group, y)) for y in seen}
                found.add(("size", node(group, x), integer(len(seen))))
            ends = {y for _, y in edges} - following.keys()
            found |= {("last", node(group, y)) for y in ends}
        return found

    def _toggle(self) -> None:
        group = int(self._random.integers(GROUPS))
        edges = self._edges[group]
        x, y = (int(number) for number in self._random.integers(NODES, size=2))
        diff = 1
        if edges.total() >= EDGES:
            (x, y), diff = sorted(edges)[x % len(edges)], -1
        elif edges[x, y] and x < y:
            diff = -1
        edges[x, y] += diff
        self._edges[group] = +edges  # without those that are gone
        self._send("next", [node(group, x), node(group, y)], diff)
        self.sent += 1

    def _ping(self, *, settled: bool) -> None:
        subject, self._pinged = self._pinged % PINGS, self._pinged + 1
        name = ping(subject)
        if subject in self._pings:
            self._send("ping", [name, self._pings[subject]], -1)
        value = self._pings[subject] = (self._pings.get(subject, 0) + 1) % 3
        self._send("ping", [name, value], 1, ("pong", name, integer(value)), settled=settled)

    def _send(
        self,
        predicate: str,
        args: list[Any],
        diff: int,
        fact: Fact | None = None,
        *,
        settled: bool = False,
    ) -> None:
        def delivered(error: object, message: Any) -> None:
            assert error is None, error
            if fact is not None:
                self.appended[fact] = (message.timestamp()[1], settled)

        value = json.dumps({"predicate": predicate, "args": args, "diff": diff})
        # The key keeps the updates of a fact in order.
        key = f"{predicate} {args[0]}"
        self._producer.produce("updates", value, key=key, on_delivery=delivered)


def ping(number: int) -> str:
    """The term of a subject of pings."""
    return f"<urn:p:{number}>"


def integer(value: int) -> str:
    """The term of an integer, as published."""
    return f'"{value}"^^<http://www.w3.org/2001/XMLSchema#integer>'


def node(group: int, number: int) -> str:
    """A node's term."""
    return f"<urn:n:{group}:{number}>"


def reachable(start: int, following: dict[int, set[int]]) -> set[int]:
    """The nodes at the ends of paths of at least one edge."""
    seen: set[int] = set()
    waiting = list(following[start])
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            waiting += following.get(current, ())
    return seen


class Reader(threading.Thread):
    """Sums the published changes as they come."""

    def __init__(self, servers: str) -> None:
        super().__init__(daemon=True)
        self.present: set[Fact] = set()
        self.changes = self.doubled = self.epochs = 0
        self._last: dict[Fact, int] = {}
        self._epoch = -1
        self._received: list[tuple[Fact, float]] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "soak",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self._consumer.assign([TopicPartition("changes", 0, 0)])
        self._closed = False
        self.start()

    def run(self) -> None:
        """Read until closed."""
        while not self._closed:
            for message in self._consumer.consume(500, 0.2):
                if message.error() is None:
                    self._read(json.loads(message.value()), time.time() * 1000)

    def close(self) -> None:
        """Stop reading."""
        self._closed = True
        self.join()
        self._consumer.close()

    def latencies(self, load_: Load) -> dict[str, float]:
        """Milliseconds of the pings received since the last call."""
        received, self._received = self._received, []
        settled, restarted = [], []
        for fact, at in received:
            appended, steady = load_.appended.get(fact, (at, False))
            (settled if steady else restarted).append(at - appended)
        found = {"greatest_ms": max(settled + restarted, default=0.0)}
        if settled:
            p50, p99 = np.percentile(settled, (50, 99))
            found |= {"p50_ms": float(p50), "p99_ms": float(p99)}
        return {name: round(value) for name, value in found.items()}

    def _read(self, change: dict[str, Any], at: float) -> None:
        fact = (change["predicate"], *change["args"])
        epoch, added = change["epoch"], change["diff"] == 1
        self.changes += 1
        self.epochs += epoch != self._epoch
        self._epoch = epoch
        self.doubled += self._last.get(fact) == epoch or added == (fact in self.present)
        self._last[fact] = epoch
        if added:
            self.present.add(fact)
        else:
            self.present.discard(fact)
        if added and fact[0] == "pong":
            self._received.append((fact, at))


class Pipeline:
    """A pipeline and its processes."""

    def __init__(self, config: Path) -> None:
        self._directory = config.parent / "state"
        self._started = time.monotonic()
        command = [sys.executable, "-m", "streamreasoner", "run", "--config", str(config)]
        self._process = subprocess.Popen(command, start_new_session=True, cwd=harness.ROOT)

    def age(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def end(self, by: signal.Signals) -> None:
        """End it: by SIGTERM in good order, by SIGKILL with all its processes."""
        if self._process.poll() is not None:
            raise SystemExit(f"The pipeline ended with {self._process.returncode}.")
        if by is signal.SIGKILL:
            os.killpg(self._process.pid, by)
        else:
            self._process.terminate()
        self._process.wait(PATIENCE)

    def sizes(self) -> dict[str, float]:
        """MiB in memory by Python and Java, files and MiB on disk, processor seconds so far."""
        python = java = ticks = 0.0
        for pid in processes(self._process.pid):
            memory, used, name = usage(pid)
            ticks += used
            java, python = (java + memory, python) if name == "java" else (java, python + memory)
        files = sizes = 0
        for path in self._directory.rglob("*"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue  # deleted meanwhile
            files, sizes = files + 1, sizes + status.st_size
        return {
            "age": round(self.age()),
            "python_mib": round(python),
            "java_mib": round(java),
            "files": files,
            "disk_mib": round(sizes / KIB**2, 1),
            "cpu_seconds": round(ticks / os.sysconf("SC_CLK_TCK"), 1),
        }


def processes(session: int) -> Iterator[int]:
    """The processes of a session."""
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                if os.getsid(int(path.name)) == session:
                    yield int(path.name)
            except ProcessLookupError:
                continue


def usage(pid: int) -> tuple[float, int, str]:
    """Resident MiB, clock ticks of processor time, and the name of a process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8")
        pages = int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0.0, 0, ""
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return pages * os.sysconf("SC_PAGE_SIZE") / KIB**2, int(fields[11]) + int(fields[12]), name


def settle(reader: Reader, expected: set[Fact]) -> None:
    """Wait until the reader has what is expected, or has had the time for it."""
    deadline = time.monotonic() + PATIENCE
    while set(reader.present) != expected and time.monotonic() < deadline:
        time.sleep(1)


def judge(counts: dict[str, int], samples: list[dict[str, float]]) -> dict[str, Any]:
    """The claims, and the figures of both halves."""
    middle = len(samples) // 2
    halves = {}
    for name in ("python_mib", "java_mib", "files", "disk_mib"):
        first, second = (
            max(sample[name] for sample in half) for half in (samples[:middle], samples[middle:])
        )
        halves[name] = (first, second)
    first, second = (
        median(sample["p50_ms"] for sample in half if "p50_ms" in sample)
        for half in (samples[:middle], samples[middle:])
    )
    halves["p50_ms"] = (first, second)
    claims = {"exact": not counts["lost"] + counts["wrong"] + counts["doubled"]}
    claims |= {name: second <= QUARTER * first for name, (first, second) in halves.items()}
    return {"halves": halves, "claims": claims}


def report(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Print and return the tables."""
    names = {
        "python_mib": "memory of Python, greatest, MiB",
        "java_mib": "memory of Java, greatest, MiB",
        "files": "files, greatest",
        "disk_mib": "on disk, greatest, MiB",
        "p50_ms": "median latency, median of samples, ms",
    }
    rows = [(names[name], *half) for name, half in figures["halves"].items()]
    greatest = max(sample["greatest_ms"] for sample in figures["samples"])
    title = f"{figures['minutes']:g} minutes, a restart every {figures['restart']:g}"
    return [
        harness.print_table(title, ("figure", "count"), list(figures["counts"].items())),
        harness.print_table(
            "Bounds",
            ("figure", "first half", "second half"),
            rows,
            f"Greatest latency, restarts included: {greatest:,} ms.",
        ),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
