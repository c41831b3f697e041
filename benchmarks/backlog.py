"""A backlog of millions of messages: is memory bounded, and does the batch size find its target?

    python benchmarks/backlog.py [--messages 10000000] [--bytes 0] [--target 5] [--json FILE]

The topic holds the backlog before the pipeline starts, so all input arrives at once. Each message
asserts or retracts at random one of 100,000 facts, so the state is bounded, and what grows is
batches; `--bytes` pads each message with white space. Claims: the sum of the published changes is
what a plain count of the messages says; Python and Java together never have more than `--memory`
MiB more than after the first batch; no batch after the first has more bytes than
`pipeline.max_batch_bytes`; and the second half takes at most 1.25 times the processor time of the
same pipeline if it only reads, which it does first. The estimate of the time to catch up, as the
metrics have it, is printed alongside the time that it really took.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness, pipeline
from benchmarks.soak import processes, usage
from streamreasoner.config import load
from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.kafka.topics import create_topics
from streamreasoner.pipeline.pressure.limit import default_max_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

RULES = """
@output seen, busy .
seen(?x) :- at(?x, ?p) .
busy(?p, count(?x)) :- at(?x, ?p) .
"""
RUNS = {pipeline.READING: "nothing", "backlog": "changes"}
"""The output topics of a pipeline that only reads, and of the one that is measured."""
PLACES, THINGS, PARTITIONS = 10, 10_000, 4
CHUNK = 100_000  # messages
EVERY = 0.5  # seconds from one sample to the next
SHOWN = 12  # rows of the table over time
PATIENCE = 3 * 3600  # seconds for the backlog
READING = 0.8  # the claim: the share of reading in the processor time
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"

Fact = tuple[str, ...]


def main() -> int:
    """Work the backlog off, print the tables, and fail if a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--messages", type=int, default=10_000_000)
    arguments.add_argument("--bytes", type=int, default=0, help="least length of a message")
    arguments.add_argument("--target", type=float, default=5.0, help="target_batch_time, seconds")
    arguments.add_argument("--memory", type=int, default=1024, help="MiB above the first batch")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="streamreasoner-backlog-") as name, Broker() as broker:
        figures = measure(Path(name), broker.bootstrap_servers, options)
    figures = {**harness.machine(), **vars(options), **figures, "json": None}
    figures["tables"] = report(figures)
    harness.save(options.json, figures)
    return 0 if all(figures["claims"].values()) else 1


def measure(directory: Path, servers: str, options: argparse.Namespace) -> dict[str, Any]:
    """The whole run; returns samples, batches and claims."""
    began = time.monotonic()
    configs = {name: configure(directory, servers, name, options.target) for name in RUNS}
    counts = produce(servers, options)
    print(f"Sent {options.messages:,} messages in {time.monotonic() - began:.0f} s.", flush=True)
    read = run(directory, *configs[pipeline.READING], options.messages)
    worked = run(directory, *configs["backlog"], options.messages)
    present, doubled = published(servers)
    return {
        "samples": worked.samples,
        "batches": worked.batches,
        "ended": worked.ended,
        **judge(worked, read, present == expected(counts), doubled, options),
    }


