"""The cost of starting commands, a first epoch and a pipeline, compared with another checkout.

    python benchmarks/startup.py [--against PATH] [--rounds 3] [--data FILE...] [--json FILE]

Each start is a separate process, alternating between this checkout and the other, with warm caches:
the first start of each is not counted. Costs are medians, in seconds of processor time including
all child processes, which other load affects less than elapsed time. Memory is resident: for a
pipeline that of all processes together, otherwise the peak. A pipeline has an embedded broker, not
counted, and one message to read; with `--data` its state has the triples of N-Triples files.

Claims: half of the other checkout's processor time for `--help`, `check` and `explain-plan`, and
until a pipeline is ready.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from kafka import KafkaConsumer, TopicPartition

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from streamreasoner.config import load
from streamreasoner.io.codec.encode import Message
from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.kafka.topics import create_topics, produce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from streamreasoner.config.kafka import KafkaConfig

COMMAND = ("-m", "streamreasoner")
# Runs Python and prints seconds of processor time and the peak of resident KiB, for which a process
# counts the memory of the one that started it: this one is small.
METER = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
words = [sys.executable, *sys.argv[1:]]
process = os.posix_spawn(words[0], words, os.environ, file_actions=quiet)
_, status, used = os.wait4(process, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
EPOCH = """
import rdflib
from streamreasoner import Reasoner, Update
names = [rdflib.URIRef(f"urn:{letter}") for letter in "abc"]
print(Reasoner.from_rules("rho-df").apply([Update.triple(*names)]))
"""
COMPLETION = """
import os, sys
os.environ |= {{"_STREAMREASONER_COMPLETE": "complete_bash"}}
os.environ |= {{"COMP_WORDS": "streamreasoner {words}", "COMP_CWORD": "{place}"}}
sys.argv = ["streamreasoner"]
from streamreasoner.cli import main
main()
"""
STARTS: dict[str, tuple[str, ...]] = {
    "`import streamreasoner`": ("-c", "import streamreasoner"),
    "`--help`": (*COMMAND, "--help"),
    "completion of a command": ("-c", COMPLETION.format(words="ex", place=1)),
    "completion of an option of `run`": ("-c", COMPLETION.format(words="run --c", place=2)),
    "`check rho-df`": (*COMMAND, "check", "rho-df"),
    "`explain-plan rho-df`": (*COMMAND, "explain-plan", "rho-df"),
    "first epoch of a Reasoner": ("-c", EPOCH),
}
CLAIMED = ("`--help`", "`check rho-df`", "`explain-plan rho-df`", "`run` until ready")
RULES = '@import "rho-df" .\n[?x, <urn:reaches>, ?y] :- [?x, <urn:next>, ?y] .\n'
CONFIG = """
[kafka]
bootstrap_servers = "{broker}"
input_topics = ["{name}-in"]
output_topic = "{name}-out"
[rules]
program = "./rules.dl"
[state]
directory = "state"
[pipeline]
app_id = "{name}"
backend = "columnar"
[server]
port = {port}
"""
PATIENCE = 1800.0


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a start.

    Attributes:
        cpu: Seconds of processor time, of the process and all its children.
        memory: MiB.
        seconds: Seconds of a clock.
    """

    cpu: float
    memory: float
    seconds: float


