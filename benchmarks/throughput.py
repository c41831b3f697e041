"""From Kafka to Kafka in messages of many triples: reasoning, and passing through.

    python benchmarks/throughput.py [--scale 50] [--rounds 2] [--format nquads] [--json FILE]

Two pipelines work the same backlog off, messages of 1,000 lines, from an empty state: one runs
rho-df and publishes what it derives, the other runs no rules and publishes what it reads, both in
the same format. Triples per second are counted from the start of the first batch to the end of the
last, and in the second half of the batches, when Java has compiled its code; the processor time is
that of the pipeline's processes, Java and start included. The broker is not counted, but runs on
the same machine. Claim: reasoning is at least half as fast.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from benchmarks.pipeline import INPUT, await_rows, create_input, events, pipeline
from streamreasoner.config import load
from streamreasoner.io.codec.from_files import Sending, messages_of
from streamreasoner.io.formats.registry import of_name
from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.kafka.topics import create_topics, produce
from streamreasoner.system.memory import keep_freed_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

PIPELINES = {"rho-df": ("rho-df", "derived"), "pass-through": ("./none.dl", "all")}
BATCH = 250  # messages
HALF = 0.5  # the claim


def main() -> int:
    """Measure, print the table, and fail if the claim does not hold."""
    # The pipelines inherit what it sets for Arrow.
    keep_freed_memory()
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=50, choices=(1, 10, 50))
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument("--format", default="nquads", choices=("nquads", "rdf-patch"))
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    files = harness.lubm(options.scale)
    with tempfile.TemporaryDirectory(prefix="streamreasoner-bench-") as name, Broker() as broker:
        figures = measure(Path(name), broker.bootstrap_servers, files, options)
    figures = {**harness.machine(), "scale": options.scale, "format": options.format, **figures}
    figures["tables"] = report(figures)
    harness.save(options.json, figures)
    return 0 if figures["ratio"] >= HALF else 1


def measure(
    directory: Path, servers: str, files: Sequence[Path], options: argparse.Namespace
) -> dict[str, Any]:
    """Every round runs both pipelines, each on a state of its own."""
    create_input(servers)
    sending = Sending(format=of_name(options.format))
    config = configure(directory, servers, "rho-df", 0, options.format)
    messages = 0
    for path in files:
        *_, sent = produce(load(config).kafka, INPUT, messages_of(path, sending))
        messages += sent
    triples = sum(count(path) for path in files)
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in PIPELINES}
    for number in range(options.rounds):
        for name in PIPELINES:
            config = configure(directory, servers, name, number, options.format)
            create_topics(load(config).kafka, 1, 1)
            log = directory / f"{config.stem}.jsonl"
            before = processor_seconds()
            with pipeline(config, log):
                await_rows(log, messages)
            used = processor_seconds() - before
            rows[name].append(rates(events(log), triples, used))
            print(f"{name}, round {number}: {rows[name][-1]}", flush=True)
    medians = {
        name: {key: median(each[key] for each in found) for key in found[0]}
        for name, found in rows.items()
    }
    speeds = [medians[name]["triples_per_second"] for name in PIPELINES]
    return {"triples": triples, "pipelines": medians, "ratio": speeds[0] / speeds[1]}


def count(path: Path) -> int:
    """The number of lines of a file of triples."""
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def configure(directory: Path, servers: str, name: str, number: int, format_: str) -> Path:
    """The configuration file of a pipeline with a state of its own."""
    program, include = PIPELINES[name]
    (directory / "none.dl").write_text("")
    own = f"{name}-{number}"
    path = directory / f"{own}.toml"
    path.write_text(
        f'[kafka]\nbootstrap_servers = "{servers}"\ninput_topics = ["{INPUT}"]\n'
        f'output_topic = "{own}"\n[rules]\nprogram = "{program}"\n'
        f'[state]\ndirectory = "{own}"\n'
        f'[pipeline]\napp_id = "{own}"\nmax_offsets_per_trigger = {BATCH}\n'
        f'[output]\ninclude = "{include}"\nformat = "{format_}"\n'
        '[server]\nport = 0\n[log]\nlevel = "warning"\n'
    )
    return path


def processor_seconds() -> float:
    """User and system time of all ended children, with theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rates(batches: list[dict[str, Any]], triples: int, used: float) -> dict[str, float]:
    """Figures of a backlog, with the share of each stage in the time of the batches."""
    seconds = batches[-1]["at"] - (batches[0]["at"] - batches[0]["seconds"])
    whole = sum(batch["seconds"] for batch in batches)
    middle, *later = batches[(len(batches) - 1) // 2 :]
    share = sum(batch["rows"] for batch in later) / sum(batch["rows"] for batch in batches)
    shares = {
        f"{stage}_share": round(sum(batch["stages"][stage] for batch in batches) / whole, 3)
        for stage in ("read", "decode", "evaluate", "store", "publish")
    }
    return {
        "triples_per_second": round(triples / seconds),
        "second_half": round(triples * share / (batches[-1]["at"] - middle["at"])),
        "triples_per_cpu_second": round(triples / used),
        **shares,
    }


def report(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Print the figures with a column for each pipeline; returns the tables."""
    rows = figures["pipelines"]
    lines = [(key, *(row[key] for row in rows.values())) for key in rows["rho-df"]]
    title = f"LUBM({figures['scale']}), {figures['triples']:,} triples, {figures['format']}"
    return [
        harness.print_table(title, ("figure", *rows), lines),
        harness.print_table(
            "Against passing through", ("figure", "ratio"), [("triples", figures["ratio"])]
        ),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