@dataclass(frozen=True)
class Run:
    """A pipeline that has worked the backlog off."""

    samples: list[dict[str, float]]
    batches: list[dict[str, Any]]
    ended: float

    @property
    def later(self) -> dict[str, float]:
        """Messages per second, and seconds of processor time for a million, of the second half."""
        first, *later = self.batches[len(self.batches) // 2 - 1 :]
        rows = sum(batch["rows"] for batch in later)
        # What was used up to the end of a batch, as the sample after it has it.
        samples = [sample for sample in self.samples if sample["rows"] > 0]
        half = sum(batch["rows"] for batch in self.batches) - rows
        start, end = next(each for each in samples if each["rows"] >= half), samples[-1]
        of_samples = end["rows"] - start["rows"]
        return {
            "messages_per_second": rows / (later[-1]["at"] - first["at"]),
            "python": (end["python_cpu"] - start["python_cpu"]) / of_samples * 1e6,
            "java": (end["java_cpu"] - start["java_cpu"]) / of_samples * 1e6,
        }


def run(directory: Path, config: Path, port: int, messages: int) -> Run:
    """Work the backlog off in a process of its own."""
    log = directory / f"{config.stem}.jsonl"
    log.touch()
    child = [sys.executable, str(pipeline.__file__), "--child", str(config), str(log)]
    process = subprocess.Popen(child, start_new_session=True, cwd=harness.ROOT)
    samples: list[dict[str, float]] = []
    try:
        ended = watch(process, port, log, messages, samples)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(pipeline.DEADLINE)
    batches = [
        {key: batch[key] for key in ("rows", "at", "seconds")} for batch in pipeline.events(log)
    ]
    return Run(samples, batches, ended)


def configure(directory: Path, servers: str, name: str, target: float) -> tuple[Path, int]:
    """The configuration file of a pipeline, its topics, and the port of its metrics."""
    (directory / "rules.dl").write_text(RULES)
    path, port = directory / f"{name}.toml", free_port()
    path.write_text(
        f'[kafka]\nbootstrap_servers = "{servers}"\ninput_topics = ["updates"]\n'
        f'output_topic = "{RUNS[name]}"\n[rules]\nprogram = "rules.dl"\n'
        f'[state]\ndirectory = "{name}"\n'
        f'[pipeline]\napp_id = "{name}"\ntarget_batch_time = {target}\n'
        f'[server]\nport = {port}\n[log]\nlevel = "warning"\n'
    )
    create_topics(load(path).kafka, PARTITIONS, 1)
    return path, port


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def produce(servers: str, options: argparse.Namespace) -> NDArray[np.int64]:
    """Send the backlog; returns the sum of the updates of each fact."""
    random = np.random.default_rng(options.seed)
    counts = np.zeros(THINGS * PLACES, np.int64)
    values = [
        json.dumps(
            {"predicate": "at", "args": [thing(i), place(i)], "diff": diff}, separators=(",", ":")
        )
        for diff in (-1, 1)
        for i in range(THINGS * PLACES)
    ]
    padding = options.bytes - max(map(len, values))
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "linger.ms": 50,
            "compression.type": "lz4",
            "message.max.bytes": 16 << 20,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 256 << 10,
        }
    )
    for first in range(0, options.messages, CHUNK):
        size = min(CHUNK, options.messages - first)
        facts = random.integers(THINGS * PLACES, size=size)
        asserted = random.integers(2, size=size)
        np.add.at(counts, facts, 2 * asserted - 1)
        for number in (asserted * THINGS * PLACES + facts).tolist():
            value = values[number] + " " * padding
            while True:
                try:
                    producer.produce("updates", value)
                except BufferError:
                    producer.poll(0.1)
                else:
                    break
        producer.poll(0)
    if left := producer.flush(pipeline.DEADLINE):
        raise SystemExit(f"{left} messages were not sent.")
    return counts


def thing(number: int) -> str:
    """The first argument of a fact."""
    return f"<urn:x:{number // PLACES}>"


def place(number: int) -> str:
    """The second argument of a fact."""
    return f"<urn:p:{number % PLACES}>"


def expected(counts: NDArray[np.int64]) -> set[Fact]:
    """What the rules derive, counted without them."""
    present = np.flatnonzero(counts > 0).tolist()
    busy = Counter(place(number) for number in present)
    facts: set[Fact] = {("seen", thing(number)) for number in present}
    return facts | {("busy", name, f'"{total}"^^{INTEGER}') for name, total in busy.items()}


def published(servers: str) -> tuple[set[Fact], int]:
    """The sum of all published changes, and how many came to a fact that was there already."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "backlog-reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition("changes", number, 0) for number in range(PARTITIONS)])
    present: set[Fact] = set()
    doubled = ends = 0
    while ends < PARTITIONS:
        message = consumer.poll(pipeline.DEADLINE)
        assert message is not None, "The output topic does not answer."
        if message.error() is not None:
            ends += 1
            continue
        change = json.loads(message.value())
        fact = (change["predicate"], *change["args"])
        doubled += (change["diff"] == 1) == (fact in present)
        (present.add if change["diff"] == 1 else present.discard)(fact)
    consumer.close()
    return present, doubled


def watch(
    process: subprocess.Popen[bytes],
    port: int,
    log: Path,
    messages: int,
    samples: list[dict[str, float]],
) -> float:
    """Sample until all messages are in finished batches; returns when the last one ended."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"The pipeline ended with {process.returncode}.")
        batches = pipeline.events(log)
        rows = sum(batch["rows"] for batch in batches)
        samples.append(
            {"at": time.time(), "rows": rows, **resources(process.pid), **dict(metrics(port))}
        )
        if rows >= messages:
            return float(batches[-1]["at"])
        time.sleep(EVERY)
    raise SystemExit(f"{messages - rows} messages are left after {PATIENCE} s.")


