"""The asserted facts of a session by their terms. Invariant: what is found is asserted now.

Facts are copied and sorted once. What epochs touch since is noted, and each fact that is found is
looked up in the state, so that the copy may be older than the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.facts import distinct, ids_of
from streamreasoner.query.goals.sorted_rows import SortedRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.session import Session
    from streamreasoner.engine.updates import Updates
    from streamreasoner.facts import FactPattern

    Rows = NDArray[np.int32]

_FEW = 10_000
_PART = 10  # of the facts: they are copied again once more than a tenth has been touched


class AssertedFacts:
    """The asserted facts of a session, which it may change meanwhile.

    Attributes:
        session: The session.
        program: Its program when they were copied.
        size: How many they were.

    Args:
        session: The session.
    """

    def __init__(self, session: Session) -> None:
        engine = session.evaluated
        self.session, self._engine, self.program = session, engine, session.program
        self._copies: dict[str, SortedRows] = {}
        self._below: dict[str, Rows] = {}
        self._touched: dict[str, list[Rows]] = {}
        # How much of what was touched `_below` knows of.
        self._looked_up: dict[str, int] = {}
        for predicate in session.program.arities:
            asserted, self._below[predicate] = self._read(predicate)
            self._copies[predicate] = SortedRows(asserted)
        self.size = sum(len(each.rows) for each in self._copies.values())
        self._left = max(_FEW, self.size // _PART)
        engine.watch = self._note

    @property
    def is_current(self) -> bool:
        """Whether it still notes what epochs touch; if not, there has to be another copy."""
        same = self.session.program is self.program and self.session.engine is self._engine
        return same and self._left >= 0

    def position(self) -> dict[str, int]:
        """How much has been noted of each predicate, for `touched`."""
        return {predicate: len(noted) for predicate, noted in self._touched.items()}

    def touched(self, since: dict[str, int]) -> dict[str, Rows]:
        """The facts that epochs have touched since a position, asserted or not, each once."""
        noted = {name: rows[since.get(name, 0) :] for name, rows in self._touched.items()}
        return {name: distinct(np.concatenate(rows))[0] for name, rows in noted.items() if rows}

    def times(self, predicate: str, args: Rows) -> NDArray[np.int64]:
        """How often distinct facts are asserted."""
        return self._engine.asserted(predicate, args)

    def below(self, predicate: str) -> Rows:
        """The facts that are retracted more often than asserted."""
        noted = self._touched.get(predicate, [])
        if new := noted[self._looked_up.get(predicate, 0) :]:
            candidates = distinct(np.concatenate([self._below[predicate], *new]))[0]
            self._below[predicate] = candidates[self.times(predicate, candidates) < 0]
            self._looked_up[predicate] = len(noted)
        return self._below[predicate]

    def matching(self, pattern: FactPattern) -> Rows:
        """The facts that have the constants of a pattern, each once."""
        bound = ids_of(pattern.constants, self.session.dictionary.find)
        keys = [[-1 if each is None else each for _, each in bound]]
        return self.having(pattern.predicate, [at for at, _ in bound], np.array(keys, np.int32))

    def having(self, predicate: str, positions: Sequence[int], keys: Rows) -> Rows:
        """The facts with the ids of keys at positions, and perhaps some more, each once.

        Args:
            predicate: Their predicate.
            positions: The positions, in order.
            keys: The ids, int32 of shape (n, len(positions)).
        """
        copy, noted = self._copies[predicate], self._touched.get(predicate, ())
        if len(positions) == copy.rows.shape[1]:
            found = keys
        else:
            wanted = {at: np.unique(keys[:, column]) for column, at in enumerate(positions)}
            found = copy.having(wanted) if wanted else copy.rows
            found = np.concatenate([found, *noted]) if noted else found
            for at, ids in wanted.items():
                column = found[:, at]
                found = found[column == ids[0] if len(ids) == 1 else np.isin(column, ids)]
        found = found if found is copy.rows else distinct(found)[0]
        return found[self.times(predicate, found) > 0]

    def _read(self, predicate: str) -> tuple[Rows, Rows]:
        """The facts that are asserted, and those that are retracted more often than asserted."""
        engine, plan = self._engine, self.session.plan
        if not (plan.lattices or self.program.rules or engine.statistics().below_zero):
            # What is present is asserted, which is faster to read.
            args = engine.facts(predicate)
            return args, args[:0]
        held = engine.select(predicate, {})
        return held.args[held.asserted > 0], held.args[held.asserted < 0]

    def _note(self, updates: Updates) -> None:
        """Note what an epoch touches, or that it is too much."""
        if updates.predicate not in self._copies:
            return
        self._left -= len(updates.args)
        if self._left >= 0:
            self._touched.setdefault(updates.predicate, []).append(updates.args.copy())
        else:
            self._engine.watch = None  # the next goal copies anew
            self._copies, self._below, self._touched = {}, {}, {}
