"""Polonius, the borrow checker that rustc has for trial, through the crate in `polonius/`.

Invariant: it checks the same facts as the rules of `borrows`, from scratch; its naive rules are
those rules, and its optimized ones derive the same errors by way of fewer facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import borrows
from benchmarks.peers import AbsentError, crates

if TYPE_CHECKING:
    from benchmarks.peers.case import Case, Result

CRATE = "polonius"
RULES = ("naive", "optimized")


def run(case: Case, rules: str = "naive") -> Result:
    """Check the case's facts, and return times and derived facts.

    Args:
        case: What is run.
        rules: One of `RULES`.

    Raises:
        AbsentError: The crate cannot be built here, or it lacks the task.
    """
    if case.task != borrows.TASK:
        raise AbsentError("peer not run: Polonius lacks this task")
    program = str(crates.build(CRATE, CRATE))
    return crates.run(f"Polonius, {rules}", case, lambda files: [program, rules, files[0]])
