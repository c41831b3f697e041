"""The facts of a past epoch that are there otherwise than as copies along hierarchies."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.inheritance.direct import DirectFacts
from streamreasoner.engine.inheritance.edges import View
from streamreasoner.engine.inheritance.rows import matching
from streamreasoner.engine.updates import TraceRows
from streamreasoner.lang.ast import GIVEN

if TYPE_CHECKING:
    from streamreasoner.engine.ports import Bound
    from streamreasoner.history.epochs import Past
    from streamreasoner.history.stored_terms import StoredTerms
    from streamreasoner.program.checked import CheckedProgram

_UNKNOWN = -1
"""The id of a term that the state does not have."""


def direct_at(
    past: Past, program: CheckedProgram, terms: StoredTerms, epoch: int
) -> tuple[DirectFacts, View]:
    """The direct facts at the end of an epoch, and what they are read with.

    Args:
        past: The tables.
        program: The program in effect.
        terms: The terms of its ids.
        epoch: The epoch.
    """

    @cache
    def trace(predicate: str) -> TraceRows:
        # Edges may be asserted facts, which have a predicate of their own.
        arity = program.arities[predicate.removeprefix(GIVEN)]
        none = TraceRows(
            predicate,
            np.empty((0, arity), np.int32),
            np.empty(0, np.int32),
            np.empty(0, np.int64),
        )
        return TraceRows.of([none, *past.trace(epoch, {predicate})])

    def read(predicate: str, bound: Bound) -> TraceRows:
        rows = trace(predicate)
        return rows.take(matching(rows.args, bound))

    def known(term: str) -> int:
        found = terms.find(term)
        return _UNKNOWN if found is None else found

    return DirectFacts(program.copied, (), known), View(read)
