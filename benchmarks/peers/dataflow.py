"""Differential dataflow, through the crate in `differential/`. Invariant: a program is written by
hand for each task, and rho-df in three ways.
"""  # noqa: D205

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.peers import AbsentError, crates

if TYPE_CHECKING:
    from benchmarks.peers.case import Case, Result

CRATE = "differential"
TASKS = frozenset({"rho-df", "closure", "sssp", "cspa"})
# Ways to plan rho-df by hand, for schemas that say nothing of the vocabulary itself.
PLANS = ("strata", "compiled")


def run(case: Case, workers: int = 1, plan: str = "") -> Result:
    """Load the case's rows, run its updates, and return times and derived facts.

    Args:
        case: What is run.
        workers: Threads.
        plan: One of `PLANS`, or "" for the rules as they are.

    Raises:
        AbsentError: The crate cannot be built here, or it lacks the task.
    """
    if case.task not in TASKS:
        raise AbsentError("peer not run: differential dataflow lacks this task")
    program = str(crates.build(CRATE, CRATE))
    task = f"{case.task}-{plan}" if plan else case.task
    engine = "differential dataflow"
    if plan:
        engine += f", {plan}"
    if workers > 1:
        engine += f", {workers} workers"
    numbers = map(str, case.parameters)
    return crates.run(engine, case, lambda files: [program, task, str(workers), *files, *numbers])
