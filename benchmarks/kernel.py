"""The kernel: LUBM under ρDF with all multiplicities, then changes with their consequences.

    python benchmarks/kernel.py [--scale 50] [--json FILE]

Claims: LUBM(50) from encoded ids to closure in under 2.2 s on one core and 1.4 s on two, of
elapsed time, without the time that the operating system takes to allocate memory; one triple added
or deleted in under 40 us, and deletion within 1.3 times insertion; 160 thousand triples in 0.1 s; a
peak memory of at most 1 GiB, which is checked.

The peak is that of a process of its own, which reads the files block by block and loads them in one
epoch: Python, compiled code, terms, facts and the journal of the epoch, but no copy of the input.

Changes are timed in seconds of processor time, which other load affects less than elapsed time.
Loads on one core and on two alternate, so both run under the same conditions, each with memory that
is allocated before and without. A virtual machine may have to get memory from its host first, and
may have to move other pages together for a huge one, so allocating varies by ten times. The floor,
in turns with the loads, is what it costs without a load: writing to as much new memory, in huge
pages. Every change is undone, and the state must then be as before.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from benchmarks.driver import Kernel, updates
from benchmarks.peers import memory
from streamreasoner.io.formats.ntriples import read
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from streamreasoner.engine.ports import Statistics

LOADS = 5
MEBIBYTE = 1 << 20
SINGLES = 1000
ROUNDS = 5
MOST_MIB = 1024
BATCHES = (1, 8_000, 16_000, 160_000)
SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
EDGES = (("FullProfessor", "Professor"), ("GraduateCourse", "Course"), ("Course", "Work"))


class Lubm(Kernel):
    """A kernel for triples under ρDF, timed without reading changes."""

    def __init__(self, dictionary: Dictionary) -> None:
        super().__init__("rho-df", dictionary)

    def apply(self, triples: NDArray[np.int32], multiplicity: int) -> float:
        """Run one epoch; returns seconds of processor time."""
        return self.load([updates("triple", triples, multiplicity)])

    @property
    def derived(self) -> int:
        """The derived facts."""
        sizes = self.statistics()
        return sizes.present - sizes.asserted


def main() -> int:
    """Measure, print the tables, and fail if the state is not as before."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=50, choices=(1, 10, 50))
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    files = harness.lubm(options.scale)
    warm_up(files[0])

    dictionary = Dictionary()
    triples = np.concatenate([block for file in files for block in read(file, dictionary)])
    everywhere = os.sched_getaffinity(0)
    kernel = Lubm(dictionary)
    kernel.apply(triples, 1)
    alone, together, fresh, fresh_together, floors = [], [], [], [], []
    for _ in range(LOADS):
        os.sched_setaffinity(0, {min(everywhere)})
        alone.append(load(dictionary, triples, kernel))
        fresh.append(load(dictionary, triples))
        floors.append(system(lambda: memory.touch(fresh[-1].bytes)))
        os.sched_setaffinity(0, everywhere)
        if len(everywhere) > 1:
            together.append(load(dictionary, triples, kernel))
            fresh_together.append(load(dictionary, triples))
    sizes = kernel.statistics()
    figures: dict[str, Any] = {
        **harness.machine(),
        "scale": options.scale,
        "triples": len(triples),
        "facts": sizes.present,
        "inferred": kernel.derived,
        "load_seconds": statistics.median(load.clock for load in alone),
        "load_seconds_each": each(load.clock for load in alone),
        "load_seconds_two_cores": statistics.median(load.clock for load in together or alone),
        "load_seconds_two_cores_each": each(load.clock for load in together),
        "commit_seconds_each": each(load.commit for load in (*alone, *together)),
        "fresh_load_seconds": statistics.median(load.clock for load in fresh),
        "fresh_load_seconds_each": each(load.clock for load in fresh),
        "fresh_load_seconds_two_cores_each": each(load.clock for load in fresh_together),
        "fresh_load_cpu_seconds_each": each(load.cpu for load in fresh),
        "fresh_load_system_seconds_each": each(load.system for load in fresh),
        "floor_system_seconds_each": each(floors),
        "fresh_mib": fresh[-1].bytes / MEBIBYTE,
        "bytes_per_fact": sizes.bytes / sizes.facts,
        **harness.apart(memory_of_load, options.scale),
    }
    printed = [
        harness.print_table(
            f"LUBM({options.scale}) and univ-bench under rho-df",
            ("figure", "value"),
            [(name, figures[name]) for name in list(figures)[len(harness.machine()) :]],
        )
    ]
    figures["changes"] = [measure(kernel, triples, size) for size in BATCHES]
    figures["schema"] = [measure_edge(kernel, dictionary, *edge) for edge in EDGES]
    header = ("change", "triples", "inferred", "delete ms", "add ms", "delete / add")
    for title, name in (("Changes to it", "changes"), ("Schema edges", "schema")):
        rows = [tuple(row.values()) for row in figures[name]]
        printed.append(harness.print_table(title, header, rows))
    figures["tables"] = printed
    harness.save(options.json, figures)
    after = kernel.statistics()
    if not same_state(after, sizes):
        print(f"The state is {after}, was {sizes}.", file=sys.stderr)
        return 1
    if figures["peak_mib"] > MOST_MIB:
        print(
            f"The peak is {figures['peak_mib']:,.0f} MiB, above {MOST_MIB:,.0f}.", file=sys.stderr
        )
        return 1
    return 0


