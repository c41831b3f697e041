"""What a state uses, and what it can hold. Invariant: `auto` and metrics read one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.system.memory import Fill, fullest

if TYPE_CHECKING:
    from collections.abc import Mapping

FULL = 0.75
"""The part of a store that a state may fill: the rest is for what one batch adds."""
_NO_LIMIT = Fill(0, 0)


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a state uses, of what its backend can hold.

    Attributes:
        bytes: Memory in use by facts and terms.
        records: Records of facts in memory.
        text: Text of terms in memory.
        ids: Ids of terms, of which all backends have the same number.
    """

    bytes: int
    records: Fill = _NO_LIMIT
    text: Fill = _NO_LIMIT
    ids: Fill = _NO_LIMIT

    @property
    def stores(self) -> Mapping[str, Fill]:
        """How full facts and terms are."""
        return {"facts": self.records, "terms": fullest(self.text, self.ids)}

    def fits(self, limit: int, share: float = 1.0) -> bool:
        """Whether a state may be in memory, with room for what one batch adds.

        Args:
            limit: Bytes of memory that it may use.
            share: Part of all limits that it may use.
        """
        # Ids do not count, because a state that moves to another backend gains none.
        fullness = fullest(self.records, self.text).ratio
        return self.bytes <= limit * share and fullness <= FULL * share
