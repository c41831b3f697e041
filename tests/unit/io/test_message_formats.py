"""Messages of every format: each is taken as a whole, or rejected with its first mistake."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import pyarrow as pa
import pytest
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
from streamreasoner.io.formats.registry import MESSAGES, NQUADS, of_name
from streamreasoner.io.formats.rejected import Reason
from streamreasoner.rdf.dictionary import Dictionary

APPENDED = datetime(2026, 3, 1, tzinfo=UTC)
ARITIES = {"quad": 4, "edge": 2}
A, B, C, G = (f"<http://e/{name}>" for name in "abcg")
FACTS = tuple(
    MappedFact(predicate, tuple(map(argument, args)))
    for predicate, args in {
        "triple": ("<http://e/{id}>", B, "floor"),
        "edge": ("<{+page}>", '"{floor}: {id}"@en'),
        "quad": ("<http://e/{id}>", B, C, G),
    }.items()
)
ROOM = record(
    "Room",
    ("id", "string"),
    ("floor", nullable("int")),
    ("page", nullable("string")),
    ("size", nullable({"type": "array", "items": "int"})),
)
NEWER_ROOM = record(
    "Room", ("floor", "double"), ("page", "string"), ("new", "boolean"), ("id", "string")
)
SOURCE = record(
    "Source", ("db", "string"), ("schema", "string"), ("table", "string"), ("ts_ms", "long")
)
CHANGE = record(
    "Envelope",
    ("before", nullable(ROOM)),
    ("after", nullable("Room")),
    ("source", SOURCE),
    ("op", "string"),
)
ROOMS = proto_file(
    "rooms.proto",
    ("Hall",),
    (
        "Room",
        ("id", scalar("string")),
        ("floor", scalar("int32", proto3_optional=True)),
        ("page", scalar("string", proto3_optional=True)),
        ("size", scalar("int32", label=3)),
    ),
)
ROOM_OF_PROTOBUF = message_class(ROOMS, "ex.Room")
UNTYPED = tuple(each for each in MESSAGES if not each.content_types)
"""Formats that topics have, because they have no content type."""
OPTIONS = InputOptions(
    max_message_bytes=1000,
    max_term_bytes=100,
    of_topics={each.name: each for each in UNTYPED},
    mappings=(
        RowMapping("cells", "in", None, (), FACTS),
        RowMapping("objects", "json-rows", None, (), FACTS),
        RowMapping("rooms", None, "public.rooms", ("id",), FACTS),
        RowMapping("others", "debezium", None, (), FACTS[2:]),
        RowMapping("records", "avro", None, (), FACTS),
        RowMapping("messages", "protobuf", None, (), FACTS),
    ),
    schemas=SchemasInMemory(
        {
            ("AVRO", 1): avro_schema(ROOM),
            ("AVRO", 2): avro_schema(CHANGE),
            ("AVRO", 3): avro_schema(NEWER_ROOM),
            ("PROTOBUF", 1): proto_schema(ROOMS),
        }
    ),
)
TRIPLE = ("triple", (A, B, C))
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"


def batch(messages, topic="in"):
    """Messages of a value and headers, as the source returns them."""
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = [
        [{"key": key, "value": value.encode()} for key, value in pairs.items() if key != "topic"]
        or None
        for _, pairs in messages
    ]
    values = [value.encode() if isinstance(value, str) else value for value, _ in messages]
    return pa.table(
        {
            "topic": [pairs.get("topic", topic) for _, pairs in messages],
            "partition": [2] * len(messages),
            "offset": [*range(len(messages))],
            "value": pa.array(values, pa.binary()),
            "timestamp": pa.array([APPENDED] * len(messages), pa.timestamp("us", "UTC")),
            "headers": pa.array(headers, header),
        }
    )


def decoded(*messages, options=OPTIONS, topic="in"):
    """The sum of updates by fact, and the rejections as (row, reason, detail)."""
    dictionary = Dictionary()
    result = Codec(dictionary, ARITIES, options).decode(batch(messages, topic))
    updates = Counter()
    for each in result.updates:
        for args, diff in zip(each.args, each.multiplicity, strict=True):
            updates[each.predicate, tuple(dictionary.decode(args).to_pylist())] += int(diff)
    return updates, [(one.row, one.reason, one.detail) for one in result.rejected]


def of_type(name, **headers):
    """The headers of a message of a format, or its topic if the format has no content type."""
    types = of_name(name).content_types
    return {"content-type": types[0], **headers} if types else {"topic": name, **headers}


def event(op, before=None, after=None, *, wrapped=False, **source):
    """A change event of Debezium."""
    change = {"op": op, "before": before, "after": after, "source": source, "ts_ms": 1}
    return json.dumps({"schema": {"type": "struct"}, "payload": change} if wrapped else change)


LINE = f"{A} {B} {C} ."
JSON_TRIPLE = {"s": A, "p": B, "o": C, "diff": 1}
GOOD = {
    "an object": (json.dumps(JSON_TRIPLE), {}, {TRIPLE: 1}),
    "an array": (
        json.dumps([JSON_TRIPLE, {"predicate": "edge", "args": [1, A], "diff": -2}]),
        of_type("json"),
        {TRIPLE: 1, ("edge", (f'"1"^^{INTEGER}', A)): -2},
    ),
    "an empty array": ("[]", {}, {}),
    "JSON lines": (
        f"{json.dumps(JSON_TRIPLE)}\n\n{json.dumps(JSON_TRIPLE)}\n",
        of_type("json-lines"),
        {TRIPLE: 2},
    ),
    "N-Triples": (f"{LINE}\n# twice\r{LINE}", of_type("ntriples", diff="-3"), {TRIPLE: -6}),
    "N-Quads": (
        f"{LINE}\n{A} {B} {C} {G} .\n",
        of_type("nquads", diff="+2"),
        {TRIPLE: 2, ("quad", (A, B, C, G)): 2},
    ),
    "a patch": (
        (
            f'H id <urn:x> .\nTX .\nPA "e" "http://e/" .\nA e:a e:b "e:c"^^e:d .\nTC .\nD {LINE}\n'
            f"TX .\nA e:a e:b e:c .\nD {A} <http://e/b> <_:x> e:g .\nTA .\nPD e: .\nA {LINE[:-2]}."
        ),
        of_type("rdf-patch", diff="9"),
        {("triple", (A, B, '"e:c"^^<http://e/d>')): 1, TRIPLE: 0},
    ),
    "a patch with blank nodes": (
        f"A <_:x> {B} _:y .\nD _:x {B} <_:y> _:x .",
        {"content-type": "text/rdf-patch"},
        {("triple", ("_:x", B, "_:y")): 1, ("quad", ("_:x", B, "_:y", "_:x")): -1},
    ),
    "Turtle": (
        "@prefix e: <http://e/> . e:a e:b e:c, _:x .",
        of_type("turtle", diff="-1"),
        {TRIPLE: -1, ("triple", (A, B, "_:x")): -1},
    ),
    "TriG": (
        f"{A} {B} {C} . {G} {{ {A} {B} [] }}",
        of_type("trig"),
        {TRIPLE: 1, ("quad", (A, B, "_:message-in-2-0-1", G)): 1},
    ),
    "JSON-LD": (
        json.dumps({"@id": "http://e/a", "http://e/b": {"http://e/b": {"@id": "http://e/c"}}}),
        of_type("json-ld"),
        {("triple", (A, B, "_:message-in-2-0-1")): 1, ("triple", ("_:message-in-2-0-1", B, C)): 1},
    ),
    "RDF/XML": (
        (
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
            '<rdf:Description rdf:about="http://e/a"><e:b><rdf:Description/></e:b>'
            '<e:b rdf:nodeID="ab"/></rdf:Description></rdf:RDF>'
        ),
        of_type("rdf-xml"),
        {("triple", (A, B, "_:message-in-2-0-1")): 1, ("triple", (A, B, "_:ab")): 1},
    ),
}
ROW = {"id": "a", "floor": 3, "page": "http://e/p?x=1#y z", "size": [1, 2]}
EMPTY = {"id": "b /ü成,", "floor": None, "page": None, "size": None}
PUBLIC = {"db": "db", "schema": "public", "table": "rooms", "ts_ms": 7}
FACTS_OF_ROW = {
    ("triple", (A, B, f'"3"^^{INTEGER}')): 1,
    ("edge", ("<http://e/p?x=1#y%20z>", '"3: a"@en')): 1,
    ("quad", (A, B, C, G)): 1,
}
FACTS_OF_EMPTY = {("quad", ("<http://e/b%20%2Fü成%2C>", B, C, G)): 1}
GOOD |= {
    "a row": (json.dumps(ROW), of_type("json-rows"), FACTS_OF_ROW),
    "rows": (
        json.dumps([ROW, EMPTY, ROW]),
        of_type("json-rows", diff="-1"),
        {
            **dict.fromkeys(FACTS_OF_ROW, -2),
            **dict.fromkeys(FACTS_OF_EMPTY, -1),
        },
    ),
    "no rows": ("[]", of_type("json-rows"), {}),
    "numbers and booleans": (
        json.dumps([{**ROW, "floor": 0.5}, {**ROW, "floor": True}, {**ROW, "floor": 1}]),
        of_type("json-rows"),
        {
            ("triple", (A, B, '"5.0E-1"^^<http://www.w3.org/2001/XMLSchema#double>')): 1,
            ("triple", (A, B, '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>')): 1,
            ("triple", (A, B, f'"1"^^{INTEGER}')): 1,
            **{
                ("edge", ("<http://e/p?x=1#y%20z>", f'"{floor}: a"@en')): 1
                for floor in ("0.5", "true", "1")
            },
            ("quad", (A, B, C, G)): 3,
        },
    ),
    "CSV": (
        '\ufeffid,"floor",page,"a ""b"""\r\na,3,http://e/p?x=1#y z,\r\n\r\n"b /ü成,",,,"\n"\n',
        of_type("csv", diff="2"),
        dict.fromkeys((*FACTS_OF_ROW, *FACTS_OF_EMPTY), 2),
    ),
    "cells that look like terms and numbers": (
        "floor,page,id\n007,,a\n1.50,,a\n<http://e/x>,,a\n",
        of_type("csv"),
        {
            ("triple", (A, B, f'"007"^^{INTEGER}')): 1,
            ("triple", (A, B, '"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>')): 1,
            ("triple", (A, B, '"<http://e/x>"')): 1,
            ("quad", (A, B, C, G)): 3,
        },
    ),
    "a header alone": ("id,floor,page", of_type("csv"), {}),
    "a created row": (event("c", None, ROW, **PUBLIC), of_type("debezium"), FACTS_OF_ROW),
    "a row of a snapshot": (
        event("r", None, ROW, wrapped=True, **PUBLIC),
        of_type("debezium"),
        FACTS_OF_ROW,
    ),
    "an updated row": (
        event("u", ROW, {**ROW, "page": None}, **PUBLIC),
        of_type("debezium", diff="5"),
        {
            **dict.fromkeys(FACTS_OF_ROW, 0),
            ("edge", ("<http://e/p?x=1#y%20z>", '"3: a"@en')): -1,
        },
    ),
    "a deleted row": (
        event("d", ROW, None, wrapped=True, **PUBLIC),
        of_type("debezium"),
        dict.fromkeys(FACTS_OF_ROW, -1),
    ),
    "a deleted row with NULLs": (
        event("d", {**EMPTY, "size": 1}, None, **PUBLIC),
        of_type("debezium"),
        dict.fromkeys(FACTS_OF_EMPTY, -1),
    ),
    "an updated row that had NULLs only": (
        event("u", EMPTY, {**EMPTY, "id": "a"}, **PUBLIC),
        of_type("debezium"),
        {("quad", (A, B, C, G)): 1, **dict.fromkeys(FACTS_OF_EMPTY, -1)},
    ),
    "a row of another table": (
        json.dumps({"op": "c", "after": {}}).replace("{}", json.dumps({"id": "a"})),
        of_type("debezium"),
        {("quad", (A, B, C, G)): 1},
    ),
    "a tombstone": (None, of_type("debezium"), {}),
    "a tombstone in a wrapper": ('{"schema":null,"payload":null}', of_type("debezium"), {}),
}


