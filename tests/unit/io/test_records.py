"""Records in Avro and Protobuf: their values as columns, and schemas that are refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pytest
from confluent_kafka.schema_registry import Schema
from google.protobuf import timestamp_pb2, wrappers_pb2
from google.type import date_pb2, timeofday_pb2
from hypothesis import example, given
from hypothesis import strategies as st
from record_messages import (
    avro,
    avro_schema,
    framed,
    message,
    message_class,
    nullable,
    proto_file,
    proto_schema,
    record,
    scalar,
)

from streamreasoner.io.formats.records.typed import Typed
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.io.formats.schemas.avro import AvroSchema
from streamreasoner.io.formats.schemas.client import changes_values
from streamreasoner.io.formats.schemas.frame import split, split_path
from streamreasoner.io.formats.schemas.schema import Definition, UnusableSchemaError

XSD = "http://www.w3.org/2001/XMLSchema#"


def logical(base, logical_type, **attributes):
    """A logical type of Avro."""
    return {"type": base, "logicalType": logical_type, **attributes}


def fixed(size, logical_type, **attributes):
    """A logical type of Avro on a fixed number of bytes."""
    return logical("fixed", logical_type, name="F", size=size, **attributes)


def literal(text, datatype):
    """A value with a datatype of XSD."""
    return Typed(text, XSD + datatype)


NOON = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
NANOS = 1_772_366_400_250_000_001
ENUM = {"type": "enum", "name": "E", "symbols": ["LOW", "HIGH"]}
VALUES = {
    "boolean": ("boolean", True, True),
    "int": ("int", -7, -7),
    "long": ("long", 2**63 - 1, 2**63 - 1),
    "double": ("double", 0.1, 0.1),
    "float": ("float", 0.1, 0.1),
    "infinite float": ("float", float("-inf"), float("-inf")),
    "string": ("string", "ü", "ü"),
    "enum": (ENUM, "HIGH", "HIGH"),
    "bytes": ("bytes", b"\0\xff", literal("AP8=", "base64Binary")),
    "date": (logical("int", "date"), date(1969, 12, 31), literal("1969-12-31", "date")),
    "time-millis": (
        logical("int", "time-millis"),
        time(1, 2, 3, 40_000),
        literal("01:02:03.04", "time"),
    ),
    "time-micros": (
        logical("long", "time-micros"),
        time(23, 59, 59, 1),
        literal("23:59:59.000001", "time"),
    ),
    "timestamp-millis": (
        logical("long", "timestamp-millis"),
        NOON,
        literal("2026-03-01T12:00:00.25Z", "dateTime"),
    ),
    "timestamp-micros": (
        logical("long", "timestamp-micros"),
        NOON.replace(microsecond=0),
        literal("2026-03-01T12:00:00Z", "dateTime"),
    ),
    "timestamp-nanos": (
        logical("long", "timestamp-nanos"),
        NANOS,
        literal("2026-03-01T12:00:00.250000001Z", "dateTime"),
    ),
    "local-timestamp-micros": (
        logical("long", "local-timestamp-micros"),
        datetime(1, 1, 1, 0, 0, 1),  # noqa: DTZ001 - it has no zone
        literal("0001-01-01T00:00:01", "dateTime"),
    ),
    "decimal": (
        logical("bytes", "decimal", precision=5, scale=2),
        Decimal("-9.50"),
        literal("-9.50", "decimal"),
    ),
    "decimal below one": (
        fixed(4, "decimal", precision=5, scale=3),
        Decimal("0.005"),
        literal("0.005", "decimal"),
    ),
    "decimal without scale": (
        logical("bytes", "decimal", precision=3),
        Decimal(120),
        literal("120", "decimal"),
    ),
    "uuid": (
        logical("string", "uuid"),
        UUID("12345678-90AB-CDEF-1234-567890ABCDEF"),
        "12345678-90ab-cdef-1234-567890abcdef",
    ),
    "unknown logical type": (logical("long", "elapsed"), 5, 5),
    "logical type of another base": (logical("long", "date"), 5, 5),
    "null": (nullable("int"), None, None),
    "value of a union": (nullable(logical("int", "date")), date(1970, 1, 2), None),
    "union of several types": (["int", "string", "double", "null"], "x", "x"),
}
VALUES["value of a union"] = (*VALUES["value of a union"][:2], literal("1970-01-02", "date"))
TREE = record("T", ("next", nullable("T")))


@pytest.mark.parametrize("name", VALUES)
def test_a_value_in_avro(name):
    """Each type has the literal that docs/how-to/cdc-tables.md says."""
    type_, written, expected = VALUES[name]
    schema = record("R", ("before", "string"), ("value", type_))
    found = avro_schema(schema).decode(avro(schema, {"before": "", "value": written})[5:])
    assert repr(found.value("value")) == repr(expected)


@pytest.mark.parametrize(
    ("type_", "value", "kind"),
    [
        ({"type": "array", "items": "int"}, [1], "an array"),
        ({"type": "map", "values": "int"}, {}, "a map"),
        (record("S", ("a", "int")), {"a": 1}, "a record"),
        (nullable(record("S", ("a", "int"))), {"a": 1}, "a record"),
        (["int", {"type": "array", "items": "int"}], [1], "an array"),
        (["float", "double"], 1.5, "a union of float and double, which cannot be told apart"),
        (["int", logical("long", "timestamp-millis")], 5, "a union of int and long, which cannot"),
    ],
)
def test_a_value_that_is_no_literal(type_, value, kind):
    """It is refused where a mapping reads it, and by name."""
    schema = record("R", ("value", type_))
    found = avro_schema(schema).decode(avro(schema, {"value": value})[5:])
    with pytest.raises(RejectedError, match=f"The column 'value' is {kind}"):
        found.value("value")


@pytest.mark.parametrize(
    ("type_", "value", "said"),
    [
        (logical("int", "date"), 3_000_000, "A date that is 3000000 days after 1970-01-01"),
        (logical("int", "date"), -(2**31), "A date"),
        (logical("long", "time-micros"), 86_400_000_000, "A time that is 86400000000000 ns after"),
        (logical("long", "timestamp-millis"), 2**62, "A date"),
        (logical("bytes", "decimal", precision=5), b"\1" * 2000, "A decimal of more than 4000 dig"),
    ],
)
def test_a_value_out_of_range(type_, value, said):
    """The years are 1 to 9999, and a day has 24 hours."""
    plain = record("R", ("value", type_["type"]))
    found = avro_schema(record("R", ("value", type_))).decode(avro(plain, {"value": value})[5:])
    with pytest.raises(RejectedError, match=said) as caught:
        found.value("value")
    assert caught.value.reason is Reason.NUMBER_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("schemas", "said"),
    [
        (["string"], "is a string, not a record"),
        ([["null", record("R")]], "is a union, not a record"),
        ([{"type": "array", "items": record("R")}], "is an array, not a record"),
        ([TREE], "has the record T within itself"),
        ([record("R", ("a", {"type": "array", "items": TREE}))], "has the record T within itself"),
        ([record("R", ("a", {"type": "array", "items": "null"}))], "items take no bytes"),
        ([record("R", ("a", {"type": "array", "items": record("S")}))], "items take no bytes"),
        ([record("R", ("a", {"type": "map", "values": TREE}))], "has the record T within itself"),
        ([record("R", ("a", "unknown.Type"))], "is malformed"),
        ([{"type": "record", "name": "R", "fields": [{"name": "a"}]}], "is malformed"),
    ],
)
def test_a_schema_that_cannot_be_used(schemas, said):
    """Records that some bytes would make crash or hang are refused before there are any."""
    with pytest.raises(UnusableSchemaError, match=said):
        avro_schema(*schemas)


@pytest.mark.parametrize(
    ("rules", "changes"),
    [
        ({}, False),
        ({"domainRules": [{"kind": "CONDITION", "mode": "WRITE"}]}, False),
        ({"domainRules": [{"kind": "TRANSFORM", "mode": "WRITE"}]}, False),
        ({"domainRules": [{"kind": "TRANSFORM", "mode": "WRITEREAD"}]}, True),
        ({"encodingRules": [{"kind": "TRANSFORM", "mode": "WRITEREAD"}]}, True),
        ({"migrationRules": [{"kind": "TRANSFORM", "mode": "UPGRADE"}]}, False),
    ],
)
def test_rules_of_a_schema(rules, changes):
    """Those that a reader would have to undo, as of encryption, are known."""
    named = {kind: [{"name": "r", "type": "X", **each[0]}] for kind, each in rules.items()}
    schema = Schema.from_dict({"schema": "{}", "schemaType": "AVRO", "ruleSet": named})
    assert changes_values(schema) == changes


def test_a_schema_that_is_no_json():
    """The registry did not check it."""
    with pytest.raises(UnusableSchemaError, match="is malformed"):
        AvroSchema([Definition("", "{")])


def test_a_schema_in_several_parts():
    """Named types of one are known to the next ones, and in a record more than once."""
    part = record("a.Part", ("x", logical("int", "date")))
    whole = record("b.Whole", ("part", "a.Part"), ("other", nullable("a.Part")))
    schema = avro_schema(part, whole)
    day = record("a.Part", ("x", "int"))
    found = schema.decode(
        avro(record("W", ("part", day), ("other", nullable("a.Part"))), {"part": {"x": 1}})[5:]
    )
    assert found.record("part").value("x") == literal("1970-01-02", "date")
    assert found.record("other") is None


WIDE = record(
    "Wide",
    *((f"f{at}", type_) for at, (type_, *_) in enumerate(VALUES.values()) if "name" not in type_),
    ("list", {"type": "array", "items": nullable("string")}),
    ("map", {"type": "map", "values": record("Inner", ("x", "double"))}),
)
WIDE_SCHEMA = avro_schema(WIDE)
PROTO = proto_file(
    "room.proto",
    ("Other",),
    (
        "Room",
        ("flag", scalar("bool")),
        ("small", scalar("sint32")),
        ("large", scalar("uint64")),
        ("half", scalar("float")),
        ("whole", scalar("double")),
        ("text", scalar("string")),
        ("data", scalar("bytes")),
        ("maybe", scalar("int32", proto3_optional=True)),
        ("at", message("google.protobuf.Timestamp")),
        ("day", message("google.type.Date")),
        ("clock", message("google.type.TimeOfDay")),
        ("price", message("confluent.type.Decimal")),
        ("wrapped", message("google.protobuf.FloatValue")),
        ("named", message("google.protobuf.StringValue")),
        ("many", scalar("int32", label=3)),
        ("other", message("ex.Other")),
        ("itself", message("ex.Room")),
    ),
    imports=(
        "google/protobuf/timestamp.proto",
        "google/protobuf/wrappers.proto",
        "google/type/date.proto",
        "google/type/timeofday.proto",
        "confluent/type/decimal.proto",
    ),
)
PROTO_SCHEMA = proto_schema(PROTO)
ROOM = PROTO_SCHEMA.decode(framed(1, b"", [1])[5:]).content.__class__


def proto_value(name, **fields):
    """A column of a message of Protobuf."""
    payload = framed(1, ROOM(**fields).SerializeToString(), [1])[5:]
    return PROTO_SCHEMA.decode(payload).value(name)


@pytest.mark.parametrize(
    ("name", "written", "expected"),
    [
        ("flag", True, True),
        ("flag", None, False),
        ("small", -3, -3),
        ("large", 2**64 - 1, 2**64 - 1),
        ("half", 0.1, 0.1),
        ("whole", 0.1, 0.1),
        ("text", None, ""),
        ("data", b"\0\xff", literal("AP8=", "base64Binary")),
        ("maybe", None, None),
        ("maybe", 0, 0),
        ("at", None, None),
        (
            "at",
            timestamp_pb2.Timestamp(seconds=-1, nanos=500_000_000),
            literal("1969-12-31T23:59:59.5Z", "dateTime"),
        ),
        ("day", date_pb2.Date(year=2026, month=2, day=28), literal("2026-02-28", "date")),
        (
            "clock",
            timeofday_pb2.TimeOfDay(hours=7, minutes=5, nanos=1),
            literal("07:05:00.000000001", "time"),
        ),
        ("wrapped", wrappers_pb2.FloatValue(value=0.1), 0.1),
        ("wrapped", None, None),
        ("named", wrappers_pb2.StringValue(), ""),
        ("other", None, None),
    ],
)
def test_a_value_in_protobuf(name, written, expected):
    """A field without presence has its default; well-known types are values."""
    if name in {"at", "day", "clock", "wrapped", "named"} and written is not None:
        known = ROOM()
        getattr(known, name).ParseFromString(written.SerializeToString())
        getattr(known, name).SetInParent()
        written = getattr(known, name)
    fields = {} if written is None else {name: written}
    assert repr(proto_value(name, **fields)) == repr(expected)


def test_a_decimal_in_protobuf():
    """Its scale may be negative."""
    price = {"value": (-125).to_bytes(2, signed=True), "scale": 1}
    assert proto_value("price", price=price) == literal("-12.5", "decimal")
    assert proto_value("price", price={**price, "scale": -2}) == literal("-12500", "decimal")
    assert proto_value("price", price={"scale": -2}) == literal("0", "decimal")
    for scale in (2**31 - 1, -(2**31)):
        with pytest.raises(RejectedError, match="more than 4000 digits"):
            proto_value("price", price={**price, "scale": scale})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"many": [1]}, "The column 'many' is repeated"),
        ({"other": {}}, r"The column 'other' is a ex\.Other"),
        ({"day": {"year": 2026}}, "A date is not valid: month must be in"),
        ({"clock": {"hours": 24}}, "A time that is 86400000000000 ns after midnight is out of ran"),
    ],
)
def test_a_message_that_is_no_value(fields, said):
    """What cannot be a literal is refused where a mapping reads it."""
    [name] = fields
    with pytest.raises(RejectedError, match=said):
        proto_value(name, **fields)


def test_types_of_protobuf_in_other_files():
    """A schema refers to others; a message of it may be of any of its types, or of a nested one."""
    base = proto_file("base.proto", ("Base", ("id", scalar("int64"))), package="")
    file = proto_file("whole.proto", ("One",), ("Two", ("base", message("Base"))))
    file.dependency.append("base.proto")
    file.message_type[1].nested_type.add().CopyFrom(file.message_type[0])
    schema = proto_schema(base, file)
    two = message_class(file, "ex.Two", base)(base={"id": 7})
    found = schema.decode(framed(1, two.SerializeToString(), [1])[5:])
    assert found.record("base").value("id") == 7
    assert schema.decode(framed(1, b"", [0])[5:]).shape.fields == {}
    assert schema.decode(framed(1, b"", [1, 0])[5:]).content.DESCRIPTOR.full_name == "ex.Two.One"


def test_an_enum_in_protobuf():
    """It is the name of its value, or a number without a name."""
    file = proto_file("e.proto", ("M", ("level", scalar("enum", type_name=".ex.Level"))))
    levels = file.enum_type.add(name="Level")
    levels.value.add(name="LOW", number=0)
    levels.value.add(name="HIGH", number=1)
    schema, class_ = proto_schema(file), message_class(file, "ex.M")
    for number, expected in ((0, "LOW"), (1, "HIGH"), (2, 2)):
        payload = framed(1, class_(level=number).SerializeToString(), [0])[5:]
        assert schema.decode(payload).value("level") == expected


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([proto_file("a.proto", ("M",), imports=("b.proto",))], "imports b.proto, to which it has"),
        (
            [proto_file("a.proto", ("M",), imports=("google/protobuf/none.proto",))],
            "imports google/protobuf/none.proto, to which",
        ),
        ([proto_file("a.proto", ("M", ("x", message("ex.None"))))], "is malformed"),
    ],
)
def test_a_file_that_cannot_be_used(files, said):
    """What it needs is there, or it is refused with what is missing."""
    with pytest.raises(UnusableSchemaError, match=said):
        proto_schema(*files).decode(b"\0")


PARTS = st.sampled_from((b"\x02", b"\x00", b"\x04ab", b"\xff" * 9, b"\x01", b"\xff"))
PAYLOADS = st.binary(max_size=60) | st.lists(PARTS, max_size=40).map(b"".join)


@given(PAYLOADS)
@example(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" * 5)
def test_any_bytes_are_a_record_or_rejected(payload):
    """Nothing but a `RejectedError` comes of what a producer sends."""
    for decode in (WIDE_SCHEMA.decode, PROTO_SCHEMA.decode):
        try:
            found = decode(payload)
            for name in found.shape.fields:
                found.value(name)
        except RejectedError:
            pass


@given(st.binary(max_size=40))
@example(b"\0" * 5)
@example(b"\x80" * 40)
def test_any_bytes_have_a_frame_or_are_rejected(value):
    """The id is what the frame says, and the path is as long as it says."""
    try:
        number, payload = split(value)
        path, rest = split_path(payload)
    except RejectedError as error:
        found = error.reason
    else:
        found = None
        again = framed(number, rest, [*path])
        assert split_path(split(again)[1]) == (path, rest)
        assert value[:5] == b"\0" + number.to_bytes(4)
    assert found in {None, Reason.MALFORMED_DOCUMENT}


@pytest.mark.parametrize("path", [[0], [3], [0, 0], [1, 2, 3], [2**20]])
def test_the_path_of_a_type(path):
    """It is read as the client of the registry writes it."""
    assert split_path(split(framed(2**32 - 1, b"rest", path))[1]) == (tuple(path), b"rest")


def test_a_record_with_more_or_less():
    """The reason has the place, after the frame."""
    schema = record("R", ("a", "long"), ("b", "string"))
    whole = avro(schema, {"a": 300, "b": "text"})[5:]
    for payload, said in (
        (whole[:-1], "After .* bytes of its record, the value is malformed"),
        (whole + b"x", "The value goes on after its record, which ends after 7 of 8 bytes"),
        (b"", "After 0 bytes of its record"),
    ):
        with pytest.raises(RejectedError, match=said):
            avro_schema(schema).decode(payload)


def test_a_record_that_ends_too_early_is_rejected_with_the_same_words_each_time():
    """They are part of a dead letter, and a batch that runs again writes the same."""
    schema = avro_schema(record("R", ("a", "boolean")))
    with pytest.raises(RejectedError) as caught:
        schema.decode(b"")
    said = "After 0 bytes of its record, the value is malformed: cannot read boolean."
    assert caught.value.detail == said
