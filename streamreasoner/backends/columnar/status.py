"""What kernels return, as errors. Invariant: every status but OK is an error with its remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.arena import is_limited_by_addresses
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.engine.ports import BudgetSpentError
from streamreasoner.errors import MultiplicityOverflowError
from streamreasoner.system.capacity import full

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.arena import Arena
    from streamreasoner.backends.columnar.callbacks import Builtins


def check(status: int, state: Arena, builtins: Builtins) -> None:
    """Raise the error that a kernel has met, if any.

    Args:
        status: What it has returned.
        state: What it has run on.
        builtins: What it has called.
    """
    match status:
        case layout.OK:
            return
        case layout.OVERFLOW:
            raise MultiplicityOverflowError
        case layout.FULL:
            records = state.fill
            raise full(
                "The state is full: the records of its facts use",
                records,
                by_addresses=is_limited_by_addresses(records),
            )
        case layout.SPENT:
            raise BudgetSpentError
        case layout.FAILED:
            raise builtins.failure()
        case _:
            raise AssertionError(f"Unknown kernel status {status}.")
