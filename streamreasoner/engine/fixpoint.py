"""The fixpoint of one stratum. Invariant: multiplicities up to m are final when m is settled.

Iterations ascend because a derivation whose latest premise appears at m is added at m + 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.errors import RecursionLimitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.engine.ports import Backend


def fixpoint(
    backend: Backend, stratum: int, recursion_limit: int, derives: Callable[[], str]
) -> int:
    """Bring a stratum up to date with the epoch's input and the strata before it.

    Args:
        backend: Holds the trace.
        stratum: Number of the stratum.
        recursion_limit: Iterations after which the stratum counts as not converging.
        derives: Describes what the stratum derives, and by which rules.

    Returns:
        The number of iterations touched.

    Raises:
        RecursionLimitError: The stratum has not converged after *recursion_limit* iterations.
    """
    touched = 0
    iteration = backend.enter(stratum)
    while iteration >= 0:
        if iteration > recursion_limit:
            raise RecursionLimitError(
                f"Stratum {stratum}, which derives {derives()}, has not converged after "
                f"{recursion_limit} iterations. Check it for rules that create terms without end, "
                "or raise `recursion_limit`. The epoch was rolled back."
            )
        if backend.settle(iteration):
            backend.derive(iteration)
        iteration = backend.next_touched()
        touched += 1
    return touched
