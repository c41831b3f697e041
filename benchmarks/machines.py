"""A state in Spark's executors, next to one store in this process.

    python benchmarks/machines.py [CASE...] [--parts 3] [--scale 10] [--master URL] [--json FILE]

Each case is loaded into one store, and into parts in the executors of a Spark cluster: by default
of as many workers as there are parts and one more, on this machine. Then a batch of its input goes
and comes back. One update is the median of 20 that go and come, with its changes read. CPU seconds
are those of all processes, Spark's included: parts that wait for each other on fewer cores than
there are parts take longer by the clock, but no more of the processors. A trace is equal if every
fact has the multiplicity and the iteration that it has in one store.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from operator import methodcaller
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, cast

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness
from benchmarks.parts import CASES, MEBIBYTE, SINGLE, OneThread, Run
from benchmarks.spark_meter import processor_time
from streamreasoner.backends.store import columnar, divided_elsewhere
from streamreasoner.io.spark import session
from streamreasoner.io.spark.tasks.held import HELD
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.service.spark.executors import gather
from streamreasoner.state.lock import StateLock
from streamreasoner.system import jvm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.updates import Updates

ROOT = Path(__file__).resolve().parent.parent
EXECUTOR_MEBIBYTES = 1024
HEADER = (
    *("state in", "load, s", "load, CPU s", "batch goes, CPU s", "comes, CPU s"),
    *("one update, ms", "largest, MiB", "trace"),
)


def main() -> int:
    """Measure, and print a table for each case."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("cases", nargs="*", metavar="CASE", help=f"default: {', '.join(CASES)}")
    arguments.add_argument("--parts", type=int, default=3)
    arguments.add_argument("--scale", type=int, default=10, choices=(1, 10, 50))
    arguments.add_argument("--master", help="of a cluster that runs; its Python has this package")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    tables = []
    with ExitStack() as stack:
        running = _spark(options.master, options.parts, stack)
        for name in options.cases or CASES:
            case = CASES[name](options.scale)
            one = Run(case, columnar(kind=OneThread))
            rows = [("one store", *measure(one), "")]
            with ExitStack() as held:
                dictionary = Dictionary()
                team = gather(running, options.parts, dictionary, held)
                other = Run(case, divided_elsewhere(team, dictionary))
                figures = measure(other)
                rows.append((f"{options.parts} executors", *figures, compared(one, other)))
            tables.append(harness.print_table(case.name, HEADER, rows))
            harness.save(options.json, {**harness.machine(), "tables": tables})
    return 0


def _spark(master: str | None, parts: int, stack: ExitStack) -> session.RunningSession:
    """A session on a cluster."""
    here = f"local-cluster[{parts + 1},1,{EXECUTOR_MEBIBYTES}]"
    settings = {
        **HELD,
        "spark.master": here if master is None else master,
        "spark.executor.memory": f"{EXECUTOR_MEBIBYTES}m",
        "spark.executorEnv.PYTHONPATH": str(ROOT),
    }
    if master is None:
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    lock = StateLock(folder)
    stack.callback(lock.close)
    processes = jvm.ProcessGroup()
    stack.callback(processes.close)
    running = session.start("benchmark", folder, settings, lock.descriptor, processes)
    stack.callback(running.stop)
    return running


def measure(run: Run) -> tuple[Any, ...]:
    """The figures of a row, but for the trace."""

    def seconds(updates: Sequence[Updates], *, report: bool = False) -> tuple[float, float]:
        busy, started = processor_time(), time.perf_counter()
        run.session.apply(updates, report=report)
        return time.perf_counter() - started, processor_time() - busy

    case = run.case
    epochs = run.encoded(case.rows, 1), run.encoded(case.batch, -1), run.encoded(case.batch, 1)
    load, goes, comes = (seconds(updates) for updates in epochs)
    state = cast("Any", run.session.engine)._backend  # noqa: SLF001 - nothing else has its parts
    sizes = (
        state.parts.ask(methodcaller("statistics"))
        if hasattr(state, "parts")
        else [state.statistics()]
    )
    largest = max(each.bytes for each in sizes)
    single = [
        seconds([each.take(np.array([row])) for each in epoch[:1]], report=True)[0]
        for row in range(SINGLE)
        for epoch in epochs[1:]
    ]
    return (*load, goes[1], comes[1], 1_000 * median(single), largest / MEBIBYTE)


def compared(one: Run, other: Run) -> str:
    """Whether two states have the same trace."""
    terms = other.session.dictionary
    ids = one.session.dictionary.encode(terms.terms(0, len(terms)))
    same = all(
        np.array_equal(_trace(one, predicate), _trace(other, predicate, ids))
        for predicate in one.session.arities
    )
    return "equal" if same else "NOT EQUAL"


def _trace(run: Run, predicate: str, ids: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
    """The trace of a predicate in order, a row for each fact and iteration, with these ids."""
    rows = run.session.engine.trace(predicate)
    args = rows.args if ids is None else ids[rows.args]
    columns = np.column_stack((args, rows.iteration, rows.multiplicity)).astype(np.int64)
    return columns[np.lexsort(columns.T)]


if __name__ == "__main__":
    sys.exit(main())
