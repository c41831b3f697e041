"""The first load of a state from files, compared with the same facts through Kafka, in one run.

    python benchmarks/bootstrap.py [--scale 10] [--rounds 2] [--json FILE]

Both run rho-df over the same files, from an empty state, and publish what they derive: one with
`bootstrap`, the other with `produce`, in messages of 1,000 quads, and a pipeline that reads them.
The processor time is that of the commands, start included; the broker is not counted. Claim:
loading from files takes less than half.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from benchmarks.pipeline import await_rows, create_input, pipeline
from benchmarks.throughput import configure, count, processor_seconds
from streamreasoner.config import load
from streamreasoner.io.codec.from_files import Sending, messages_of
from streamreasoner.io.formats.registry import NQUADS
from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.kafka.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMAND = (sys.executable, "-m", "streamreasoner")
HALF = 0.5  # the claim


def main() -> int:
    """Measure, print the table, and fail if the claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=10, choices=(1, 10, 50))
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    files = harness.lubm(options.scale)
    with tempfile.TemporaryDirectory(prefix="streamreasoner-bench-") as name, Broker() as broker:
        medians = measure(Path(name), broker.bootstrap_servers, files, options.rounds)
    ratio = medians["bootstrap"] / (medians["produce"] + medians["run"])
    triples = sum(map(count, files))
    figures: dict[str, Any] = {**harness.machine(), "scale": options.scale, "triples": triples}
    figures |= {"cpu_seconds": medians, "ratio": ratio}
    title = f"LUBM({options.scale}), {triples:,} triples"
    lines = [(name, seconds, triples / seconds) for name, seconds in medians.items()]
    figures["tables"] = [
        harness.print_table(title, ("command", "CPU s", "triples per CPU s"), lines),
        harness.print_table(
            "Against messages", ("figure", "ratio"), [("`bootstrap` / `produce` and `run`", ratio)]
        ),
    ]
    harness.save(options.json, figures)
    return 0 if ratio <= HALF else 1


def measure(directory: Path, servers: str, files: Sequence[Path], rounds: int) -> dict[str, float]:
    """Processor seconds of each command, the median of states of their own."""
    paths = list(map(str, files))
    create_input(servers)
    config = configure(directory, servers, "rho-df", 0, "nquads")
    words = ["produce", *paths, "--format", "nquads", "--config", str(config)]
    produced = timed(words)
    messages = sum(1 for path in files for _ in messages_of(path, Sending(format=NQUADS)))
    loads, runs = [], []
    for number in range(0, 2 * rounds, 2):
        config = configure(directory, servers, "rho-df", number, "nquads")
        create_topics(load(config).kafka, 1, 1)
        words = ["bootstrap", *paths, "--config", str(config), "--starting-offsets", "latest"]
        loads.append(timed(words))
        config = configure(directory, servers, "rho-df", number + 1, "nquads")
        create_topics(load(config).kafka, 1, 1)
        log, before = directory / f"{config.stem}.jsonl", processor_seconds()
        with pipeline(config, log):
            await_rows(log, messages)
        runs.append(processor_seconds() - before)
        print(f"round {number // 2}: {loads[-1]}, {produced} and {runs[-1]}", flush=True)
    return {"bootstrap": median(loads), "produce": produced, "run": median(runs)}


def timed(words: Sequence[str]) -> float:
    """Processor seconds of a command, with its children."""
    before = processor_seconds()
    subprocess.run([*COMMAND, *words], check=True, cwd=harness.ROOT)
    return processor_seconds() - before


if __name__ == "__main__":
    raise SystemExit(main())
