"""Law: a row is the same facts in JSON, in Avro and in Protobuf, and so is a change of it."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from record_messages import (
    SchemasInMemory,
    avro,
    avro_schema,
    framed,
    message_class,
    nullable,
    proto_file,
    proto_schema,
    record,
    scalar,
)

from streamreasoner.config.rows import MappedFact, RowMapping, argument
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.registry import of_name
from streamreasoner.rdf.dictionary import Dictionary

TYPES = {
    "flag": ("boolean", "bool"),
    "number": ("long", "int64"),
    "half": ("float", "float"),
    "whole": ("double", "double"),
    "text": ("string", "string"),
}
AVRO = record("Row", *((name, nullable(type_)) for name, (type_, _) in TYPES.items()))
EVENT = record("Event", ("op", "string"), ("before", nullable(AVRO)), ("after", nullable("Row")))
FILE = proto_file(
    "row.proto",
    ("Row", *((name, scalar(type_, proto3_optional=True)) for name, (_, type_) in TYPES.items())),
)
ROW = message_class(FILE, "ex.Row")
FACTS = (
    *(MappedFact(name, (argument(name),)) for name in TYPES),
    MappedFact("all", (argument('"{flag} {number} {half} {whole} {text}"'),)),
    MappedFact("named", (argument("<http://e/{text}/{half}>"),)),
)
ARITIES = {fact.predicate: 1 for fact in FACTS}
FORMATS = ("json-rows", "avro", "protobuf", "debezium", "debezium-avro")
OPTIONS = InputOptions(
    max_message_bytes=10_000,
    max_term_bytes=10_000,
    of_topics={name: of_name(name) for name in FORMATS},
    mappings=tuple(RowMapping(name, name, None, (), FACTS) for name in FORMATS),
    schemas=SchemasInMemory(
        {
            ("AVRO", 1): avro_schema(AVRO),
            ("AVRO", 2): avro_schema(EVENT),
            ("PROTOBUF", 1): proto_schema(FILE),
        }
    ),
)
HALVES = st.floats(allow_nan=False, allow_infinity=False, width=32)
WHOLES = st.floats(allow_nan=False, allow_infinity=False)
VALUES = {
    "flag": st.booleans(),
    "number": st.integers(-(2**63), 2**63 - 1),
    "half": HALVES,
    "whole": WHOLES,
    "text": st.text(st.characters(codec="utf-8"), max_size=5),
}
ROWS = st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()})


def shortest(row):
    """A row as a producer of JSON writes it: a float of 32 bits in its own digits."""
    half = row["half"]
    return {**row, "half": None if half is None else json.loads(str(np.float32(half)))}


def facts(name, values):
    """The sum of updates of messages, and the reasons for which some are rejected."""
    batch = pa.table(
        {
            "topic": [name] * len(values),
            "value": pa.array(values, pa.binary()),
            "timestamp": pa.array([0] * len(values), pa.timestamp("us", "UTC")),
            "headers": pa.nulls(
                len(values), pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
            ),
        }
    )
    dictionary = Dictionary()
    decoded = Codec(dictionary, ARITIES, OPTIONS).decode(batch)
    found = Counter()
    for each in decoded.updates:
        for args, diff in zip(each.args, each.multiplicity, strict=True):
            found[each.predicate, tuple(dictionary.decode(args).to_pylist())] += int(diff)
    return found, [(each.row, each.reason, each.detail) for each in decoded.rejected]


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_rows(rows):
    """Whatever their values are, and those that are rejected are so for the same reason."""
    expected = facts("json-rows", [json.dumps(shortest(row)).encode() for row in rows])
    assert facts("avro", [avro(AVRO, row) for row in rows]) == expected
    set_fields = [{name: value for name, value in row.items() if value is not None} for row in rows]
    messages = [framed(1, ROW(**fields).SerializeToString(), [0]) for fields in set_fields]
    assert facts("protobuf", messages) == expected


@given(st.lists(st.tuples(ROWS, ROWS, st.sampled_from("cud")), min_size=1, max_size=4))
def test_changes_of_rows(changes):
    """Creations, updates and deletions."""
    events = [
        {
            "op": op,
            "before": None if op == "c" else before,
            "after": None if op == "d" else after,
        }
        for before, after, op in changes
    ]
    texts = [
        {
            **event,
            **{side: event[side] and shortest(event[side]) for side in ("before", "after")},
        }
        for event in events
    ]
    expected = facts("debezium", [json.dumps(text).encode() for text in texts])
    assert facts("debezium-avro", [avro(EVENT, event, 2) for event in events]) == expected