def avro_event(op, before=None, after=None, **source):
    """A change event of Debezium in Avro."""
    source = {**PUBLIC, **source}
    return avro(CHANGE, {"op": op, "before": before, "after": after, "source": source}, 2)


def protobuf(row, path=(1,)):
    """A row in Protobuf, where NULLs are not set."""
    fields = {name: value for name, value in row.items() if value is not None}
    return framed(1, ROOM_OF_PROTOBUF(**fields).SerializeToString(), [*path])


GOOD |= {
    "a row in Avro": (avro(ROOM, ROW), of_type("avro"), FACTS_OF_ROW),
    "a row with NULLs in Avro": (
        avro(ROOM, EMPTY),
        of_type("avro", diff="-2"),
        dict.fromkeys(FACTS_OF_EMPTY, -2),
    ),
    "a row of a newer schema": (
        avro(NEWER_ROOM, {**ROW, "floor": 0.5, "new": True}, 3),
        of_type("avro"),
        {
            ("triple", (A, B, '"5.0E-1"^^<http://www.w3.org/2001/XMLSchema#double>')): 1,
            ("edge", ("<http://e/p?x=1#y%20z>", '"0.5: a"@en')): 1,
            ("quad", (A, B, C, G)): 1,
        },
    ),
    "a row in Protobuf": (
        protobuf(ROW),
        of_type("protobuf", diff="3"),
        {
            **dict.fromkeys(FACTS_OF_ROW, 3),
        },
    ),
    "a row with fields that are not set": (protobuf(EMPTY), of_type("protobuf"), FACTS_OF_EMPTY),
    "a created row in Avro": (
        avro_event("c", None, ROW),
        of_type("debezium-avro"),
        FACTS_OF_ROW,
    ),
    "an updated row in Avro": (
        avro_event("u", ROW, {**ROW, "page": None}),
        of_type("debezium-avro"),
        {
            **dict.fromkeys(FACTS_OF_ROW, 0),
            ("edge", ("<http://e/p?x=1#y%20z>", '"3: a"@en')): -1,
        },
    ),
    "a deleted row in Avro": (
        avro_event("d", ROW, None),
        of_type("debezium-avro"),
        dict.fromkeys(FACTS_OF_ROW, -1),
    ),
    "a tombstone in Avro": (None, of_type("debezium-avro"), {}),
}
BAD = {
    "an array with a bad update": (
        json.dumps([JSON_TRIPLE, {**JSON_TRIPLE, "diff": "1"}]),
        {},
        Reason.WRONG_TYPE,
        "Update 2: diff is ",
    ),
    "an array with a bad term": (
        json.dumps([JSON_TRIPLE, {**JSON_TRIPLE, "o": "c"}]),
        {},
        Reason.NOT_A_TERM,
        "Update 2: ",
    ),
    "an array of something else": ("[1]", {}, Reason.NOT_AN_OBJECT, "Update 1: "),
    "an open array": ("[", {}, Reason.NOT_JSON, "The value is not JSON"),
    "a bad line of JSON": (
        f"{json.dumps(JSON_TRIPLE)}\n\n{{}}",
        of_type("json-lines"),
        Reason.MISSING_FIELD,
        "Line 3: The field s is missing",
    ),
    "a bad line": (f"{LINE}\n{A} {B}", of_type("ntriples"), Reason.MALFORMED_LINE, "Line 2: At"),
    "a graph in N-Triples": (
        f"{A} {B} {C} {G} .",
        of_type("ntriples"),
        Reason.MALFORMED_LINE,
        "Line 1: At character",
    ),
    "not UTF-8": (b"\xff", of_type("ntriples"), Reason.MALFORMED_LINE, "Line 1: Byte 1"),
    "a long term": (
        f'{LINE}\n{A} {B} "{"x" * 99}" .',
        of_type("ntriples"),
        Reason.OVERSIZED_TERM,
        "Line 2: A term has 101 bytes; the maximum is 100.",
    ),
    "a long term in JSON": (
        json.dumps([JSON_TRIPLE, {**JSON_TRIPLE, "o": f'"{"x" * 99}"'}]),
        {},
        Reason.OVERSIZED_TERM,
        "Update 2: A term has 101 bytes; the maximum is 100.",
    ),
    "diff 0": (LINE, of_type("ntriples", diff="0"), Reason.DIFF_ZERO, "The header diff"),
    "diff as a word": (LINE, of_type("nquads", diff="one"), Reason.WRONG_TYPE, "The header diff"),
    "diff out of range": (
        "[] a [] .".replace("a", A),
        of_type("turtle", diff="-1000001"),
        Reason.DIFF_OUT_OF_RANGE,
        "The header diff",
    ),
    "an open transaction": (
        f"TX .\nA {LINE}",
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "The last transaction has neither TC nor TA",
    ),
    "a transaction in another": (
        "TX .\nTX .",
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "Line 2: TX within a transaction",
    ),
    "no transaction": (
        "TC .",
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "Line 1: TC ends no transaction",
    ),
    "an unknown operation": (
        f"X {LINE}",
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "Line 1: At character 1 the row begins with none of",
    ),
    "an unknown prefix": (
        f'PA "e" <http://e/> .\nPD "e" .\nA {A} {B} e:c .',
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "Line 3: The prefix e: of e:c is unknown",
    ),
    "a prefix without a dot": (
        'PA "e" <http://e/> <http://e/> <http://e/> .',
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "Line 1: PA is not followed by",
    ),
    "an open statement": (
        f"{A} {B}",
        of_type("turtle"),
        Reason.MALFORMED_DOCUMENT,
        "Line 1, column ",
    ),
    "a remote context": (
        '{"@context": "http://e/c", "http://e/b": 1}',
        of_type("json-ld"),
        Reason.MALFORMED_DOCUMENT,
        "The context 'http://e/c' is not in the document",
    ),
    "no value": (None, of_type("json-rows"), Reason.EMPTY_VALUE, "The message has no value"),
    "rows without a mapping": (
        json.dumps(ROW),
        {**of_type("csv"), "topic": "unmapped"},
        Reason.NO_MAPPING,
        "The configuration has no mapping for the topic 'unmapped'; add one to [input.map] with",
    ),
    "a row without a column": (
        json.dumps([ROW, {"id": 1, "page": None}]),
        of_type("json-rows"),
        Reason.MISSING_FIELD,
        "Row 2: The row has no column 'floor', which input.map.objects reads; it has id, page.",
    ),
    "an array in a column": (
        json.dumps({**ROW, "floor": [1]}),
        of_type("json-rows"),
        Reason.WRONG_TYPE,
        "The column 'floor' is a JSON array; it must be",
    ),
    "a row that is none": (
        "[1]",
        of_type("json-rows"),
        Reason.NOT_AN_OBJECT,
        "Row 1: The value is a JSON number",
    ),
    "a row with an IRI that is none": (
        json.dumps([ROW, {**ROW, "page": "e"}]),
        of_type("json-rows"),
        Reason.INVALID_IRI,
        "Row 2: ",
    ),
    "a row with a long term": (
        json.dumps([ROW, {**ROW, "floor": "x" * 99}]),
        of_type("json-rows"),
        Reason.OVERSIZED_TERM,
        "Row 2: A term has 101 bytes",
    ),
    "rows with a bad diff": (
        json.dumps(ROW),
        of_type("json-rows", diff="x"),
        Reason.WRONG_TYPE,
        "The header diff",
    ),
    "an open row": ('{"id":1', of_type("json-rows"), Reason.NOT_JSON, "The value is not JSON"),
    "a large number in a row": (
        json.dumps(ROW).replace("3", "1e999"),
        of_type("json-rows"),
        Reason.NUMBER_OUT_OF_RANGE,
        "Number out of range",
    ),
    "CSV without a column": (
        "id,floor\n1,2\n",
        of_type("csv"),
        Reason.MISSING_FIELD,
        "The row has no column 'page', which input.map.cells reads; it has id, floor.",
    ),
    "CSV with a short record": (
        'id,floor,page\n"a\nb",2,\n1,2\n',
        of_type("csv"),
        Reason.MALFORMED_LINE,
        "Line 4: The record has 2 cells, but the header has 3.",
    ),
    "CSV with an open cell": (
        'id,floor,page\n1,2,"\n',
        of_type("csv"),
        Reason.MALFORMED_LINE,
        "Line 2: Not RFC 4180: ",
    ),
    "CSV with a column twice": (
        "id,floor,page,id\n1,2,3,4\n",
        of_type("csv"),
        Reason.MALFORMED_LINE,
        "Line 1: The header has two columns 'id'.",
    ),
    "CSV that is not UTF-8": (b"id,\xff", of_type("csv"), Reason.NOT_UTF8, "The value is not UTF"),
    "a truncated table": (
        event("t", **PUBLIC),
        of_type("debezium"),
        Reason.UNKNOWN_OPERATION,
        'op is "t": the table',
    ),
    "a logical message": (
        event("m"),
        of_type("debezium"),
        Reason.UNKNOWN_OPERATION,
        "op is 'm'; it must be one of c",
    ),
    "an update without the old row": (
        event("u", None, ROW, **PUBLIC),
        of_type("debezium"),
        Reason.MISSING_FIELD,
        'before is null in an event with op "u". In PostgreSQL, ALTER TABLE … REPLICA IDENTITY',
    ),
    "a creation without a row": (
        event("c", ROW, None, **PUBLIC),
        of_type("debezium"),
        Reason.MISSING_FIELD,
        'after is null in an event with op "c".',
    ),
    "a deletion with less than a row": (
        event("d", {"id": "a"}, **PUBLIC),
        of_type("debezium"),
        Reason.MISSING_FIELD,
        "before: The row has no column 'floor', which input.map.rooms reads; it has id. In Postg",
    ),
    "a deletion with the key alone": (
        event("d", EMPTY, **PUBLIC),
        of_type("debezium"),
        Reason.MISSING_FIELD,
        "before: The deleted row has nothing but its key (id). In PostgreSQL, ALTER TABLE",
    ),
    "a long value that was not sent": (
        event("u", ROW, {**ROW, "floor": "__debezium_unavailable_value"}, **PUBLIC),
        of_type("debezium"),
        Reason.MISSING_FIELD,
        "after: The value of the column 'floor' was not sent. In PostgreSQL, ALTER TABLE",
    ),
    "an old row with an array": (
        event("d", {**ROW, "floor": []}, **PUBLIC),
        of_type("debezium"),
        Reason.WRONG_TYPE,
        "before: The column 'floor' is a JSON array; it must be a string, a number, a boolean or n",
    ),
    "no envelope": (json.dumps(ROW), of_type("debezium"), Reason.MISSING_FIELD, "The field op is"),
    "a number as op": (
        '{"op":1}',
        of_type("debezium"),
        Reason.WRONG_TYPE,
        "The value is not a change event of",
    ),
    "an event that is not JSON": ("{", of_type("debezium"), Reason.NOT_JSON, "The value is not J"),
}


