"""Records in Avro (https://avro.apache.org/docs/1.12.0/specification/).

Values are read as their schema says, not as Python's types do: a timestamp may have nanoseconds,
and a decimal keeps its scale. Invariant: no bytes make reading crash, hang, or take memory without
end, because schemas with which some would are refused.
"""

from __future__ import annotations

import io
import json
import uuid
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from fastavro import parse_schema, schemaless_reader
from fastavro.schema import SchemaParseException, UnknownType

from streamreasoner.counts import counted
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
from streamreasoner.io.formats.schemas.schema import Definition, UnusableSchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamreasoner.io.formats.records.typed import Value

    Convert: TypeAlias = Callable[[Any], Value]
    Node: TypeAlias = str | list[Any] | dict[str, Any]

_LOGICAL = "streamreasoner.logicalType"
"""The attribute that has the logical type of a schema, where fastavro does not apply it."""
_UNITS = {"millis": 1_000_000, "micros": 1_000, "nanos": 1}
"""Nanoseconds in the units of times."""
_TIMES = {("int", "time-millis"): _UNITS["millis"], ("long", "time-micros"): _UNITS["micros"]}
_ZONES = {"timestamp": "Z", "local-timestamp": ""}
_UUID_BYTES = 16
_MALFORMED = (ValueError, EOFError, LookupError, TypeError, ArithmeticError)
_PYTHON_TYPES: dict[str, type] = {
    "boolean": bool,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "bytes": bytes,
    "fixed": bytes,
    "string": str,
    "enum": str,
    "record": dict,
    "map": dict,
    "array": list,
}
_NESTED = {"record": "a record", "map": "a map", "array": "an array"}


class AvroSchema:
    """A schema of records.

    Args:
        definitions: The schemas that it refers to, and itself.

    Raises:
        UnusableSchemaError: It is malformed, defines no record, or a record that is in itself.
    """

    def __init__(self, definitions: Sequence[Definition]) -> None:
        named: dict[str, Any] = {}
        try:
            for each in definitions:
                tree = _without_logical_types(json.loads(each.text))
                self._parsed: Any = parse_schema(tree, named_schemas=named)
            self._shape = _Shapes(named).of(self._parsed)
        except (SchemaParseException, UnknownType, RecursionError, *_MALFORMED) as error:
            raise UnusableSchemaError(f"is malformed: {error!r}") from None

    def decode(self, payload: bytes) -> Record:
        """The record in some bytes; see `Schema`."""
        stream = io.BytesIO(payload)
        try:
            content = schemaless_reader(stream, self._parsed, None)
        except _MALFORMED as error:
            # The library names what it reads from, by an address that differs each time.
            why = str(error).partition(" from <")[0].rstrip(".") or "it ends too early"
            begin = f"After {counted(stream.tell(), 'byte')} of its record"
            detail = f"{begin}, the value is malformed: {why}."
            reason = Reason.MALFORMED_DOCUMENT
            raise RejectedError(reason, detail) from None
        if stream.tell() != len(payload):
            raise RejectedError(
                Reason.MALFORMED_DOCUMENT,
                f"The value goes on after its record, which ends after {stream.tell()} of"
                f" {counted(len(payload), 'byte')}.",
            )
        return Record(self._shape, content)


