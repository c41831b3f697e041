"""What readers cost a pipeline: its latency without a server, with one, and with a client.

    python benchmarks/server.py [--scale 1] [--rounds 3] [--messages 200] [--json FILE]

One pipeline with rho-df and LUBM loaded, at 20 messages per second: without a server of facts, with
one without requests, and with one that a client asks all the time, for pages of 1000 facts and for
proofs by turns. The client is a process of its own, of the lowest priority. The three take turns in
each round, and go on from the same tables. Latency is that of `pipeline.py`. Then the tables are
loaded once more, to count what a fact and a term take in the server's memory.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from benchmarks.pipeline import (
    WARM_UP,
    await_rows,
    configure,
    create_input,
    measure_latency,
    percentiles,
    pipeline,
    produce_files,
)
from streamreasoner.history.replica import Replica
from streamreasoner.io.kafka.broker import Broker
from streamreasoner.system.memory import keep_freed_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "rho-df"
WAYS = {
    "without": "no server of facts",
    "idle": "a server, not asked",
    "asked": "asked all the time",
}
PORT = 19_464
DEADLINE = 300
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
PERSON = "<http://swat.cse.lehigh.edu/onto/univ-bench.owl#Person>"


def main() -> int:
    """Measure, and print the table."""
    keep_freed_memory()
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=1, choices=(1, 10, 50))
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--messages", type=int, default=200, help="timed ones in each round")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    arguments.add_argument("--ask", type=int, metavar="PORT", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.ask:
        ask_all_the_time(options.ask)
        return 0
    files = harness.lubm(options.scale)
    with tempfile.TemporaryDirectory(prefix="streamreasoner-bench-") as name, Broker() as broker:
        figures = measure(Path(name), broker.bootstrap_servers, files, options)
    figures = {**harness.machine(), "scale": options.scale, **figures}
    figures["tables"] = report(figures)
    harness.save(options.json, figures)
    return 0


def measure(
    directory: Path, servers: str, files: list[Path], options: argparse.Namespace
) -> dict[str, Any]:
    """First the load, then the rounds, in which the three ways take turns."""
    create_input(servers)
    config = configure(directory, servers, NAME, NAME)
    configs = {"without": config}
    for way in ("idle", "asked"):
        configs[way] = directory / f"{way}.toml"
        text = config.read_text().replace("port = 0", f"port = {PORT}\nfacts = true")
        configs[way].write_text(text)
    total = produce_files(servers, files)
    with pipeline(config, directory / "load.jsonl"):
        await_rows(directory / "load.jsonl", total)
    latencies: dict[str, list[float]] = {way: [] for way in WAYS}
    answers, seconds, server_seconds = 0, 0.0, 0.0
    for number in range(options.rounds):
        for way, path in configs.items():
            subjects = [f"<urn:bench:{way}:{number}:{i}>" for i in range(options.messages)]
            warm_up = [f"<urn:warm:{way}:{number}:{i}>" for i in range(WARM_UP)]
            with pipeline(path, directory / f"{way}-{number}.jsonl"):
                measure_latency(servers, NAME, warm_up)
                if way != "asked":
                    measured = measure_latency(servers, NAME, subjects)
                else:
                    await_server()
                    before, began = server_time(), time.monotonic()
                    with client() as count:
                        measured = measure_latency(servers, NAME, subjects)
                    seconds += time.monotonic() - began
                    server_seconds += server_time() - before
                    answers += count()
            latencies[way] += measured
            print(f"{way}, round {number}: {percentiles(measured)}", flush=True)
    rows = {way: percentiles(each) for way, each in latencies.items()}
    return {
        "messages": total,
        "ways": rows,
        "ratios": {
            f"{way}_{each}": rows[way][f"{each}_ms"] / rows["without"][f"{each}_ms"]
            for way in ("idle", "asked")
            for each in ("p50", "p95")
        },
        "answers_per_second": round(answers / seconds),
        "server_cores": round(server_seconds / seconds, 2),
        "memory": memory(directory / NAME / "tables"),
    }


def await_server() -> None:
    """Wait until the server answers for facts."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
        connection.request("GET", "/rules")
        status = connection.getresponse().status
        connection.close()
        if status == http.client.OK:
            return
        time.sleep(0.1)
    raise SystemExit("The server does not answer for facts.")


def server_time() -> float:
    """Seconds of processor time that the server's process has taken."""
    for process in psutil.Process().children(recursive=True):
        if "streamreasoner.cli.serving.beside" in process.cmdline():
            times = process.cpu_times()
            return float(times.user + times.system)
    raise SystemExit("There is no process of a server.")


@contextmanager
def client() -> Iterator[Any]:
    """A client that asks all the time; gives a function for the number of its answers."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--ask", str(PORT)], stdout=subprocess.PIPE, text=True
    )
    found: list[int] = []
    try:
        yield lambda: found[0]
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=DEADLINE)
        found.append(int(output))


def ask_all_the_time(port: int) -> None:
    """Ask for pages of facts and for proofs until SIGTERM; prints how many answers came."""
    os.nice(19)  # a client elsewhere would take nothing of this machine's processors
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    count, target, subject = 0, first_page(), None
    following = target
    while not stopping:
        connection.request("GET", target)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == http.client.OK, body
        count += 1
        if subject is None:
            page = json.loads(body)
            subject, after = page["facts"][0][0], page["after"]
            fact = f"[{subject}, {TYPE}, {PERSON}]"
            target, following = f"/explain?{urlencode({'fact': fact})}", first_page(after)
        else:
            target, subject = following, None
    connection.close()
    print(count)


def first_page(after: str | None = None) -> str:
    """The address of a page of 1000 triples."""
    query = {"predicate": "triple", "limit": 1000} | ({"after": after} if after else {})
    return f"/facts?{urlencode(query)}"


def memory(tables: Path) -> dict[str, Any]:
    """What a replica of the tables takes, and how long it loads."""
    began = time.process_time()
    replica = Replica.open(tables)
    loaded = time.process_time() - began
    with replica.snapshot() as snapshot:
        facts = sum(snapshot.count(name) for name in snapshot.program.checked.arities)
        terms = len(snapshot.terms)
        found = {
            "facts": facts,
            "terms": terms,
            "bytes_per_fact": round(snapshot.nbytes / facts, 1),
            "bytes_per_term": round(snapshot.terms.nbytes / terms, 1),
            "load_seconds": round(loaded, 2),
        }
    replica.close()
    return found


def report(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Print the figures with a row for each way; returns the tables."""
    rows = []
    for way, named in WAYS.items():
        each = figures["ways"][way]
        ratios = [
            f"{figures['ratios'][f'{way}_{name}']:.2f}" if way != "without" else ""
            for name in ("p50", "p95")
        ]
        rows.append(
            (named, f"{each['p50_ms']:.0f} ms", ratios[0], f"{each['p95_ms']:.0f} ms", ratios[1])
        )
    found = figures["memory"]
    costs = [
        ("answers per second", f"{figures['answers_per_second']:,}"),
        ("cores of the server's process meanwhile", f"{figures['server_cores']:.2f}"),
        ("facts · terms", f"{found['facts']:,} · {found['terms']:,}"),
        ("bytes of a fact with its trace", f"{found['bytes_per_fact']}"),
        ("bytes of a term", f"{found['bytes_per_term']}"),
        ("processor time to load", f"{found['load_seconds']} s"),
    ]
    return [
        harness.print_table(
            "Latency of a pipeline that is asked",
            ("", "median", "ratio", "95th percentile", "ratio"),
            rows,
        ),
        harness.print_table("The server", ("", ""), costs),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
