"""Records in Protobuf (https://protobuf.dev/programming-guides/encoding/).

Values are those of Protobuf's mapping to JSON where JSON has a type for them; well-known types are
dates, times, decimals and nullable values. Invariant: a type is described by its registered schema
and by the files that come with Protobuf, and by nothing else.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import date
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from streamreasoner.io.formats.records.record import Field, Record, Shape, no_column
from streamreasoner.io.formats.records.typed import (
    binary,
    date_of,
    decimal,
    instant,
    shortest,
    time_of_day,
)
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.io.formats.schemas.frame import split_path
from streamreasoner.io.formats.schemas.schema import UnusableSchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamreasoner.io.formats.records.typed import Value
    from streamreasoner.io.formats.schemas.schema import Definition

    Convert: TypeAlias = Callable[[Any], Value]

_PACKAGES = {
    "google/protobuf": "google.protobuf",
    "google/type": "google.type",
    "confluent": "confluent_kafka.schema_registry.confluent",
}
"""Where files are that schemas import without a reference."""
_FILE = re.compile(r"(google/protobuf|google/type|confluent)/([a-z_/]+)\.proto")
_NANOS = 1_000_000_000
_EPOCH = date(1970, 1, 1).toordinal()


class ProtobufSchema:
    """A file of types, of which each message names one.

    Args:
        definitions: The files that it imports by reference, and itself.

    Raises:
        UnusableSchemaError: It is malformed, or imports a file that there is not.
    """

    def __init__(self, definitions: Sequence[Definition]) -> None:
        self._pool = DescriptorPool()
        self._files: set[str] = set()
        self._shapes: dict[str, Shape] = {}
        self._types: dict[tuple[int, ...], tuple[Any, Shape]] = {}
        for at, each in enumerate(definitions):
            self._file = _parsed(each.text)
            self._file.name = each.name or f"schema-{at}.proto"
            self._add(self._file)

    def decode(self, payload: bytes) -> Record:
        """The record in some bytes, which begin with the path of its type; see `Schema`."""
        path, content = split_path(payload)
        type_, shape = self._types.get(path) or self._type(path)
        try:
            return Record(shape, type_.FromString(content))
        except DecodeError as error:
            detail = f"The value is malformed: {error}."
            raise RejectedError(Reason.MALFORMED_DOCUMENT, detail) from None

    def _add(self, file: FileDescriptorProto) -> None:
        """Add a file and those that it imports without a reference."""
        for name in file.dependency:
            if name not in self._files:
                self._add(_imported(name))
        try:
            self._pool.Add(file)
        except TypeError as error:
            raise UnusableSchemaError(f"is malformed: {error}") from None
        self._files.add(file.name)

    def _type(self, path: tuple[int, ...]) -> tuple[Any, Shape]:
        """The class of messages of a type, and their shape."""
        types, names = self._file.message_type, [self._file.package] * bool(self._file.package)
        for index in path:
            if not 0 <= index < len(types):
                raise RejectedError(
                    Reason.MALFORMED_DOCUMENT,
                    f"The schema has no type at the path {', '.join(map(str, path))}.",
                )
            names.append(types[index].name)
            types = types[index].nested_type
        described = self._pool.FindMessageTypeByName(".".join(names))
        self._types[path] = found = (GetMessageClass(described), self._shape(described))
        return found

    def _shape(self, described: Any) -> Shape:
        """The shape of a type, which may have itself as a field."""
        found = self._shapes.get(described.full_name)
        if found is None:
            fields: dict[str, Field] = {}
            self._shapes[described.full_name] = found = Shape(fields)
            fields |= {each.name: self._field(each) for each in described.fields}
        return found

    def _field(self, field: FieldDescriptor) -> Field:
        get = partial(_present, name=field.name) if field.has_presence else attrgetter(field.name)
        nested = field.message_type
        is_record = nested is not None and not field.is_repeated and nested.full_name not in _KNOWN
        return Field(get, _converter(field), self._shape(nested) if is_record else None)


def _parsed(text: str) -> FileDescriptorProto:
    """A file as registries give it when asked for `format=serialized`."""
    try:
        return FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        raise UnusableSchemaError(
            "is not a serialized descriptor: the registry gave its text, and does not know"
            " format=serialized. Use a registry that does, or register the descriptor itself"
        ) from None


def _imported(name: str) -> FileDescriptorProto:
    """A file that comes with Protobuf, or with the client of the registry."""
    found, unknown = _FILE.fullmatch(name), f"imports {name}, to which it has no reference"
    if found is None:
        raise UnusableSchemaError(unknown)
    try:
        module = import_module(f"{_PACKAGES[found[1]]}.{found[2].replace('/', '.')}_pb2")
    except ModuleNotFoundError:
        raise UnusableSchemaError(unknown) from None
    return FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)


def _present(content: Any, name: str) -> Any:
    """A field that knows whether it is set."""
    return getattr(content, name) if content.HasField(name) else None


def _converter(field: FieldDescriptor) -> Convert:
    """What makes a column of a value of a field."""
    if field.is_repeated:
        return partial(_refuse, field.name, "repeated")
    if field.message_type is not None:
        known = _KNOWN.get(field.message_type.full_name)
        return known or partial(_refuse, field.name, f"a {field.message_type.full_name}")
    if field.enum_type is not None:
        names = {each.number: each.name for each in field.enum_type.values}
        return lambda number: names.get(number, number)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return binary
    return shortest if field.type == FieldDescriptor.TYPE_FLOAT else _as_it_is


def _as_it_is(value: Any) -> Value:
    found: Value = value
    return found


def _refuse(name: str, kind: str, value: Any) -> Value:
    del value
    raise no_column(name, kind)


def _date(value: Any) -> Value:
    try:
        day = date(value.year, value.month, value.day)
    except ValueError as error:
        raise RejectedError(Reason.NUMBER_OUT_OF_RANGE, f"A date is not valid: {error}.") from None
    return date_of(day.toordinal() - _EPOCH)


def _time(value: Any) -> Value:
    seconds = (value.hours * 60 + value.minutes) * 60 + value.seconds
    return time_of_day(seconds * _NANOS + value.nanos)


_KNOWN: dict[str, Convert] = {
    "google.protobuf.Timestamp": lambda value: instant(value.seconds * _NANOS + value.nanos),
    "google.type.Date": _date,
    "google.type.TimeOfDay": _time,
    "confluent.type.Decimal": lambda value: decimal(
        int.from_bytes(value.value, signed=True), value.scale
    ),
    "google.protobuf.FloatValue": lambda value: shortest(value.value),
    "google.protobuf.BytesValue": lambda value: binary(value.value),
    **{
        f"google.protobuf.{name}Value": attrgetter("value")
        for name in ("Double", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String")
    },
}
"""Types whose messages are values of columns, by full name."""