def resources(session: int) -> dict[str, float]:
    """Resident MiB and seconds of processor time of Python and Java."""
    found = dict.fromkeys(("python_mib", "java_mib", "python_cpu", "java_cpu"), 0.0)
    for pid in processes(session):
        resident, ticks, name = usage(pid)
        kind = "java" if name == "java" else "python"
        found[f"{kind}_mib"] += round(resident)
        found[f"{kind}_cpu"] += ticks / os.sysconf("SC_CLK_TCK")
    return found


def metrics(port: int) -> Iterator[tuple[str, float]]:
    """Limit, bytes and estimate, if the pipeline serves them yet."""
    names = {
        "streamreasoner_batch_limit_messages": "limit",
        "streamreasoner_batch_bytes": "bytes",
        "streamreasoner_catch_up_seconds": "catch_up",
    }
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return
    for line in lines:
        name, _, value = line.partition(" ")
        if name in names:
            yield names[name], float(value)


def judge(
    run_: Run,
    read: Run,
    is_exact: bool,  # noqa: FBT001 - a result
    doubled: int,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """The figures and the claims."""
    samples, batches = run_.samples, run_.batches
    ours, floor = run_.later, read.later
    ratio = (floor["python"] + floor["java"]) / (ours["python"] + ours["java"])
    working = [sample for sample in samples if sample["rows"] > 0]
    start = batches[0]["at"] - batches[0]["seconds"]
    took = batches[-1]["at"] - start
    totals = [sample["python_mib"] + sample["java_mib"] for sample in working]
    figures = {
        "messages": sum(batch["rows"] for batch in batches),
        "seconds": round(took, 1),
        "messages_per_second": round(options.messages / took),
        "batches": len(batches),
        "first batch, messages": batches[0]["rows"],
        "largest batch, messages": max(batch["rows"] for batch in batches),
        "median batch of the second half, s": round(
            median(batch["seconds"] for batch in batches[len(batches) // 2 :]), 2
        ),
        "second half, messages per second": round(ours["messages_per_second"]),
        "second half, only reading": round(floor["messages_per_second"]),
        "CPU s per million: Java": ours["java"],
        "CPU s per million: Java, only reading": floor["java"],
        "CPU s per million: Python": ours["python"],
        "CPU s per million: Python, only reading": floor["python"],
        "only reading, share of CPU time": ratio,
        "longest batch, s": round(max(batch["seconds"] for batch in batches), 2),
        "largest batch, MiB": round(max(s.get("bytes", 0) for s in working) / 2**20, 1),
        "python, MiB: after the first batch": working[0]["python_mib"],
        "python, MiB: greatest": max(sample["python_mib"] for sample in working),
        "java, MiB: after the first batch": working[0]["java_mib"],
        "java, MiB: greatest": max(sample["java_mib"] for sample in working),
    }
    return {
        "figures": figures,
        "claims": {
            "exact": is_exact,
            "nothing doubled": doubled == 0,
            "memory bounded": max(totals) - totals[0] <= options.memory,
            "bytes bounded": all(
                sample.get("bytes", 0) <= default_max_bytes() for sample in working
            ),
            "mostly reading": ratio >= READING,
        },
    }


def report(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Print the figures; returns the tables."""
    title = f"A backlog of {figures['messages']:,} messages, target {figures['target']:g} s"
    lines = list(figures["figures"].items()) + list(figures["claims"].items())
    working = [sample for sample in figures["samples"] if sample["rows"] > 0]
    rows = [
        (
            round(sample["at"] - working[0]["at"]),
            sample["rows"],
            int(sample.get("limit", 0)),
            sample["python_mib"],
            sample["java_mib"],
            round(sample.get("catch_up", math.nan), 1),
            round(figures["ended"] - sample["at"], 1),
        )
        for sample in working[:: max(1, math.ceil(len(working) / SHOWN))]
    ]
    header = ("seconds", "done", "limit", "Python MiB", "Java MiB", "estimate s", "truth s")
    return [
        harness.print_table(title, ("figure", "value"), lines),
        harness.print_table("Over time", header, rows),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
