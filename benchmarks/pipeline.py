"""From Kafka to Kafka: reasoning compared with passing messages through, in one run.

    python benchmarks/pipeline.py [--scale 10] [--rounds 3] [--messages 200] [--json FILE]

Two pipelines read the same topic through the same code: one runs rho-df and publishes what it
derives, the other runs no rules and publishes what it reads. A third one only reads the backlog,
and `Spark alone` is a query of plain PySpark that does, in batches as large as the full ones of the
pipelines. Claims: with reasoning, a backlog of single-triple JSON messages is processed at least
half as fast as without, and 0.8 times as fast as Spark alone reads it; and with LUBM(10) loaded, at
20 messages per second, median and 95th percentile of the latency are within 1.3 times the other's.
Latency is from the append of a message to the input topic, as the broker stamps it, to the receipt
of its first change by a read_committed consumer. The pipelines alternate, so all run under the
same conditions. In each round of the backlog they begin with nothing, and a round before the first
is not counted: it records Java's classes and compiles kernels for all later ones. Their rates are
medians, and so are the ratios of the rates of a round. The rounds of latency continue from the
tables of the last. Processor time is that of working the backlog off, start included: between timed
messages a pipeline asks the broker for more all the time. `full_batches_per_second` is the rate of
the backlog's rest, in messages: without the first batches, which grow, and the last one.

Pathway gives things the superclasses of their types, in one process after the others, if the
environment variable `PATHWAY_PYTHON` names an interpreter that has it. Its rate is that between its
first and its last output, and nothing is claimed of it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaAdminClient

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from benchmarks.peers import AbsentError, pathway
from benchmarks.soak import processes, usage
from streamreasoner.config import load
from streamreasoner.io.formats.ntriples import read
from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.kafka.topics import create_topics
from streamreasoner.io.observer import PipelineObserver
from streamreasoner.io.spark.series import CONNECTOR
from streamreasoner.pipeline.batch import EpochRunner
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.service import assemble, supervise
from streamreasoner.system import jvm
from streamreasoner.system.memory import keep_freed_memory
from streamreasoner.system.stopping import on_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

RULES = {"rho-df": "derived", "pass-through": "all"}
READING = "reading"
SPARK = "Spark alone"
SPARK_STREAM = Path(__file__).resolve().parent / "peers" / "spark_stream.py"
INPUT = "triples"
PARTITIONS = 4
RATE = 20
# The claims: latency within, and throughput at least, of passing through and of Spark alone.
CLOSE, HALF, MOST = 1.3, 0.5, 0.8
WARM_UP = 40
BACKLOG = 600_000
DEADLINE = 300
PAUSE = 5  # seconds without output after which a backlog is worked off
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
CLASS = "<http://swat.cse.lehigh.edu/onto/univ-bench.owl#FullProfessor>"


class Reading(EpochRunner):
    """The epochs of a pipeline that only reads."""

    def run(self, batch: pa.Table, epoch: int, keep_alive: Callable[[], None]) -> None:
        """Forget the messages of a batch."""
        self._previous, self._next = self.range(epoch), epoch + 1


class EventLog(PipelineObserver):
    """An observer that writes its events as lines of JSON."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self._rows = 0
        self._stages: dict[str, float] = {}

    def batch_started(self, epoch: int, rows: int) -> None:
        """Begin a line."""
        self._rows, self._stages = rows, {}

    def stage(self, name: str, seconds: float) -> None:
        """Record a stage."""
        self._stages[name] = seconds

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """Fail: no message may be rejected."""
        assert not rejected, rejected

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """End the line."""
        line = {"rows": self._rows, "at": time.time(), "seconds": seconds, "stages": self._stages}
        self._file.write(json.dumps(line) + "\n")


def main() -> int:
    """Measure, print the tables, and fail if a claim does not hold."""
    # As `streamreasoner run` does; a child inherits what it sets for Arrow.
    keep_freed_memory()
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=10, choices=(1, 10, 50))
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--messages", type=int, default=200, help="timed ones in each round")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    arguments.add_argument("--child", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        config, log = options.child
        if config.stem == READING:
            assemble.EpochRunner = Reading
        with on_signals() as stop:
            supervise.run(load(config), stop, EventLog(log))
        return 0
    files = harness.lubm(options.scale)
    with tempfile.TemporaryDirectory(prefix="streamreasoner-bench-") as name, Broker() as broker:
        figures = measure(Path(name), broker.bootstrap_servers, files, options)
    figures = {**harness.machine(), "scale": options.scale, **figures}
    figures["tables"] = report(figures)
    harness.save(options.json, figures)
    ratios = figures["ratios"]
    latency = max(ratios["p50"], ratios["p95"])
    caught_up = ratios["catch_up"] >= HALF and ratios["catch_up_of_spark_alone"] >= MOST
    return 0 if latency <= CLOSE and caught_up else 1


