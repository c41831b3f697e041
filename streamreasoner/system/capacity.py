"""What a state uses, and what it can hold. Invariant: `auto`, metrics and errors read one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.errors import StateFullError
from streamreasoner.system.memory import Fill, fullest

if TYPE_CHECKING:
    from collections.abc import Mapping

_FULL = 0.75  # of a store; the rest is for what one batch adds
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
        return self.bytes <= limit * share and fullness <= _FULL * share


def full(what: str, fill: Fill, *, by_addresses: bool = False) -> StateFullError:
    """The error for an epoch that does not fit a store, with advice.

    Args:
        what: What is full, and what uses it.
        fill: How full it is.
        by_addresses: Whether addresses limit it, so that more memory would not help.
    """
    limit = "can be addressed on any machine" if by_addresses else "this machine's memory allows"
    larger = "" if by_addresses else ", or use a machine with more memory"
    return StateFullError(
        f"{what} {fill} that {limit}. The epoch was rolled back. Set "
        f'pipeline.backend = "spark", which has no such limit{larger}.'
    )
