"""Wrong logins. Invariant: an address tries a password once a second at most, in bounded memory.

Each address has a bucket of tries, which fills again with time. A wrong login takes one; while
there is none, no login from the address is looked at, right or wrong.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections import OrderedDict
from typing import Final

TRIES: Final = 10.0
"""Wrong logins that an address has at once."""
TRIES_PER_SECOND: Final = 1.0
ADDRESSES: Final = 4096
"""Addresses that are remembered: the last ones."""
LOG_SECONDS: Final = 10.0
"""How often the log has a line about wrong logins."""
_NETWORK: Final = 64
"""Who has one address of IPv6 has all of its network."""

_logger = logging.getLogger(__name__)


class Logins:
    """The wrong logins of late."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._wrong = 0
        self._logged = float("-inf")

    def __len__(self) -> int:
        """Number of addresses that are remembered."""
        return len(self._buckets)

    def may_try(self, address: str) -> bool:
        """Whether a login from an address is looked at."""
        tries, since = self._buckets.get(_place(address), (TRIES, 0.0))
        return _filled(tries, since) >= 1

    def wrong(self, address: str) -> None:
        """A login from an address was wrong."""
        place, now = _place(address), time.monotonic()
        tries, since = self._buckets.pop(place, (TRIES, now))
        self._buckets[place] = _filled(tries, since) - 1, now
        if len(self._buckets) > ADDRESSES:
            self._buckets.popitem(last=False)
        self._wrong += 1
        if now >= self._logged + LOG_SECONDS:
            self._report(place, now)

    def _report(self, place: str, now: float) -> None:
        count = "A wrong login" if self._wrong == 1 else f"{self._wrong} wrong logins"
        _logger.warning(
            "%s, the last from %s (server.user, server.password_file).",
            count,
            place,
        )
        self._wrong, self._logged = 0, now


def _filled(tries: float, since: float) -> float:
    return min(TRIES, tries + (time.monotonic() - since) * TRIES_PER_SECOND)


def _place(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:45]
    if found.version == 4:  # noqa: PLR2004 - a version
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((int(found), _NETWORK), strict=False))