def measure(
    directory: Path, servers: str, files: list[Path], options: argparse.Namespace
) -> dict[str, Any]:
    """First the backlog, then latency, both in rounds that alternate between pipelines."""
    create_input(servers)
    total = produce_files(servers, files)
    print(f"{total:,} messages wait in {PARTITIONS} partitions.", flush=True)
    rounds: list[dict[str, dict[str, float]]] = []
    for number in range(1 + options.rounds):
        place = directory / f"round-{number}"
        place.mkdir()
        topics = {name: f"{name}-{number}" for name in (READING, *RULES)}
        configs = {name: configure(place, servers, name, topics[name]) for name in topics}
        rounds.append({name: work_off(config, total) for name, config in configs.items()})
        full = max(event["rows"] for event in events(configs[READING].with_suffix(".jsonl")))
        rounds[-1][SPARK] = read_alone(place, servers, full, total)
        print(f"round {number} of the backlog: {rounds[-1]}", flush=True)
    del rounds[0]
    catch_up = {
        name: {
            figure: round(float(np.median([each[name][figure] for each in rounds])), 3)
            for figure in rounds[0][name]
        }
        for name in rounds[0]
    }
    del configs[READING]
    latencies: dict[str, list[float]] = {name: [] for name in RULES}
    stages: dict[str, list[dict[str, Any]]] = {name: [] for name in RULES}
    for number in range(options.rounds):
        for name, config in configs.items():
            log = directory / f"{name}-{number}.jsonl"
            subjects = [f"<urn:bench:{name}:{number}:{i}>" for i in range(options.messages)]
            with pipeline(config, log):
                warm_up = [f"<urn:warm:{name}:{number}:{i}>" for i in range(WARM_UP)]
                measure_latency(servers, topics[name], warm_up)
                measured = measure_latency(servers, topics[name], subjects)
            latencies[name] += measured
            stages[name] += events(log)[-options.messages // 2 :]
            print(f"{name}, round {number}: {percentiles(measured)}", flush=True)
    rows = {
        name: {**catch_up[name], **percentiles(latencies[name]), **stage_medians(stages[name])}
        for name in RULES
    }
    rows |= {name: catch_up[name] for name in (READING, SPARK)}
    ours, floor = rows["rho-df"], rows["pass-through"]

    def rated(figure: str, beside: str) -> float:
        return float(np.median([each["rho-df"][figure] / each[beside][figure] for each in rounds]))

    try:
        rows["Pathway"] = beside(servers, files[0], total, options)
    except AbsentError as error:
        print(error, file=sys.stderr)
    return {
        "messages": total,
        "pipelines": rows,
        "ratios": {
            "catch_up": rated("messages_per_second", "pass-through"),
            "catch_up_of_spark_alone": rated("messages_per_second", SPARK),
            "full_batches_of_spark_alone": rated("full_batches_per_second", SPARK),
            "catch_up_of_reading": rated("messages_per_second", READING),
            "full_batches_of_reading": rated("full_batches_per_second", READING),
            "cpu": rated("cpu_seconds_per_million", "pass-through"),
            "p50": ours["p50_ms"] / floor["p50_ms"],
            "p95": ours["p95_ms"] / floor["p95_ms"],
        },
    }


def work_off(config: Path, total: int) -> dict[str, float]:
    """The figures of a pipeline that works a backlog of this many messages off."""
    log = config.with_suffix(".jsonl")
    with pipeline(config, log) as session:
        return worked_off(log, session, total)


def read_alone(directory: Path, servers: str, messages: int, total: int) -> dict[str, float]:
    """The figures of Spark alone, with at most this many messages in a batch."""
    log, checkpoint = directory / "spark.jsonl", directory / "spark-checkpoint"
    jars = map(str, jvm.jars("spark", [CONNECTOR]).glob("*.jar"))
    command = [SPARK_STREAM, servers, INPUT, str(messages), checkpoint, log, *jars]
    with process([sys.executable, *command], log) as session:
        return worked_off(log, session, total)


def worked_off(log: Path, session: int, total: int) -> dict[str, float]:
    """The figures of a process, once it has worked this many messages off."""
    await_rows(log, total)
    used = processor_seconds(session)
    return {**rates(events(log)), "cpu_seconds_per_million": used / total * 1e6}


def beside(servers: str, schema: Path, total: int, options: argparse.Namespace) -> dict[str, float]:
    """The same figures of Pathway: first the backlog, then as many messages as in all rounds."""
    python = pathway.interpreter()
    topic = "pathway"
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})
    admin.close()
    consumer = at_end(servers, topic)
    with pathway.pipeline(python, servers, INPUT, topic, schema):
        first, last = span(consumer)
        measure_latency(servers, topic, [f"<urn:warm:pathway:{i}>" for i in range(WARM_UP)])
        count = options.rounds * options.messages
        measured = measure_latency(
            servers, topic, [f"<urn:bench:pathway:{i}>" for i in range(count)]
        )
    consumer.close()
    return {"messages_per_second": round(total / (last - first)), **percentiles(measured)}


