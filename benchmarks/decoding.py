"""Decoding: from Kafka messages to ids, of 1,000 changes by format, and of one change in JSON.

Only events of Debezium, and records in Avro and Protobuf, are one change each in the first table.

    python benchmarks/decoding.py [--scale 1] [--json FILE]

The claims: at least a million updates per second of processor time from N-Triples, N-Quads and RDF
Patch, with all checks of the codec; and messages of one change in JSON take at most 1.5 times what
`msgspec` takes in the same run to make a Python object of each triple, in both shapes, with
headers and without. Freed memory is kept for what comes next, as pipelines keep it. pyoxigraph
parses the same quads in the same run, into Python terms only. LUBM's triples, in new
dictionaries; half of the messages retract.
"""

from __future__ import annotations

import argparse
import base64
import csv
import io
import json
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import msgspec
import pyarrow as pa
import pyoxigraph
from fastavro import parse_schema, schemaless_writer
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from benchmarks import harness
from streamreasoner.config.rows import MappedFact, RowMapping, argument
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.ntriples import read
from streamreasoner.io.formats.records.record import NoSchemas, Record
from streamreasoner.io.formats.registry import of_name
from streamreasoner.io.formats.schemas.avro import AvroSchema
from streamreasoner.io.formats.schemas.frame import split
from streamreasoner.io.formats.schemas.protobuf import ProtobufSchema
from streamreasoner.io.formats.schemas.schema import Definition
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.system.memory import keep_freed_memory

FLOOR = 1_000_000
OF_A_MESSAGE = 1000
MOST_TRIPLES = 100_000
ROUNDS = 3
GRAPH = "<http://example.org/graph>"
LINES = ("ntriples", "nquads", "rdf-patch")
FACT = MappedFact("triple", (argument("<{+s}>"), argument("<{+p}>"), argument("o")))
"""What a row of the subject, the predicate and the object of a triple says."""
AVRO = {
    "type": "record",
    "name": "Triple",
    "fields": [{"name": name, "type": "string"} for name in "spo"],
}
PROTOBUF = FileDescriptorProto(name="triple.proto", syntax="proto3")
_ROW = PROTOBUF.message_type.add(name="Row")
for _at, _name in enumerate("spo", start=1):
    _ROW.field.add(name=_name, number=_at, type="TYPE_STRING", label="LABEL_OPTIONAL")
FRAME = b"\0\0\0\0\1"


class Triple(msgspec.Struct, gc=False):
    """What the floor makes of a message."""

    s: str
    p: str
    o: str
    diff: int


class LocalSchemas(NoSchemas):
    """The schemas above, which a registry would give once."""

    def __init__(self) -> None:
        text = base64.b64encode(PROTOBUF.SerializeToString()).decode()
        self._schemas = {
            "AVRO": AvroSchema([Definition("", json.dumps(AVRO))]),
            "PROTOBUF": ProtobufSchema([Definition("", text)]),
        }

    def record(self, kind: str, value: bytes) -> Record:
        """The record in the value of a message."""
        return self._schemas[kind].decode(split(value)[1])


