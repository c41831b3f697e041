"""Updates of sources that a state keeps apart, as changes of what is asserted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.engine.input.sets import edit_sets
from streamreasoner.engine.input.upserts import replace_by_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.engine.ports import Backend
    from streamreasoner.engine.updates import Updates
    from streamreasoner.plan.program_plan import ProgramPlan


def edited(updates: Iterable[Updates], program: ProgramPlan, backend: Backend) -> Iterable[Updates]:
    """Updates with those of sources replaced; the same ones if the state keeps none apart."""
    if program.sources.keyed:
        updates = replace_by_key(updates, program.arities, backend)
    if program.sources.sets:
        updates = edit_sets(updates, program.arities, backend)
    return updates