def main() -> int:
    """Measure, print the table, and fail if a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--against", type=Path, metavar="PATH", help="another checkout")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--data", type=Path, nargs="*", default=[], metavar="FILE")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    arguments.add_argument("--commands-only", action="store_true", help="start no pipeline")
    options = arguments.parse_args()
    trees = [harness.ROOT, *([options.against.resolve()] if options.against else [])]
    figures = harness.machine()
    costs = {
        name: in_turns(trees, options.rounds, lambda tree, words=words: command(tree, words))
        for name, words in STARTS.items()
    }
    if not options.commands_only:
        costs |= pipelines(trees, options.rounds, options.data)
    if not options.data:
        print("No --data: no restart with a large state is measured.", file=sys.stderr)
    names = ["this"] + ["other"] * (len(trees) - 1)
    header = ["start", *(f"CPU s, {name}" for name in names), *["ratio"] * (len(trees) - 1)]
    header += [f"MiB, {name}" for name in names] + [f"s, {name}" for name in names]
    table = harness.print_table("Starts", header, [row(name, both) for name, both in costs.items()])
    failed = [
        name
        for name in CLAIMED
        if name in costs and len(costs[name]) > 1 and not ratio(costs[name]) <= 1 / 2
    ]
    for name in failed:
        print(f"CLAIM FAILED: {name} takes more than half of the other checkout's time.")
    harness.save(options.json, {**figures, "tables": [table]})
    return int(bool(failed))


def row(name: str, costs: Sequence[Cost]) -> list[str | float]:
    """A row of the table: processor time in each checkout, their ratio, memory, seconds."""
    ratios = [ratio(costs)] if len(costs) > 1 else []
    return [
        name,
        *(cost.cpu for cost in costs),
        *ratios,
        *(cost.memory for cost in costs),
        *(cost.seconds for cost in costs),
    ]


def ratio(costs: Sequence[Cost]) -> float:
    """Processor time of this checkout divided by that of the other."""
    return costs[0].cpu / costs[1].cpu


def in_turns(trees: Sequence[Path], rounds: int, start: Callable[[Path], Cost]) -> list[Cost]:
    """The medians of starts in each checkout, the first of each not counted."""
    found: list[list[Cost]] = [[] for _ in trees]
    for _ in range(rounds + 1):
        for costs, tree in zip(found, trees, strict=True):
            costs.append(start(tree))
    return [median(costs[1:]) for costs in found]


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    return Cost(
        statistics.median(cost.cpu for cost in costs),
        statistics.median(cost.memory for cost in costs),
        statistics.median(cost.seconds for cost in costs),
    )


def command(tree: Path, words: Sequence[str]) -> Cost:
    """Run Python in a checkout to its end; NaN if the other checkout lacks what is run."""
    began = time.monotonic()
    meter = subprocess.run(
        [sys.executable, "-c", METER, *words],
        cwd=tempfile.gettempdir(),
        env=environment(tree),
        stdout=subprocess.PIPE,
        check=False,
    )
    if meter.returncode and tree != harness.ROOT:
        return Cost(math.nan, math.nan, math.nan)
    meter.check_returncode()
    cpu, memory = map(float, meter.stdout.split())
    return Cost(cpu, memory / 1024, time.monotonic() - began)


def environment(tree: Path) -> dict[str, str]:
    """Environment variables of a process that runs the code of a checkout."""
    return {
        **os.environ,
        "PYTHONPATH": str(tree),
        "PYTHONUNBUFFERED": "1",
        # Compiled modules are among the warm caches, and empty means that they are written.
        "PYTHONDONTWRITEBYTECODE": "",
    }


def pipelines(trees: Sequence[Path], rounds: int, data: Sequence[Path]) -> dict[str, list[Cost]]:
    """Costs of a pipeline until it is ready, and until its first output."""
    with tempfile.TemporaryDirectory() as directory, Broker() as broker:
        places = {}
        for number, tree in enumerate(trees):
            place = places[tree] = Path(directory, str(number))
            place.mkdir()
            (place / "rules.dl").write_text(RULES, encoding="utf-8")
            text = CONFIG.format(
                broker=broker.bootstrap_servers, name=f"startup-{number}", port=free_port()
            )
            (place / "pipeline.toml").write_text(text, encoding="utf-8")
            config = load(place / "pipeline.toml")
            create_topics(config.kafka, 1, 1, config.rules.control_topic)
            for file in data:
                words = (*COMMAND, "produce", str(file), "--config", str(place / "pipeline.toml"))
                command(tree, words)
        return measured(trees, rounds, places, "restart with the data" if data else "`run`")


def measured(
    trees: Sequence[Path], rounds: int, places: dict[Path, Path], what: str
) -> dict[str, list[Cost]]:
    """The medians of starts of pipelines, by event."""
    numbers = iter(range(1 << 30))
    found: dict[Path, list[tuple[Cost, Cost]]] = {tree: [] for tree in trees}
    for _ in range(rounds + 1):
        for tree in trees:
            found[tree].append(pipeline(tree, places[tree], next(numbers)))
    return {
        f"{what} until {moment}": [
            median([costs[index] for costs in found[tree][1:]]) for tree in trees
        ]
        for index, moment in enumerate(("ready", "the first output"))
    }


def pipeline(tree: Path, place: Path, number: int) -> tuple[Cost, Cost]:
    """Start a pipeline with one new triple to read, and stop it in an orderly way."""
    config = load(place / "pipeline.toml")
    subject = f"<urn:{number}>"
    update = {"s": subject, "p": "<urn:next>", "o": "<urn:end>", "diff": 1}
    messages = [Message(json.dumps(update).encode(), None, [])]
    assert list(produce(config.kafka, config.kafka.input_topics[0], messages)) == [1]
    with reader(config.kafka) as output:
        began = time.monotonic()
        process = psutil.Popen(
            [sys.executable, *COMMAND, "run", "--config", str(place / "pipeline.toml")],
            env=environment(tree),
            cwd=place,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait(process, lambda: ready(config.server.port))
            at_ready = spent(process, began)
            for message in output:
                if json.loads(message.value)["s"] == subject:
                    break
            return at_ready, spent(process, began)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


@contextmanager
def reader(kafka: KafkaConfig) -> Iterator[KafkaConsumer]:
    """A reader of the changes that are published from now on."""
    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers, isolation_level="read_committed"
    )
    with closing(consumer):
        partitions = [
            TopicPartition(kafka.output_topic, number)
            for number in consumer.partitions_for_topic(kafka.output_topic)
        ]
        consumer.assign(partitions)
        consumer.seek_to_end(*partitions)
        for partition in partitions:
            consumer.position(partition)
        yield consumer


def wait(process: psutil.Popen, done: Callable[[], bool]) -> None:
    """Wait until a condition holds, while the process is alive."""
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert process.poll() is None, "the pipeline ended"
        assert time.monotonic() < deadline, "the pipeline took too long"
        time.sleep(0.02)


def ready(port: int) -> bool:
    """Whether a pipeline reports that it is ready."""
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1):
        return True
    return False


def spent(process: psutil.Process, began: float) -> Cost:
    """The cost of a process and its children since it began."""
    cpu = memory = 0.0
    for each in family(process):
        with suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            cpu += times.user + times.system + times.children_user + times.children_system
            memory += each.memory_info().rss / 2**20
    return Cost(cpu, memory, time.monotonic() - began)


def family(process: psutil.Process) -> Iterator[psutil.Process]:
    """A process and all its children."""
    yield process
    yield from process.children(recursive=True)


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    raise SystemExit(main())
