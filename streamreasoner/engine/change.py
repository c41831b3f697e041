"""Change the program. Invariant: rules that both programs share are not evaluated.

    new trace = old trace + Σ sign(rule) · derivations(rule) - results of removed reductions

The multiplicities of a trace are sums over rules. An added rule is evaluated once on the current
state and its derivations are added; those of a removed rule are subtracted. The epoch then settles
this like any other change, with the plans of the new program. Results of added reductions follow
from their candidates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.engine.inheritance.held import to_release
from streamreasoner.engine.input.given import copies_after_change
from streamreasoner.plan.program_change import program_change

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.engine.ports import Backend
    from streamreasoner.engine.updates import Updates
    from streamreasoner.plan.program_plan import ProgramPlan


def added_by_change(
    backend: Backend, before: ProgramPlan, after: ProgramPlan, intern: Callable[[str], int]
) -> list[Updates]:
    """What another program adds to hidden predicates, and removes from them."""
    return [
        *copies_after_change(before, after, intern, backend),
        *to_release(before.hierarchies, after.hierarchies, backend),
    ]


def change_program(backend: Backend, before: ProgramPlan, after: ProgramPlan) -> ProgramPlan:
    """Switch to another program at the beginning of an epoch; returns it as the state needs it.

    Raises:
        MultiplicityOverflowError: A sum leaves the range of a multiplicity.
    """
    change = program_change(before, after)
    backend.migrate(change)
    backend.evaluate()
    for reduction in change.reductions:
        backend.retract(reduction)
    backend.resettle(change.lattices)
    return change.after
