"""Event times. Invariant: whether a text is a valid time does not depend on its batch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

ALLOWED = "ISO 8601 with a time zone (2026-01-01T00:00:00.000Z) or milliseconds since 1970"
OUT_OF_RANGE = (
    "The message has no ts, and its Kafka timestamp is outside the years 1 to 9999. "
    "Send a ts, or correct the clock of the producer."
)
INVALID = np.iinfo(np.int64).min
NONE = np.iinfo(np.int64).max

FIRST = -62_135_596_800_000
"""The first millisecond of the year 1: the tables have TIMESTAMPs of the years 1 to 9999."""
LAST = 253_402_300_799_999
"""The last millisecond of the year 9999."""
_SHAPE = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\d*(Z|[+-]\d\d:?\d\d)", re.ASCII
)
_MICROSECONDS = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True, eq=False)
class EventTimes:
    """Event times of n updates, as messages have them.

    Attributes:
        read: Milliseconds since 1970 in the years 1 to 9999, int64 of shape (n,); `NONE` for an
            update without a time, or with one that is yet to be read.
        written: ISO 8601 texts, and milliseconds, that are yet to be read, by update.
    """

    read: NDArray[np.int64]
    written: Mapping[int, str | int]

    @classmethod
    def of(cls, times: Sequence[str | int | None]) -> EventTimes:
        """Times that are yet to be read; None for an update without one."""
        written = {row: time for row, time in enumerate(times) if time is not None}
        return cls(np.full(len(times), NONE), written)

    def milliseconds(self, default: NDArray[np.int64]) -> NDArray[np.int64]:
        """The times in milliseconds since 1970-01-01 UTC.

        Args:
            default: The times of updates without one, any int64 of shape (n,).

        Returns:
            int64 of shape (n,), `INVALID` where a time is malformed or outside the years 1 to 9999.
        """
        result = np.where(self.read == NONE, in_range(default), self.read)
        if not self.written:
            return result
        texts = [row for row, time in self.written.items() if isinstance(time, str)]
        if texts:
            result[texts] = _parse(pa.array([self.written[row] for row in texts], pa.string()))
        for row, time in self.written.items():
            if isinstance(time, int):
                result[row] = time if FIRST <= time <= LAST else INVALID
        # A time zone may move a text out of range.
        return in_range(result)


def in_range(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Times in milliseconds since 1970, of any shape; `INVALID` outside the years 1 to 9999."""
    return np.where((times < FIRST) | (times > LAST), INVALID, times)


def iso(ts: int) -> str:
    """ISO 8601 in UTC with milliseconds, for times in the years 1 to 9999."""
    seconds, thousandths = divmod(ts, 1000)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text:0>19}.{thousandths:03}Z"


def instant(ts: int) -> datetime:
    """The same time as an aware datetime."""
    return datetime.fromtimestamp(ts // 1000, UTC).replace(microsecond=ts % 1000 * 1000)


def _parse(texts: pa.Array) -> NDArray[np.int64]:
    """Bisect to isolate texts that are not times: each costs log n casts."""
    try:
        micros = texts.cast(_MICROSECONDS).cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            return np.array([_parse_one(texts[0].as_py())], dtype=np.int64)
        middle = len(texts) // 2
        return np.concatenate([_parse(texts[:middle]), _parse(texts[middle:])])
    return np.asarray(micros // 1000, dtype=np.int64)


def _parse_one(text: str) -> int:
    # Arrow rejects digits beyond microseconds, which some producers send; truncate them.
    match = _SHAPE.fullmatch(text)
    if match is None or match[1] + match[2] == text:
        return INVALID
    return int(_parse(pa.array([match[1] + match[2]]))[0])