def span(consumer: Consumer) -> tuple[float, float]:
    """When the first and the last message came, before a pause."""
    times: list[float] = []
    while message := consumer.poll(PAUSE if times else DEADLINE):
        if message.error() is None:
            times.append(time.monotonic())
    if len(times) < 2:  # noqa: PLR2004
        raise SystemExit("Pathway has put out nothing.")
    return times[0], times[-1]


def create_input(servers: str) -> None:
    """Create the input topic, with timestamps by the broker."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    configs = {"message.timestamp.type": "LogAppendTime"}
    admin.create_topics(
        {INPUT: {"num_partitions": PARTITIONS, "replication_factor": 1, "configs": configs}}
    )
    admin.close()


def configure(directory: Path, servers: str, name: str, topic: str) -> Path:
    """A pipeline's configuration file and its topics; the application is called as its output."""
    program = "rho-df" if name == "rho-df" else "./none.dl"
    (directory / "none.dl").write_text("")
    path = directory / f"{name}.toml"
    path.write_text(
        f'[kafka]\nbootstrap_servers = "{servers}"\ninput_topics = ["{INPUT}"]\n'
        f'output_topic = "{topic}"\n[rules]\nprogram = "{program}"\n'
        f'[state]\ndirectory = "{name}"\n[pipeline]\napp_id = "{topic}"\n'
        f'[output]\ninclude = "{RULES.get(name, "all")}"\n[server]\nport = 0\n'
        '[log]\nlevel = "warning"\n'
    )
    create_topics(load(path).kafka, 1, 1)
    return path


def produce_files(servers: str, files: list[Path]) -> int:
    """Send every triple of the files as a JSON message; returns their number."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20, "acks": 1})
    dictionary = Dictionary()
    count = 0
    for path in files:
        for block in read(path, dictionary):
            columns = (dictionary.decode(block[:, i]).to_pylist() for i in range(3))
            for triple in zip(*columns, strict=True):
                send(producer, *triple)
            count += len(block)
    producer.flush()
    return count


def send(producer: Producer, subject: str, predicate: str, object_: str, **callback: Any) -> None:
    """One message; waits while the producer's queue is full."""
    value = json.dumps({"s": subject, "p": predicate, "o": object_, "diff": 1})
    while True:
        try:
            producer.produce(INPUT, value, **callback)
        except BufferError:
            producer.poll(0.05)
        else:
            producer.poll(0)
            return


@contextmanager
def pipeline(config: Path, log: Path) -> Iterator[int]:
    """A pipeline in a separate process, ended with SIGTERM; gives its session."""
    with process([sys.executable, __file__, "--child", config, log], log) as session:
        yield session


@contextmanager
def process(command: list[str | Path], log: Path) -> Iterator[int]:
    """A process that writes a log, ended with SIGTERM; gives its session."""
    log.touch()
    running = subprocess.Popen(command, start_new_session=True)
    try:
        yield running.pid
        if running.poll() is not None:
            raise SystemExit(f"The process that writes {log.name} ended with {running.returncode}.")
    finally:
        if running.poll() is None:
            os.kill(running.pid, signal.SIGTERM)
        running.wait(DEADLINE)


