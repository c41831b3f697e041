"""Builders of control messages and batches of messages for tests."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa

from streamreasoner.io.formats.rejected import Reason

APPENDED = datetime(2026, 3, 1, tzinfo=UTC)
CONTROL_REASONS = frozenset(
    {
        Reason.UNKNOWN_OPERATION,
        Reason.RULES_REFUSED,
        Reason.UNKNOWN_RULE,
        Reason.IMPORT_OF_A_FILE,
        Reason.OTHER_ARITY,
        Reason.OTHER_EXPIRIES,
        Reason.OTHER_ROLE,
        Reason.TOO_MANY_ARGUMENTS,
        Reason.UNPUBLISHABLE,
        Reason.EPOCH_FAILED,
    }
)
"""Reasons for control messages only."""


def control(operation, rules, **fields):
    """The value of a control message."""
    return json.dumps({"operation": operation, "rules": rules, **fields}).encode()


def messages(**topics):
    """A batch as the source delivers it, from topic -> values, in order."""
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    rows = [
        (topic, offset, value) for topic in topics for offset, value in enumerate(topics[topic])
    ]
    count = len(rows)
    return pa.table(
        {
            "topic": pa.array([topic for topic, _, _ in rows], pa.string()),
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array([offset for _, offset, _ in rows], pa.int64()),
            "timestamp": pa.array([APPENDED] * count, pa.timestamp("us", "UTC")),
            "key": pa.array([None] * count, pa.binary()),
            "value": pa.array([value for _, _, value in rows], pa.binary()),
            "headers": pa.array([None] * count, header),
        }
    )