class _Shapes:
    """The shapes of the records of a schema."""

    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._known: dict[str, Shape] = {}
        self._open: list[str] = []

    def of(self, node: Node) -> Shape:
        """The shape of a schema that is a record."""
        kind, node = self._resolved(node)
        if kind != "record":
            raise UnusableSchemaError(f"is {_NESTED.get(kind, f'a {kind}')}, not a record")
        return self._record(node)

    def _record(self, node: dict[str, Any]) -> Shape:
        name = node["name"]
        if name in self._open:
            raise UnusableSchemaError(f"has the record {name} within itself, to any depth")
        if name not in self._known:
            self._open.append(name)
            fields = {each["name"]: self._field(each) for each in node["fields"]}
            self._open.pop()
            self._known[name] = Shape(fields)
        return self._known[name]

    def _field(self, node: dict[str, Any]) -> Field:
        name = node["name"]
        branches = [self._resolved(each) for each in _branches(node["type"])]
        for kind, branch in branches:
            self._check(kind, branch)
        shapes = [self._record(branch) for kind, branch in branches if kind == "record"]
        only = shapes[0] if len(shapes) == 1 and len(branches) == 1 else None
        return Field(itemgetter(name), _converter(name, branches), only)

    def _check(self, kind: str, node: dict[str, Any]) -> None:
        """Refuse what is within a schema, if some bytes of it cannot be read."""
        if kind == "record":
            self._record(node)
        elif kind in {"array", "map"}:
            inner = node["items" if kind == "array" else "values"]
            if kind == "array" and self._may_be_empty(inner):
                raise UnusableSchemaError("has an array whose items take no bytes")
            for each in _branches(inner):
                self._check(*self._resolved(each))

    def _may_be_empty(self, node: Node) -> bool:
        """Whether a value takes no bytes, so that a few bytes are any number of them."""
        if isinstance(node, list):
            return False
        if node == "null":
            return True
        kind, node = self._resolved(node)
        if kind == "record":
            self._record(node)
            return all(self._may_be_empty(each["type"]) for each in node["fields"])
        return kind == "null" or (kind == "fixed" and node["size"] == 0)

    def _resolved(self, node: Node) -> tuple[str, dict[str, Any]]:
        """The type of a schema, and its attributes."""
        while not isinstance(node, dict) or not isinstance(node["type"], str):
            if isinstance(node, dict):
                node = node["type"]
            elif isinstance(node, str) and node in self._named:
                node = self._named[node]
            elif isinstance(node, str):
                return node, {}
            else:
                return "union", {}
        kind = node["type"]
        return self._resolved(self._named[kind]) if kind in self._named else (kind, node)


def _without_logical_types(node: Any) -> Any:
    """A schema whose logical types fastavro does not know, so that it reads what they are on."""
    if isinstance(node, list):
        return [_without_logical_types(each) for each in node]
    if isinstance(node, dict):
        return {
            _LOGICAL if name == "logicalType" else name: _without_logical_types(each)
            for name, each in node.items()
        }
    return node


def _branches(node: Node) -> list[Any]:
    """The schemas of a value that is not null."""
    if isinstance(node, dict) and isinstance(node["type"], list):
        node = node["type"]
    return [each for each in node if each != "null"] if isinstance(node, list) else [node]


def _converter(name: str, branches: Sequence[tuple[str, dict[str, Any]]]) -> Convert:
    """What makes a column of a value that is one of some branches."""
    converts = [_of_branch(name, *each) for each in branches]
    if len(converts) == 1:
        return converts[0]
    by_type: dict[type, Convert] = {}
    for (kind, _), convert in zip(branches, converts, strict=True):
        found = by_type.setdefault(_PYTHON_TYPES.get(kind, object), convert)
        if found is not convert and kind not in _NESTED:
            kinds = " and ".join(each for each, _ in branches)
            return partial(_refuse, name, f"a union of {kinds}, which cannot be told apart")
    return lambda value: by_type[type(value)](value)


def _of_branch(name: str, kind: str, node: dict[str, Any]) -> Convert:
    """What makes a column of a value of one schema."""
    match kind:
        case "record" | "map" | "array":
            convert: Convert = partial(_refuse, name, _NESTED[kind])
        case "int" | "long":
            convert = _of_integer(kind, node.get(_LOGICAL))
        case "bytes" | "fixed":
            convert = _of_bytes(kind, node)
        case "float":
            convert = shortest
        case _:
            convert = _as_it_is
    return convert


def _of_integer(kind: str, logical: object) -> Convert:
    if (kind, logical) == ("int", "date"):
        return date_of
    if (kind, logical) in _TIMES:
        return _in_units(time_of_day, _TIMES[kind, str(logical)])
    base, _, unit = str(logical).rpartition("-")
    if kind == "long" and base in _ZONES and unit in _UNITS:
        return _in_units(partial(instant, zone=_ZONES[base]), _UNITS[unit])
    return _as_it_is


def _of_bytes(kind: str, node: dict[str, Any]) -> Convert:
    logical = node.get(_LOGICAL)
    if logical == "decimal":
        scale = int(node.get("scale", 0))
        return lambda value: decimal(int.from_bytes(value, signed=True), scale)
    if (kind, logical, node.get("size")) == ("fixed", "uuid", _UUID_BYTES):
        return lambda value: str(uuid.UUID(bytes=value))
    return binary


def _in_units(of_nanos: Callable[[int], Value], unit: int) -> Convert:
    return lambda value: of_nanos(value * unit)


def _as_it_is(value: Any) -> Value:
    found: Value = value
    return found


def _refuse(name: str, kind: str, value: Any) -> Value:
    del value
    raise no_column(name, kind)
