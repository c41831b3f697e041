"""Records of epochs, as they are stored. Invariant: what any release wrote is read.

| record | stored in | as |
|---|---|---|
| `EpochRecord` | the progress topic, with the published changes | marker |
| `TableRecord` | commits of the Delta tables, and seals of their checkpoints | JSON |

Keys have the names of the first release, and readers ignore those that they do not know.
"""

from __future__ import annotations

import json

import msgspec

from streamreasoner.state.version import StateVersion

Offsets = dict[str, dict[str, list[int]]]
"""Input that an epoch read: topic -> partition -> [first, next]."""


class SlotRecord(msgspec.Struct, frozen=True):
    """How far event time has come, in a state whose epochs are slots of it.

    Attributes:
        granularity: Length of a slot, in milliseconds.
        watermarks: Topic -> partition -> event time up to which it is complete, in milliseconds
            since 1970; without partitions that have had no message yet.
    """

    granularity: int
    watermarks: dict[str, dict[str, int]]


class EpochRecord(
    msgspec.Struct, frozen=True, rename={"epoch": "batch", "program": "program_hash"}
):
    """What both durable steps record of an epoch.

    Attributes:
        epoch: Its number, equal to Spark's batch id.
        offsets: Its input range.
        program: Hash of the program in effect: the one that it changed to, if it changed it.
        format: Format of the state; a marker without one has the oldest.
        semantics: Semantics of the state.
        frontier: Event time up to which facts have expired, in milliseconds since 1970; None
            before the first.
        input: Topic to the semantics of its updates, if they are not a multiset.
        layout: If the output topic holds facts under keys, over how many partitions; None if it
            holds changes.
        contents: If the output topic holds facts under keys, which ones; None if it holds changes,
            or an earlier release wrote the marker.
        slots: How far event time has come; None if each batch is one epoch.
        encoded: Whether memory had copies along hierarchies only where rules read them.
    """

    epoch: int
    offsets: Offsets
    program: str
    format: int = StateVersion().format
    semantics: int = StateVersion().semantics
    frontier: int | None = None
    input: dict[str, str] = {}
    layout: int | None = None
    contents: str | None = None
    slots: SlotRecord | None = None
    encoded: bool = False

    @property
    def version(self) -> StateVersion:
        """The version of the state it belongs to."""
        return StateVersion(self.format, self.semantics)

    def to_marker(self) -> bytes:
        """The record as the value of a message."""
        return msgspec.json.encode(_fields(self))

    @staticmethod
    def from_marker(value: bytes) -> EpochRecord:
        """Inverse of `to_marker`.

        Raises:
            msgspec.DecodeError: The value is not a marker.
        """
        return _decode_marker(value)


class TableRecord(msgspec.Struct, frozen=True, rename={"new_program": "program"}):
    """What a table's commit records of its epoch; see `state.commit`.

    Attributes:
        epoch: The epoch, equal to the version of the application's transaction in that commit.
        previous: The epoch before it, None for the first.
        latest: The last epoch with rows in each table other than `trace`; tables that have had no
            rows are left out.
        offsets: Its input range.
        new_program: Hash of the program that took effect in this epoch, None if it did not change.
        frontier: That of `EpochRecord`.
        input: That of `EpochRecord`.
        slots: That of `EpochRecord`.
        encoded: That of `EpochRecord`.
    """

    epoch: int
    previous: int | None
    latest: dict[str, int]
    offsets: Offsets
    new_program: str | None
    frontier: int | None = None
    input: dict[str, str] = {}
    slots: SlotRecord | None = None
    encoded: bool = False

    def to_json(self) -> str:
        """The record as JSON, a value in the commit's `commitInfo`."""
        return json.dumps(_fields(self))

    @staticmethod
    def from_json(text: str) -> TableRecord:
        """Inverse of `to_json`."""
        fields = json.loads(text)
        # Commits without a seal name only the tables with rows of their own epoch.
        own = dict.fromkeys(fields.get("requires", ()), fields["epoch"])
        return _decode(json.dumps({"latest": own, **fields}))


_decode_marker = msgspec.json.Decoder(EpochRecord).decode
_decode = msgspec.json.Decoder(TableRecord).decode


def _fields(record: EpochRecord | TableRecord) -> dict[str, object]:
    """The fields of a record, as earlier releases wrote them if it has none of the later ones."""
    fields: dict[str, object] = msgspec.to_builtins(record)
    later: dict[str, object] = {
        **dict.fromkeys(("frontier", "layout", "contents", "slots")),
        "input": {},
        "encoded": False,
    }
    return {name: value for name, value in fields.items() if later.get(name, ...) != value}
