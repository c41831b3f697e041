"""Replay of a Delta log: actions in, what is in effect out. Invariant: no row is read wrongly.

Other programs' commits have actions that this one never writes. Most do not affect the rows, and
are ignored. What changes how rows are read raises the protocol or is a deletion vector: such a
table is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from streamreasoner.errors import StateError
from streamreasoner.state.delta import log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamreasoner.state.delta.log import Action
    from streamreasoner.state.record import TableRecord

READER_VERSION: Final = 1
WRITER_VERSION: Final = 2


@dataclass(frozen=True, slots=True)
class Place:
    """Where a log is: in a directory, or where only Spark reads files.

    Attributes:
        table: The table, as messages name it.
        read: Reads the actions of a commit; None if the version does not exist yet.
        without_features: What to do if the table needs features that this version lacks.
        without_vectors: What to do if a data file has a deletion vector.
    """

    table: str
    read: Callable[[int], list[Action] | None]
    without_features: str
    without_vectors: str


@dataclass(slots=True)
class Replay:
    """What is in effect after the actions that were applied.

    Attributes:
        place: Where the log is.
        protocol: The Delta protocol that readers and writers must support.
        metadata: Schema and properties.
        transactions: The last transaction of each application.
        added: Files of the table, by path.
        removed: Removed files that the log still lists, by path.
        records: Records of epochs, oldest first.
    """

    place: Place
    protocol: Action | None = None
    metadata: Action | None = None
    transactions: dict[str, Action] = field(default_factory=dict)
    added: dict[str, Action] = field(default_factory=dict)
    removed: dict[str, Action] = field(default_factory=dict)
    records: list[TableRecord] = field(default_factory=list)

    def follow(self, version: int) -> int:
        """Apply the commits after a version; returns the last version.

        Raises:
            StateError: A commit is damaged, or needs unsupported Delta features.
        """
        while (actions := self.place.read(version + 1)) is not None:
            self.apply(actions)
            version += 1
        return version

    def apply(self, actions: Sequence[Action]) -> None:
        """Apply the actions of one commit or checkpoint.

        Raises:
            StateError: They need unsupported Delta features.
        """
        for action in actions:
            for kind, entry in action.items():
                self._apply(kind, entry)
        if (record := log.epoch_record(actions)) is not None:
            self.records.append(record)

    def _apply(self, kind: str, entry: Action) -> None:
        match kind:
            case "protocol":
                _check_protocol(self.place, entry)
                self.protocol = entry
            case "metaData":
                self.metadata = entry
            case "txn":
                self.transactions[entry["appId"]] = entry
            case "add":
                _check_file(self.place, entry)
                self.added[entry["path"]] = entry
                self.removed.pop(entry["path"], None)
            case "remove":
                self.removed[entry["path"]] = entry
                self.added.pop(entry["path"], None)
            case _:
                # Does not affect the rows.
                pass


def _check_protocol(place: Place, protocol: Action) -> None:
    """Refuse a table that needs Delta features beyond what this version reads and writes."""
    reader, writer = protocol.get("minReaderVersion", 0), protocol.get("minWriterVersion", 0)
    features = sorted(
        {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}, key=str
    )
    if reader > READER_VERSION or writer > WRITER_VERSION or features:
        named = f" and the table features {', '.join(map(str, features))}" if features else ""
        raise StateError(
            f"The table {place.table} needs Delta reader version {reader}, writer version {writer}"
            f"{named}; this version of streamreasoner reads and writes reader version "
            f"{READER_VERSION}, writer version {WRITER_VERSION}. {place.without_features}"
        )


def _check_file(place: Place, added: Action) -> None:
    """Refuse a data file with a deletion vector."""
    if added.get("deletionVector") is not None:
        raise StateError(
            f"The data file {added['path']} of the table {place.table} has a deletion vector, "
            f"which this version of streamreasoner does not read. {place.without_vectors}"
        )