OPTIONS = InputOptions(
    schemas=LocalSchemas(),
    max_message_bytes=1_000_000,
    max_term_bytes=100_000,
    mappings=(RowMapping("triples", "input", None, ("s",), (FACT,)),),
)
ARITIES = {"quad": 4, "at": 3}
ALLOWED = 1.5
"""Times the processor time of the floor: messages of one change."""
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def main() -> int:
    """Measure, print a table, and fail if the claim does not hold."""
    # As pipelines do. Arrow has chosen its allocator when it was imported.
    keep_freed_memory()
    pa.set_memory_pool(pa.system_memory_pool())
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=1, choices=(1, 10, 50))
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    _, path = harness.lubm(options.scale)
    triples = some_triples(path)
    messages = messages_of(triples)
    rates = {name: round(len(triples) / seconds(name, values)) for name, values in messages.items()}
    rates["pyoxigraph"] = round(len(triples) / peer_seconds(messages["nquads"]))
    figures = {**harness.machine(), "triples": len(triples), "floor": FLOOR, "rates": rates}
    rows = [(name, rate, round(rate / rates["pyoxigraph"], 2)) for name, rate in rates.items()]
    headings = ("format", "updates per CPU second", "times pyoxigraph's")
    figures["tables"] = [harness.print_table(path.name, headings, rows)]
    single = of_one_change(triples)
    figures["single"] = single
    floor = single["msgspec, triples"]
    rows = [(name, taken, round(taken / floor, 2)) for name, taken in single.items()]
    headings = ("one change a message", "CPU seconds per million", "times msgspec's")
    figures["tables"].append(harness.print_table("JSON, one change a message", headings, rows))
    harness.save(options.json, figures)
    is_slow = any(rates[name] < FLOOR for name in LINES)
    return int(is_slow or any(taken > ALLOWED * floor for taken in ours(single)))


def of_one_change(triples: list[tuple[str, str, str]]) -> dict[str, float]:
    """CPU seconds per million messages, by their shape and headers, and of the floor."""
    signs = [-1 if number % 2 else 1 for number in range(len(triples))]
    signed = [*zip(triples, signs, strict=True)]
    stamp = {"ts": "2026-03-01T12:00:00.000Z"}
    shapes = {
        "triples": [{"s": s, "p": p, "o": o, "diff": diff} for (s, p, o), diff in signed],
        "facts": [{"predicate": "at", "args": [*spo], "diff": diff} for spo, diff in signed],
    }
    shapes["triples with ts"] = [{**each, **stamp} for each in shapes["triples"]]
    shapes["facts with ts"] = [{**each, **stamp} for each in shapes["facts"]]
    scale = 1_000_000 / len(triples)
    found = {}
    for shape, objects in shapes.items():
        values = [json.dumps(each).encode() for each in objects]
        for name, content_types in (("", None), (", headers", ("application/json",))):
            taken = seconds("json", values, content_types)
            found[f"{shape}{name}"] = round(scale * taken, 3)
    values = [json.dumps(each).encode() for each in shapes["triples"]]
    found["msgspec, triples"] = round(scale * floor_seconds(values), 3)
    return found


def ours(single: dict[str, float]) -> list[float]:
    """The figures that are not of the floor."""
    return [taken for name, taken in single.items() if not name.startswith("msgspec")]


def floor_seconds(values: list[bytes]) -> float:
    """The least processor time in which msgspec makes an object of each message."""
    decode, best = msgspec.json.Decoder(Triple).decode, float("inf")
    batch = pa.array(values, pa.binary())
    for _ in range(ROUNDS):
        started = time.process_time()
        objects = [decode(value) for value in batch.to_pylist()]
        best = min(best, time.process_time() - started)
        assert len(objects) == len(values)
    return best


def some_triples(path: Path) -> list[tuple[str, str, str]]:
    """The first triples of a file, in N-Triples syntax."""
    dictionary = Dictionary()
    found: list[tuple[str, str, str]] = []
    for block in read(path, dictionary):
        columns = [dictionary.decode(column).to_pylist() for column in block.T]
        found += zip(*columns, strict=True)
        if len(found) >= MOST_TRIPLES:
            break
    return found[:MOST_TRIPLES]


def messages_of(triples: list[tuple[str, str, str]]) -> dict[str, list[bytes]]:
    """The messages of each format."""
    parts = [
        triples[start : start + OF_A_MESSAGE] for start in range(0, len(triples), OF_A_MESSAGE)
    ]
    rows = ("json-rows", "csv", "debezium", "avro", "protobuf")
    avro = parse_schema(AVRO)
    found: dict[str, list[bytes]] = {name: [] for name in (*LINES, "json", *rows)}
    for number, part in enumerate(parts):
        diff = -1 if number % 2 else 1
        objects = [{"s": s, "p": p, "o": o, "diff": diff} for s, p, o in part]
        found["ntriples"].append(lines(part).encode())
        found["nquads"].append(lines(part, after=f" {GRAPH}").encode())
        changes = lines(part, before="A " if diff > 0 else "D ")
        found["rdf-patch"].append(f"TX .\n{changes}TC .\n".encode())
        found["json"].append(json.dumps(objects).encode())
        named = [{"s": s[1:-1], "p": p[1:-1], "o": o} for s, p, o in part]
        found["json-rows"].append(json.dumps(named).encode())
        found["csv"].append(table(named).encode())
        found["debezium"] += [event(row, diff) for row in named]
        found["avro"] += [avro_record(avro, row) for row in named]
        found["protobuf"] += protobuf_records(named)
    return found