BAD |= {
    "no frame": (
        json.dumps(ROW),
        of_type("avro"),
        Reason.MALFORMED_DOCUMENT,
        "The value does not begin with a byte 0 and the four bytes of a schema's id",
    ),
    "half a frame": (b"\0\0\0", of_type("protobuf"), Reason.MALFORMED_DOCUMENT, "The value does"),
    "an unknown schema": (
        avro(ROOM, ROW, 99),
        of_type("avro"),
        Reason.UNKNOWN_SCHEMA,
        "There is no schema 99 in AVRO.",
    ),
    "half a record": (
        avro(ROOM, ROW)[:-2],
        of_type("avro"),
        Reason.MALFORMED_DOCUMENT,
        "After ",
    ),
    "more than a record": (
        avro(ROOM, ROW) + b"\0",
        of_type("avro"),
        Reason.MALFORMED_DOCUMENT,
        "The value goes on after its record",
    ),
    "text in Avro that is not UTF-8": (
        framed(1, b"\x02\xff\0\0\0"),
        of_type("avro"),
        Reason.MALFORMED_DOCUMENT,
        "After 2 bytes of its record, the value is malformed: 'utf-8' codec",
    ),
    "a record without a column": (
        avro(CHANGE, {"op": "r", "before": None, "after": None, "source": PUBLIC}, 2),
        of_type("avro"),
        Reason.MISSING_FIELD,
        "The row has no column 'id', which input.map.records reads; it has before, after, source",
    ),
    "a schema in a header": (
        avro(ROOM, ROW),
        of_type("avro", __value_schema_id="\1" * 17),
        Reason.UNKNOWN_SCHEMA,
        "The header __value_schema_id names the schema. Only values that begin with its id are r",
    ),
    "a bad diff with Avro": (
        avro(ROOM, ROW),
        of_type("avro", diff="0"),
        Reason.DIFF_ZERO,
        "The header diff",
    ),
    "a path of no type": (
        protobuf(ROW, [2]),
        of_type("protobuf"),
        Reason.MALFORMED_DOCUMENT,
        "The schema has no type at the path 2.",
    ),
    "a path without an end": (
        framed(1, b"\xff" * 9),
        of_type("protobuf"),
        Reason.MALFORMED_DOCUMENT,
        "Byte 6: the path of a Protobuf type should be here.",
    ),
    "half a message": (
        protobuf(ROW)[:-1],
        of_type("protobuf"),
        Reason.MALFORMED_DOCUMENT,
        "The value is malformed: ",
    ),
    "a message of another type": (
        protobuf(ROW, [0]),
        of_type("protobuf"),
        Reason.MISSING_FIELD,
        "The row has no column 'id', which input.map.messages reads; it has none.",
    ),
    "rows of Avro without a mapping": (
        avro_event("c", None, ROW, table="halls"),
        of_type("debezium-avro"),
        Reason.NO_MAPPING,
        "The configuration has no mapping for the table 'db.public.halls'",
    ),
    "a truncated table in Avro": (
        avro_event("t"),
        of_type("debezium-avro"),
        Reason.UNKNOWN_OPERATION,
        'op is "t": the table was truncated',
    ),
    "an update in Avro without the old row": (
        avro_event("u", None, ROW),
        of_type("debezium-avro"),
        Reason.MISSING_FIELD,
        'before is null in an event with op "u". In PostgreSQL, ALTER TABLE … REPLICA IDENTITY',
    ),
    "a deletion in Avro with the key alone": (
        avro_event("d", EMPTY),
        of_type("debezium-avro"),
        Reason.MISSING_FIELD,
        "before: The deleted row has nothing but its key (id). In PostgreSQL, ALTER TABLE",
    ),
    "a long value that was not sent in Avro": (
        avro_event("u", ROW, {**ROW, "page": "__debezium_unavailable_value"}),
        of_type("debezium-avro"),
        Reason.MISSING_FIELD,
        "after: The value of the column 'page' was not sent. In PostgreSQL, ALTER TABLE",
    ),
    "long bytes that were not sent": (
        event("u", ROW, {**ROW, "floor": "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="}, **PUBLIC),
        of_type("debezium"),
        Reason.MISSING_FIELD,
        "after: The value of the column 'floor' was not sent. In PostgreSQL, ALTER TABLE",
    ),
    "no envelope in Avro": (
        avro(ROOM, ROW),
        of_type("debezium-avro"),
        Reason.MISSING_FIELD,
        "The field op is missing, so this is not a change event of Debezium. Rows without",
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_message_of_many_updates(name):
    """Every format gives triples of the default graph, quads of others, and its multiplicities."""
    value, headers, expected = GOOD[name]
    updates, rejected = decoded((value, headers))
    assert rejected == []
    assert updates == expected


@pytest.mark.parametrize("name", BAD)
def test_a_message_with_a_mistake_changes_nothing(name):
    """Messages before and after it are read."""
    value, headers, reason, begin = BAD[name]
    good = (LINE, of_type("nquads"))
    updates, [(row, found, detail)] = decoded(good, (value, headers), good)
    assert (row, found) == (1, reason), detail
    assert detail.startswith(begin), detail
    assert updates == {TRIPLE: 2}


@cache
def rejected_alone(name):
    """Why a bad message is rejected if it is the only one of its batch."""
    value, headers, *_ = BAD[name]
    [(_, reason, detail)] = decoded((value, headers))[1]
    return reason, detail


@given(st.permutations([*GOOD, *BAD]))
def test_messages_of_all_formats_in_one_batch(names):
    """Each is read as it is alone, but for labels that depend on its offset."""
    _, rejected = decoded(*(({**GOOD, **BAD})[name][:2] for name in names))
    assert {names[row]: why for row, *why in rejected} == {
        name: [*rejected_alone(name)] for name in BAD
    }


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("ntriples", "nquads", "turtle", "trig", "rdf-patch", "json-lines"), None),
        (("json", "debezium", "json-rows"), Reason.NOT_JSON),
        (("json-ld", "rdf-xml", "avro", "protobuf", "debezium-avro"), Reason.MALFORMED_DOCUMENT),
    ],
)
def test_an_empty_text_is_read_like_any_other(names, reason):
    """Where it is a document it changes nothing, and the messages around it do not matter."""
    good = (LINE, of_type("nquads"))
    for name in names:
        for value in ("", " "):
            empty = (value, of_type(name))
            expected = [] if reason is None else [reason]
            assert [why for _, why, _ in decoded(empty)[1]] == expected, name
            updates, rejected = decoded(empty, good, empty)
            assert updates == {TRIPLE: 1}, name
            assert [why for _, why, _ in rejected] == 2 * expected, name