def memory_of_load(scale: int) -> dict[str, float]:
    """MiB of a process at its peak, and of that before the load, of facts and of terms; apart."""
    files, dictionary = harness.lubm(scale), Dictionary()
    kernel = Lubm(dictionary)
    empty = harness.peak_mib()
    kernel.load(updates("triple", block, 1) for file in files for block in read(file, dictionary))
    return {
        "peak_mib": harness.peak_mib(),
        "peak_empty_mib": empty,
        "peak_facts_mib": kernel.statistics().bytes / MEBIBYTE,
        "peak_terms_mib": dictionary.nbytes / MEBIBYTE,
    }


def same_state(one: Statistics, other: Statistics) -> bool:
    """Whether two states may be equal; records that are freed and allocated again use more."""
    return dataclasses.replace(one, bytes=other.bytes, capacity=other.capacity) == other


@dataclass(frozen=True, slots=True)
class Load:
    """A load.

    Attributes:
        clock: Elapsed seconds until the closure.
        commit: Elapsed seconds from there to the commit.
        cpu: Seconds of processor time of both.
        system: Those of them that the operating system took.
        bytes: Memory that it got from the operating system until the closure.
    """

    clock: float
    commit: float
    cpu: float
    system: float
    bytes: int


def load(dictionary: Dictionary, triples: NDArray[np.int32], loaded: Kernel | None = None) -> Load:
    """Load everything into a new kernel, with as much memory allocated as an earlier one used."""
    kernel = Lubm(dictionary)
    if loaded is not None:
        kernel.populate(loaded)
    memory, used = psutil.Process().memory_info().rss, os.times()
    began = time.perf_counter()
    kernel.settle([updates("triple", triples, 1)])
    settled = time.perf_counter()
    size = psutil.Process().memory_info().rss - memory
    kernel.commit()
    ended, after = time.perf_counter(), os.times()
    system = after.system - used.system
    cpu = after.user - used.user + system
    return Load(settled - began, ended - settled, cpu, system, size)


def system(work: Callable[[], object]) -> float:
    """Seconds of processor time that the operating system takes in a call."""
    started = os.times().system
    work()
    return os.times().system - started


def each(seconds: Iterable[float]) -> str:
    """Seconds of all runs."""
    return " ".join(f"{value:.2f}" for value in seconds)


def warm_up(schema: Path) -> None:
    """Compile everything that is timed later, or load it from the cache."""
    dictionary = Dictionary()
    triples = np.concatenate(list(read(schema, dictionary)))
    kernel = Lubm(dictionary)
    for multiplicity in (1, -1, 1):
        kernel.apply(triples, multiplicity)
    kernel.statistics()


def measure(kernel: Lubm, triples: NDArray[np.int32], size: int) -> dict[str, Any]:
    """Delete and add back random triples (if one), or a range of the file (if more)."""
    random = np.random.default_rng(0)
    rounds = SINGLES if size == 1 else ROUNDS
    size = min(size, len(triples) // 2)
    deletes, adds, inferred = [], [], []
    for start in random.integers(0, len(triples) - size, rounds):
        chosen = np.ascontiguousarray(triples[start : start + size])
        before = kernel.derived
        deletes.append(kernel.apply(chosen, -1))
        inferred.append(abs(before - kernel.derived))
        adds.append(kernel.apply(chosen, 1))
    name = "one triple" if size == 1 else "a stretch"
    return row(name, size, int(statistics.median(inferred)), deletes, adds)


def measure_edge(kernel: Lubm, dictionary: Dictionary, low: str, high: str) -> dict[str, Any]:
    """Delete and add back a subclass edge of the schema."""
    terms = (f"<{UB}{low}>", SUBCLASS, f"<{UB}{high}>")
    edge = np.array([[dictionary.intern(term) for term in terms]], np.int32)
    deletes, adds, inferred = [], [], 0
    for _ in range(ROUNDS):
        before = kernel.derived
        deletes.append(kernel.apply(edge, -1))
        inferred = abs(before - kernel.derived)
        adds.append(kernel.apply(edge, 1))
    return row(f"{low} < {high}", 1, inferred, deletes, adds)


def row(
    name: str, size: int, inferred: int, deletes: list[float], adds: list[float]
) -> dict[str, Any]:
    """A row of medians."""
    delete, add = statistics.median(deletes), statistics.median(adds)
    return {
        "change": name,
        "triples": size,
        "inferred": inferred,
        "delete_ms": delete * 1e3,
        "add_ms": add * 1e3,
        "ratio": delete / add,
    }


if __name__ == "__main__":
    raise SystemExit(main())