def table(rows: list[dict[str, str]]) -> str:
    """Rows in CSV, with a header."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def event(row: dict[str, str], diff: int) -> bytes:
    """The creation or the deletion of a row."""
    source = {"connector": "postgresql", "db": "db", "schema": "public", "table": "triples"}
    change = {"op": "c", "before": None, "after": row}
    if diff < 0:
        change = {"op": "d", "before": row, "after": None}
    return json.dumps({**change, "source": {**source, "ts_ms": 1_772_323_200_000}}).encode()


def avro_record(schema: object, row: dict[str, str]) -> bytes:
    """A row in Avro."""
    stream = io.BytesIO()
    schemaless_writer(stream, schema, row)
    return FRAME + stream.getvalue()


def protobuf_records(rows: list[dict[str, str]]) -> list[bytes]:
    """Rows in Protobuf, a message each."""
    pool = DescriptorPool()
    pool.Add(PROTOBUF)
    class_ = GetMessageClass(pool.FindMessageTypeByName("Row"))
    return [FRAME + b"\0" + class_(**row).SerializeToString() for row in rows]


def lines(part: list[tuple[str, str, str]], before: str = "", after: str = "") -> str:
    """Statements, one in a line."""
    return "".join(f"{before}{s} {p} {o}{after} .\n" for s, p, o in part)


def seconds(name: str, values: list[bytes], content_types: tuple[str, ...] | None = ()) -> float:
    """The least processor time in which the codec decodes the messages, with a new dictionary.

    Args:
        name: Their format.
        values: Their values.
        content_types: The types that their headers name, by default that of the format; None for
            messages without headers.
    """
    format_ = of_name(name)
    best = float("inf")
    for _ in range(ROUNDS):
        batch = batch_of(values, format_.content_types if content_types == () else content_types)
        options = replace(OPTIONS, default=format_)
        Codec(Dictionary(), ARITIES, options).decode(batch.slice(0, 1))
        codec = Codec(Dictionary(), ARITIES, options)
        started = time.process_time()
        decoded = codec.decode(batch)
        best = min(best, time.process_time() - started)
        assert not decoded.rejected, decoded.rejected[0]
    return best


def batch_of(values: list[bytes], content_types: tuple[str, ...] | None) -> pa.Table:
    """A batch as the source returns it; every second message retracts."""
    headers: list[list[dict[str, object]] | None] = [None] * len(values)
    if content_types is not None:
        typed = [{"key": "content-type", "value": each.encode()} for each in content_types[:1]]
        headers = [
            [*typed, {"key": "diff", "value": b"-1" if number % 2 else b"1"}]
            for number in range(len(values))
        ]
    return pa.table(
        {
            "topic": ["input"] * len(values),
            "value": pa.array(values, pa.binary()),
            "timestamp": pa.array([datetime(2026, 3, 1, tzinfo=UTC)] * len(values)),
            "headers": pa.array(headers, HEADERS),
        }
    )


def peer_seconds(values: list[bytes]) -> float:
    """Processor time in which pyoxigraph parses the messages into Python terms."""
    started = time.process_time()
    for value in values:
        for _ in pyoxigraph.parse(value, format=pyoxigraph.RdfFormat.N_QUADS):
            pass
    return time.process_time() - started


if __name__ == "__main__":
    sys.exit(main())