def test_the_topic_has_a_format():
    """A content type comes first, then the format of the topic, then that of the input."""
    options = InputOptions(
        max_message_bytes=1000,
        max_term_bytes=100,
        default=NQUADS,
        of_topics={"turtles": of_name("turtle")},
    )
    for topic, value, headers in (
        ("quads", LINE, {}),
        ("turtles", json.dumps(JSON_TRIPLE), of_type("json")),
        ("turtles", f"@prefix e: <http://e/> . {LINE}", {}),
    ):
        assert decoded((value, headers), options=options, topic=topic) == ({TRIPLE: 1}, [])


def test_nodes_without_a_label_are_the_same_in_a_replay():
    """Their labels come from topic, partition and offset; written labels are kept."""
    message = (f"_:b {B} [ {B} 1 ], [] .", of_type("turtle"))
    first, second = decoded(message, message), decoded(message, message)
    assert first == second
    labels = {term for _, terms in first[0] for term in terms if term.startswith("_:")}
    assert labels == {"_:b", *(f"_:message-in-2-{at}-{n}" for at in (0, 1) for n in (1, 2))}


def test_the_header_ts_is_the_time_of_updates_without_one():
    """A `ts` of an update comes first, and a message whose header is not a time is rejected."""
    time = "1970-01-01T00:00:01.234Z"
    for value, ts, expected in (
        (LINE, time, 1234),
        (LINE, "-5", -5),
        (json.dumps(JSON_TRIPLE), time, 1234),
        (json.dumps({**JSON_TRIPLE, "ts": 7}), time, 7),
    ):
        name = "json" if value.startswith("{") else "nquads"
        table = batch([(value, of_type(name, ts=ts)), (value, of_type(name, ts="today"))])
        decoded = Codec(Dictionary(), ARITIES, OPTIONS).decode(table)
        assert decoded.event_time == expected
        [rejected] = decoded.rejected
        assert (rejected.row, rejected.reason) == (1, Reason.BAD_TIMESTAMP)
        assert rejected.detail.startswith("The header ts is 'today'; it must be ISO 8601")


