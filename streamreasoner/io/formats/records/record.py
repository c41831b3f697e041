"""Records of a schema: rows whose columns have types. Invariant: a shape is that of one schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from streamreasoner.io.formats.rejected import Reason, RejectedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamreasoner.io.formats.records.typed import Value

SCHEMA_HEADER = "__value_schema_id"
"""The header of a message whose schema its value does not name."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field of records of a shape.

    Attributes:
        get: Content of a record -> its value, None for NULL.
        convert: A value other than NULL -> value of a column. Raises a `RejectedError` if it is
            none, as an array.
        shape: The shape of its values, if they are records of one.
    """

    get: Callable[[Any], Any]
    convert: Callable[[Any], Value]
    shape: Shape | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What the records of a schema have in common.

    Attributes:
        fields: The fields by name.
    """

    fields: Mapping[str, Field]


class Record(NamedTuple):
    """A record, or a part of one."""

    shape: Shape
    content: Any

    def value(self, name: str) -> Value:
        """The value of a field, None if there is no such field.

        Raises:
            RejectedError: It is a record, an array or a map.
        """
        field = self.shape.fields.get(name)
        found = None if field is None else field.get(self.content)
        return None if field is None or found is None else field.convert(found)

    def record(self, name: str) -> Record | None:
        """The record in a field; None if it is NULL, no record, or there is no such field."""
        field = self.shape.fields.get(name)
        if field is None or field.shape is None:
            return None
        found = field.get(self.content)
        return None if found is None else Record(field.shape, found)


class Schemas(Protocol):
    """Where the schemas of messages are."""

    def record(self, kind: str, value: bytes) -> Record:
        """The record in the value of a message.

        Args:
            kind: What the schema must be: `AVRO` or `PROTOBUF`.
            value: The value, which begins with the id of its schema.

        Raises:
            RejectedError: The value is malformed, or its schema is unknown or cannot be used.
            SchemaRegistryError: The schemas cannot be reached.
        """
        ...

    def begin(self, epoch: int) -> None:
        """Ask again for schemas that were unknown, unless it is in a replay of the epoch."""
        ...

    def keep(self) -> None:
        """Make what is unknown in this epoch durable, so that a replay knows no more."""
        ...


class NoSchemas:
    """What stands for a schema registry where there is none."""

    def record(self, kind: str, value: bytes) -> Record:
        """Reject the message."""
        del value
        raise RejectedError(
            Reason.UNKNOWN_SCHEMA, f"Messages in {kind} are read by a pipeline only."
        )

    def begin(self, epoch: int) -> None:
        """Do nothing."""

    def keep(self) -> None:
        """Do nothing."""


NO_SCHEMAS = NoSchemas()


def no_column(name: str, kind: str) -> RejectedError:
    """The rejection of a value that no literal can be made of."""
    return RejectedError(
        Reason.WRONG_TYPE,
        f"The column {name!r} is {kind}; it must be a string, a number, a boolean, a date, a time,"
        " bytes or null.",
    )
