"""FlowLog, through the crate in `flowlog/`. Invariant: its programs have the rules of ours.

FlowLog compiles a program in two ways: with multiplicities, for updates, and in batch, where a fact
is only present or not and nothing can be removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.peers import AbsentError, crates

if TYPE_CHECKING:
    from benchmarks.peers.case import Case, Result

CRATE = "flowlog"
PROGRAMS = crates.FOLDER / CRATE / "programs"
# Its programs have these constants; so do the cases, whose vocabulary has the first ids.
PARAMETERS = {"rho_df": (0, 1, 2, 3, 4), "sssp": (0,), "ontology": (0, 1)}


def run(case: Case, mode: str = "incremental", workers: int = 1) -> Result:
    """Load the case's rows, run its updates, and return times and derived facts.

    Args:
        case: What is run.
        mode: "incremental", or "batch", which only loads.
        workers: Threads.

    Raises:
        AbsentError: The crate cannot be built here, or it lacks the task.
    """
    task = case.task.replace("-", "_")
    if not task or not (PROGRAMS / f"{task}.dl").exists():
        raise AbsentError("peer not run: FlowLog lacks this task")
    assert case.parameters == PARAMETERS.get(task, ()), case.parameters
    program = str(crates.build(CRATE, task))
    engine = f"FlowLog, {mode}"
    if workers > 1:
        engine += f", {workers} workers"
    return crates.run(engine, case, lambda files: [program, mode, str(workers), *files])
