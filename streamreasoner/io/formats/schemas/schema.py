"""A schema that messages name, ready for reading. Invariant: it is read once for many messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.io.formats.records.record import Record


class UnusableSchemaError(Exception):
    """A schema that records cannot be read with; the message is a clause that says why."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a registry has of a schema.

    Attributes:
        name: What schemas that refer to it call it; empty for the one that a message names.
        text: The schema: JSON for Avro, a serialized file descriptor in Base64 for Protobuf.
    """

    name: str
    text: str


class Schema(Protocol):
    """A schema of either kind."""

    def decode(self, payload: bytes) -> Record:
        """The record that follows the id of the schema.

        Raises:
            RejectedError: The bytes are not a record of it.
        """
        ...


class SchemaReader(Protocol):
    """Makes a schema of its definitions, those that others refer to first."""

    def __call__(self, definitions: Sequence[Definition]) -> Schema:
        """The schema that is defined last.

        Raises:
            UnusableSchemaError: It is malformed, or its records cannot be rows.
        """
        ...
