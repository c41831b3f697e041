"""Rewrites of whole rules. Invariant: none changes how often a row is there.

Multiplicities of derivations are part of what a program means, so a rewrite that is right for sets
is not enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.plan.rewrite.columns import drop_unread_columns
from streamreasoner.plan.rewrite.computations import compute_late
from streamreasoner.plan.rewrite.constants import fold_constants
from streamreasoner.plan.rewrite.duplicates import drop_duplicates
from streamreasoner.plan.rewrite.projections import project_negated_wildcards
from streamreasoner.plan.rewrite.scans import restrict_scans
from streamreasoner.plan.rewrite.selections import push_selections

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from streamreasoner.plan.relational import Relation

    Rewrite: TypeAlias = Callable[[Relation], Relation]

REWRITES: Mapping[str, Rewrite] = {
    "constants folded": fold_constants,
    "scans restricted": restrict_scans,
    "duplicates dropped": drop_duplicates,
    "computations put late": compute_late,
    "selections pushed": push_selections,
    "unread columns dropped": drop_unread_columns,
    "negated wildcards projected": project_negated_wildcards,
}
"""In the order in which they are applied."""