def test_every_format_has_a_message():
    """The examples above leave none out."""
    named = {headers.get("content-type", "application/json") for _, headers, _ in GOOD.values()}
    assert {name for each in MESSAGES for name in each.content_types} - named == {
        *of_name("json-lines").content_types[1:]
    }
    topics = {headers.get("topic") for _, headers, _ in GOOD.values()}
    assert {each.name for each in UNTYPED} == topics - {None}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"db": "d", "schema": "s", "table": "t"}, "d.s.t"),
        ({"db": "e", "schema": "s", "table": "t"}, "s.t"),
        ({"db": "d", "table": "t"}, "d.t"),
        ({"db": "d", "schema": "r", "table": "t"}, "t"),
        ({"db": "d", "schema": "s", "table": "u"}, "the topic"),
        ({"db": "d"}, "the topic"),
    ],
)
def test_a_table_has_the_mapping_that_names_it_best(source, expected):
    """The full name comes first, then shorter ones, and the topic last."""
    mappings = tuple(
        RowMapping(
            name, None, name, (), (MappedFact("edge", (argument(A), argument(f'"{name}"'))),)
        )
        for name in ("t", "d.t", "s.t", "d.s.t")
    )
    of_topic = MappedFact("edge", (argument(A), argument('"the topic"')))
    mappings += (RowMapping("topic", "in", None, (), (of_topic,)),)
    options = replace(OPTIONS, default=of_name("debezium"), mappings=mappings)
    updates, rejected = decoded((event("c", None, {}, **source), {}), options=options)
    assert rejected == []
    assert updates == {("edge", (A, f'"{expected}"')): 1}


