"""The fixpoint of one stratum. Invariant: multiplicities up to m are final when m is settled.

Iterations ascend because a derivation whose latest premise appears at m is added at m + 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.errors import RecursionLimitError
from streamreasoner.plan.program_plan import StratumPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.engine.ports import Backend
    from streamreasoner.plan.program_plan import ProgramPlan

INPUT = StratumPlan(())
"""Stratum 0: facts that no head derives."""


def fixpoints(backend: Backend, program: ProgramPlan, recursion_limit: int) -> int:
    """Bring all strata up to date, in order; returns the number of iterations touched.

    Raises:
        RecursionLimitError: A stratum has not converged after *recursion_limit* iterations.
    """
    return sum(
        fixpoint(backend, number, stratum, recursion_limit, program.places)
        for number, stratum in enumerate((INPUT, *program.strata))
    )


def fixpoint(
    backend: Backend, number: int, stratum: StratumPlan, recursion_limit: int, places: Sequence[str]
) -> int:
    """Bring a stratum up to date with the epoch's input and the strata before it.

    Args:
        backend: Holds the trace.
        number: Number of the stratum.
        stratum: Its plan. Its reductions read lower strata alone, so each runs once.
        recursion_limit: Iterations after which the stratum counts as not converging.
        places: Where the program's rules are, for messages.

    Returns:
        The number of iterations touched.

    Raises:
        RecursionLimitError: The stratum has not converged after *recursion_limit* iterations.
    """
    backend.enter(number)
    for reduction in stratum.reductions:
        backend.reduce(reduction)
    touched, iteration = 0, backend.next_touched(-1)
    while iteration >= 0:
        if iteration > recursion_limit:
            raise RecursionLimitError(
                f"Stratum {number}, which derives {_derives(stratum, places)}, has not converged "
                f"after {recursion_limit} iterations. Check it for rules that create terms without "
                "end, or raise `recursion_limit`. The epoch was rolled back."
            )
        if backend.settle(iteration):
            backend.derive(iteration)
        iteration = backend.next_touched(iteration)
        touched += 1
    return touched


def _derives(stratum: StratumPlan, places: Sequence[str]) -> str:
    """The recursive predicates of a stratum, and the positions of its recursive rules."""
    rules = stratum.rules
    own = {rule.tree.head.predicate for rule in rules}
    recursive = [
        rule for rule in rules if own & {pattern.predicate for pattern in rule.tree.patterns}
    ]
    predicates = sorted({f"'{rule.tree.head.predicate}'" for rule in recursive or rules})
    positions = dict.fromkeys(
        places[rule.source] for rule in recursive or rules if rule.source is not None
    )
    return f"{', '.join(predicates)} by the rules at {', '.join(positions)}"
