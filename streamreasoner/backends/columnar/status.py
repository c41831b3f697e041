"""What kernels return, as errors. Invariant: every status but OK is an error with its remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.arena import is_limited_by_addresses
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.engine.ports import BudgetSpentError
from streamreasoner.errors import MultiplicityOverflowError, StateFullError

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.arena import Arena
    from streamreasoner.backends.columnar.callbacks import Builtins


def error_of(status: int, state: Arena, builtins: Builtins) -> BaseException:
    """The error that a kernel has met.

    Args:
        status: What it has returned, other than OK.
        state: What it has run on.
        builtins: What it has called.
    """
    match status:
        case layout.OVERFLOW:
            return MultiplicityOverflowError()
        case layout.FULL:
            return _full(state)
        case layout.SPENT:
            return BudgetSpentError()
        case layout.FAILED:
            return builtins.failure()
        case _:
            raise AssertionError(f"Unknown kernel status {status}.")


def _full(state: Arena) -> StateFullError:
    """The error for an epoch whose facts do not fit, with advice."""
    limit = "this machine's memory allows"
    remedy = (
        "To make room, use a machine with more memory, or executors of several machines "
        '(pipeline.backend = "executors").'
    )
    if is_limited_by_addresses(state.fill):
        limit = "can be addressed in one part"
        remedy = (
            "To make room, raise pipeline.cores, or the cores of the reasoner; with the backend "
            '"executors" raise pipeline.parts.'
        )
    return StateFullError(
        f"The state is full: the records of its facts use {state.fill} that {limit}. The epoch was "
        f"rolled back. {remedy}"
    )