def processor_seconds(session: int) -> float:
    """Seconds of processor time of a pipeline, Python and Java, since its start."""
    return sum(usage(pid)[1] for pid in processes(session)) / os.sysconf("SC_CLK_TCK")


def events(log: Path) -> list[dict[str, Any]]:
    """The finished batches."""
    return [json.loads(line) for line in log.read_text().splitlines()]


def await_rows(log: Path, total: int) -> None:
    """Wait until batches with this many rows are finished."""
    deadline = time.monotonic() + DEADLINE
    while sum(event["rows"] for event in events(log)) < total:
        if time.monotonic() > deadline:
            raise SystemExit(f"{log.stem} has not caught up after {DEADLINE} seconds.")
        time.sleep(0.2)


def rates(batches: list[dict[str, Any]]) -> dict[str, float]:
    """Messages per second: from the start of the first batch on, and of full batches alone."""
    start = batches[0]["at"] - batches[0]["seconds"]
    done, end = 0, start
    for batch in batches:
        if done < BACKLOG:
            done, end = done + batch["rows"], batch["at"]
    # Batches grow up to the first full one, and the last one has the rest.
    half = max(batch["rows"] for batch in batches) / 2
    first, *full = [batch for batch in batches[:-1] if batch["rows"] > half]
    seconds = full[-1]["at"] - first["at"] if full else math.nan
    return {
        "messages_per_second": round(done / (end - start)),
        "full_batches_per_second": sum(batch["rows"] for batch in full) / seconds,
        "evaluate_share": round(
            sum(b["stages"].get("evaluate", 0) for b in batches)
            / sum(b["seconds"] for b in batches),
            3,
        ),
    }


def measure_latency(servers: str, topic: str, subjects: list[str]) -> list[float]:
    """Milliseconds from append to receipt, for one message per subject, RATE per second."""
    received: dict[str, float] = {}
    done = threading.Event()
    consumer = at_end(servers, topic)
    reader = threading.Thread(target=receive, args=(consumer, set(subjects), received, done))
    reader.start()
    appended: dict[str, float] = {}
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "acks": 1})
    start = time.monotonic()
    for i, subject in enumerate(subjects):
        while (pause := start + i / RATE - time.monotonic()) > 0:
            producer.poll(pause)

        def delivered(error: object, message: Any, subject: str = subject) -> None:
            assert error is None, error
            appended[subject] = message.timestamp()[1]

        send(producer, subject, TYPE, CLASS, callback=delivered)
    producer.flush()
    if not done.wait(DEADLINE):
        raise SystemExit(f"{len(subjects) - len(received)} changes did not arrive.")
    reader.join()
    return [received[subject] - appended[subject] for subject in subjects]


def at_end(servers: str, topic: str) -> Consumer:
    """A consumer of new messages of a topic's only partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    partition = TopicPartition(topic, 0)
    _, partition.offset = consumer.get_watermark_offsets(partition)
    consumer.assign([partition])
    return consumer


def receive(
    consumer: Consumer, subjects: set[str], received: dict[str, float], done: threading.Event
) -> None:
    """Record when the first change of each subject arrives."""
    while len(received) < len(subjects):
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        subject = message.key().decode()
        if subject in subjects:
            received.setdefault(subject, time.time() * 1000)
    consumer.close()
    done.set()


def percentiles(milliseconds: list[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    return {
        "p50_ms": round(float(np.percentile(milliseconds, 50)), 1),
        "p95_ms": round(float(np.percentile(milliseconds, 95)), 1),
    }


def stage_medians(batches: list[dict[str, Any]]) -> dict[str, float]:
    """Median milliseconds of each stage, in small batches."""
    names = ("read", "decode", "evaluate", "store", "publish")
    return {
        f"{name}_ms": round(float(np.median([b["stages"].get(name, 0) for b in batches])) * 1000, 2)
        for name in names
    }


def report(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Print the figures with a column for each pipeline; returns the tables."""
    rows = figures["pipelines"]
    lines = [(key, *(row.get(key, "") for row in rows.values())) for key in rows["rho-df"]]
    title = f"LUBM({figures['scale']}), {figures['messages']:,} messages, then {RATE} a second"
    header = ("rho-df / pass-through", "ratio")
    return [
        harness.print_table(title, ("figure", *rows), lines),
        harness.print_table("Against passing through", header, list(figures["ratios"].items())),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
