"""Rewrites of whole rules. Invariant: every rewrite preserves the multiplicity of rows.

A rewrite that is valid for sets is not enough, because a program means its multiplicities too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.plan.rewrite.computations import defer_computations
from streamreasoner.plan.rewrite.duplicates import drop_duplicates
from streamreasoner.plan.rewrite.folding import fold_constants
from streamreasoner.plan.rewrite.projections import project_negated_wildcards
from streamreasoner.plan.rewrite.scans import restrict_scans
from streamreasoner.plan.rewrite.unused_columns import drop_unused_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from streamreasoner.plan.algebra import PlanTree

    Rewrite: TypeAlias = Callable[[PlanTree], PlanTree]

REWRITES: Mapping[str, Rewrite] = {
    "constants folded": fold_constants,
    "scans restricted": restrict_scans,
    "duplicates dropped": drop_duplicates,
    "computations deferred": defer_computations,
    "unused columns dropped": drop_unused_columns,
    "negated wildcards projected": project_negated_wildcards,
}
"""In order of application."""
