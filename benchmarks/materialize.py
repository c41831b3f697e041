"""From files to the closure: the command `materialize` on LUBM under ρDF, as a user runs it.

    python benchmarks/materialize.py [--scale 50] [--rounds 3] [--against PATH] [--json FILE]

Starting Python, importing, reading N-Triples, memory and leaving are included. On one core and on
two, without and with the closure in a file, by turns and, with `--against`, in turns with another
checkout. The first start of each checkout is not counted. The floor reads the input and, with a
file, writes as many bytes.

Claims: less than nine tenths of the processor time and of the peak memory of commit ffb38e6. The
goal is LUBM(50) in under 5 s on two cores where nothing else runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FLOOR = """
import sys
with open(sys.argv[1], "rb") as source, open(sys.argv[2], "wb") as target:
    while block := source.read(4 << 20):
        if len(sys.argv) > 3:
            target.write(block)
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a process.

    Attributes:
        seconds: Seconds of a clock.
        cpu: Seconds of processor time.
        system: Those of them that the operating system took.
        mib: Peak of its resident memory.
    """

    seconds: float
    cpu: float
    system: float
    mib: float


def main() -> int:
    """Measure and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=50, choices=(1, 10, 50))
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--against", type=Path, metavar="PATH", help="another checkout")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    files = [str(path) for path in harness.lubm(options.scale)]
    trees = {"now": harness.ROOT}
    if options.against:
        trees = {"before": options.against.resolve(), **trees}
    processors = sorted(os.sched_getaffinity(0))
    costs: dict[tuple[str, int, bool], list[Cost]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for tree in trees.values():
            for cores in (1, 2):
                materialize(tree, files, processors[:cores], None)
        for _ in range(options.rounds):
            for cores in range(1, min(2, len(processors)) + 1):
                for output in (None, folder):
                    for name, tree in trees.items():
                        cost = materialize(tree, files, processors[:cores], output)
                        costs.setdefault((name, cores, bool(output)), []).append(cost)
                    words = [files[-1], f"{folder}/copy", *(["write"] if output else [])]
                    cost = run(["-c", FLOOR, *words], harness.ROOT, processors[:cores])
                    costs.setdefault(("floor", cores, bool(output)), []).append(cost)
    figures: dict[str, Any] = {**harness.machine(), "scale": options.scale}
    rows = [
        (name, cores, output, *medians(each))
        for (name, cores, output), each in sorted(costs.items(), key=lambda item: item[0][1:])
    ]
    title = f"LUBM({options.scale}) and univ-bench from N-Triples under rho-df, `materialize`"
    header = ("checkout", "cores", "file", "seconds", "cpu s", "system s", "peak MiB")
    figures["tables"] = [harness.print_table(title, header, rows)]
    harness.save(options.json, figures)
    return 0


def materialize(
    tree: Path, files: Sequence[str], processors: Iterable[int], output: str | None
) -> Cost:
    """Run the command of a checkout; writes the closure to a folder, if there is one."""
    written = [] if output is None else ["--output", output]
    return run(
        ["-m", "streamreasoner", "materialize", *written, "rho-df", *files], tree, processors
    )


def run(words: Sequence[str], tree: Path, processors: Iterable[int]) -> Cost:
    """Run Python in a checkout on some processors."""
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(processors))
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    began = time.perf_counter()
    command = [sys.executable, *words]
    process = os.posix_spawn(command[0], command, environment, file_actions=quiet)
    _, status, used = os.wait4(process, 0)
    seconds = time.perf_counter() - began
    os.sched_setaffinity(0, everywhere)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_stime, used.ru_maxrss / 1024)


def medians(costs: Iterable[Cost]) -> tuple[float, ...]:
    """The median of each figure."""
    each = [(cost.seconds, cost.cpu, cost.system, cost.mib) for cost in costs]
    return tuple(map(statistics.median, zip(*each, strict=True)))


if __name__ == "__main__":
    raise SystemExit(main())