def test_an_event_has_the_time_of_its_change():
    """It is that of the database, or else that of the message."""
    options = replace(OPTIONS, default=of_name("debezium"))
    for source, expected in ((PUBLIC, 7), ({}, int(APPENDED.timestamp() * 1000))):
        value = event("c", None, ROW, **{**source, "table": "rooms", "schema": "public"})
        result = Codec(Dictionary(), ARITIES, options).decode(batch([(value, {})]))
        assert result.event_time == expected


def test_an_event_of_a_table_without_a_mapping_is_rejected():
    """The reason says how to add one."""
    value = event("c", None, ROW, schema="public", table="halls")
    _, [(_, reason, detail)] = decoded(
        (value, of_type("debezium")), options=replace(OPTIONS, mappings=OPTIONS.mappings[:3])
    )
    assert reason is Reason.NO_MAPPING
    assert "no mapping for the table 'public.halls'; add one to [input.map]" in detail
    assert detail.endswith('with table = "public.halls".')


@pytest.mark.parametrize("name", GOOD)
def test_every_reason_is_a_sentence(name):
    """Of a message that is cut off anywhere: no reason is empty, or ends with nothing."""
    value, headers, _ = GOOD[name]
    value = value.encode() if isinstance(value, str) else value or b""
    cut = [(value[:end], headers) for end in range(len(value))]
    for _, _, detail in decoded(*cut)[1] if cut else ():
        assert re.fullmatch(r"[A-Z\"'].*[^\s:.(,].*\.", detail, re.DOTALL), detail
        assert not re.search(r"[:(,]\s*\.|\(\)|\.\.$|: *$|object at 0x", detail), detail
