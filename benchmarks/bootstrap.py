"""The first load of a state from files, compared with the same facts through Kafka, in one run.

    python benchmarks/bootstrap.py [--scale 50] [--rounds 2] [--json FILE]

Both run rho-df over the same files, from an empty state, and publish what they derive: one with
`bootstrap`, the other with `produce`, in messages of 1,000 quads, and a pipeline that reads them.
The processor time is that of the commands, start included; the broker is not counted. The peak
memory is that of the Python process, which has the state; Java's is bounded by its heap. Claims:
loading from files takes less than half, and neither process more than 1.2 GiB.
"""

from __future__ import annotations

import argparse
import os
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
HALF = 0.5  # the claims
MOST_MIB = 1.2 * 1024


def main() -> int:
    """Measure, print the table, and fail if the claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=50, choices=(1, 10, 50))
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    files = harness.lubm(options.scale)
    with tempfile.TemporaryDirectory(prefix="streamreasoner-bench-") as name, Broker() as broker:
        medians, peaks = measure(Path(name), broker.bootstrap_servers, files, options.rounds)
    ratio = medians["bootstrap"] / (medians["produce"] + medians["run"])
    triples = sum(map(count, files))
    figures: dict[str, Any] = {**harness.machine(), "scale": options.scale, "triples": triples}
    figures |= {"cpu_seconds": medians, "ratio": ratio, "peak_mib": peaks}
    title = f"LUBM({options.scale}), {triples:,} triples"
    lines = [
        (name, seconds, triples / seconds, peaks.get(name, "")) for name, seconds in medians.items()
    ]
    figures["tables"] = [
        harness.print_table(
            title, ("command", "CPU s", "triples per CPU s", "peak of Python, MiB"), lines
        ),
        harness.print_table(
            "Against messages", ("figure", "ratio"), [("`bootstrap` / `produce` and `run`", ratio)]
        ),
    ]
    harness.save(options.json, figures)
    return 0 if ratio <= HALF and max(peaks.values()) <= MOST_MIB else 1


def measure(
    directory: Path, servers: str, files: Sequence[Path], rounds: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Of each command, the median of processor seconds, and the greatest peak memory in MiB."""
    paths = list(map(str, files))
    create_input(servers)
    config = configure(directory, servers, "rho-df", 0, "nquads")
    words = ["produce", *paths, "--format", "nquads", "--config", str(config)]
    produced, _ = cost(words)
    messages = sum(1 for path in files for _ in messages_of(path, Sending(format=NQUADS)))
    loads, runs, peaks = [], [], {"bootstrap": 0.0, "run": 0.0}
    for number in range(0, 2 * rounds, 2):
        config = configure(directory, servers, "rho-df", number, "nquads")
        create_topics(load(config).kafka, 1, 1)
        words = ["bootstrap", *paths, "--config", str(config), "--starting-offsets", "latest"]
        seconds, peak = cost(words)
        loads.append(seconds)
        peaks["bootstrap"] = max(peaks["bootstrap"], peak)
        config = configure(directory, servers, "rho-df", number + 1, "nquads")
        create_topics(load(config).kafka, 1, 1)
        log, before = directory / f"{config.stem}.jsonl", processor_seconds()
        with pipeline(config, log) as process:
            await_rows(log, messages)
            peaks["run"] = max(peaks["run"], harness.peak_mib(process))
        runs.append(processor_seconds() - before)
        print(f"round {number // 2}: {loads[-1]}, {produced} and {runs[-1]}", flush=True)
    return {"bootstrap": median(loads), "produce": produced, "run": median(runs)}, peaks


def cost(words: Sequence[str]) -> tuple[float, float]:
    """Processor seconds of a command, with its children, and its peak memory in MiB."""
    process = subprocess.Popen([*COMMAND, *words], cwd=harness.ROOT)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(words)} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    raise SystemExit(main())
