"""The fixpoint of one stratum. Invariant: counts at iterations <= m are final when m is settled.

Iterations ascend, because a derivation from a body whose latest fact appears at m counts at m + 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.errors import RecursionLimitError

if TYPE_CHECKING:
    from streamreasoner.engine.ports import Backend


def fixpoint(backend: Backend, stratum: int, recursion_limit: int) -> int:
    """Bring a stratum up to date with the epoch's input and the strata before it.

    Returns:
        The number of iterations that were touched.

    Raises:
        RecursionLimitError: The stratum has not converged after *recursion_limit* iterations.
    """
    touched = 0
    iteration = backend.enter(stratum)
    while iteration >= 0:
        if iteration > recursion_limit:
            raise RecursionLimitError(
                f"Stratum {stratum} has not converged after {recursion_limit} iterations. "
                "Check the program for rules that make new terms for ever, "
                "or raise `recursion_limit`. The epoch was undone."
            )
        if backend.settle(iteration):
            backend.derive(iteration)
        iteration = backend.next_touched()
        touched += 1
    return touched
