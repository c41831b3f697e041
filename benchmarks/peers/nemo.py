"""Nemo, a Datalog engine in Rust with an interface for Python.

Invariant: it runs the rules of the case as they are written, but for its sign of negation, so only
those without triples and aggregates.

It evaluates from scratch, and reads rows from CSV files. What reading takes is measured by a
program that only counts the rows it reads, and told next to the load, which includes it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers import AbsentError, memory, require
from benchmarks.peers.case import Result, checksum
from benchmarks.peers.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from benchmarks.peers.case import Case
    from benchmarks.peers.clock import Seconds

# Nemo has neither our triples nor aggregates that a rule derives in a loop.
FOREIGN = ("[", "min(", "max(", "count(", "sum(")


def run(case: Case) -> Result:
    """Load the case's rows, and return the time and derived facts.

    Raises:
        AbsentError: It is not installed, or does not have what the rules use.
    """
    if any(word in case.rules for word in FOREIGN):
        raise AbsentError("peer not run: Nemo lacks this task")
    library = require("nmo_python", "nemo-python")
    with tempfile.TemporaryDirectory(prefix="streamreasoner-peer-") as folder:
        imports = "".join(_import(case, Path(folder)))
        counts = "".join(
            f"counted{place}(#count({', '.join(f'?x{i}' for i in range(width))}))"
            f" :- {name}({', '.join(f'?x{i}' for i in range(width))}) .\n"
            for place, (name, width) in enumerate(_widths(case).items())
        )
        _, reading = _evaluate(library, imports + counts)
        outputs = "".join(f"@output {name} .\n" for name in case.outputs)
        engine, load = _evaluate(library, imports + case.rules.replace("not ", "~") + outputs)
    facts = {name: _facts(list(engine.result(name))) for name in case.outputs}
    return Result(
        "Nemo",
        load,
        {name: len(found) for name, found in facts.items()},
        {name: checksum(found) for name, found in facts.items()},
        reading=reading,
    )


def _facts(rows: list[Sequence[int]]) -> NDArray[np.int64]:
    """Facts as numbers, of shape (n, arity), or (0, 0) if there are none."""
    return np.array(rows, np.int64).reshape(len(rows), len(rows[0]) if rows else 0)


def _import(case: Case, folder: Path) -> list[str]:
    """Write the rows as files; returns the statements that import them."""
    statements = []
    for name, args in case.split(case.rows).items():
        path = folder / f"{name}.csv"
        np.savetxt(path, args, "%d", ",")
        columns = ",".join(["int"] * args.shape[1])
        statements.append(f'@import {name} :- csv{{resource="{path}", format=({columns})}} .\n')
    return statements


def _widths(case: Case) -> dict[str, int]:
    return {name: args.shape[1] for name, args in case.split(case.rows).items()}


def _evaluate(library: Any, text: str) -> tuple[Any, Seconds]:
    """An engine that has evaluated the text, and what that took."""
    engine = library.NemoEngine(library.load_string(text))
    memory.hand_out()
    clock = Clock()
    engine.reason()
    return engine, clock.seconds()
