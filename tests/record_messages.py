"""Messages in Avro and Protobuf, encoded by fastavro and by Protobuf's own Python library."""

from __future__ import annotations

import base64
import io
import json

from confluent_kafka.schema_registry.common.serde import SchemaId
from fastavro import parse_schema, schemaless_writer
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.io.formats.schemas.avro import AvroSchema
from streamreasoner.io.formats.schemas.frame import split
from streamreasoner.io.formats.schemas.protobuf import ProtobufSchema
from streamreasoner.io.formats.schemas.schema import Definition


def framed(number, payload, path=None):
    """A payload after the id of its schema, and the path of its type."""
    kind = "AVRO" if path is None else "PROTOBUF"
    return SchemaId(kind, number, message_indexes=path).id_to_bytes() + payload


def record(name, *fields):
    """An Avro record of fields by name and type."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": type_} for field, type_ in fields],
    }


def nullable(type_):
    """The union of null and another type of Avro."""
    return ["null", type_]


def avro(schema, value, number=1):
    """A message of a record in Avro."""
    stream = io.BytesIO()
    schemaless_writer(stream, parse_schema(schema), value)
    return framed(number, stream.getvalue())


def avro_schema(*schemas):
    """The schema that is last, which may refer to the others."""
    return AvroSchema([Definition("", json.dumps(each)) for each in schemas])


def proto_file(name, *messages, package="ex", imports=(), syntax="proto3"):
    """A file of messages of Protobuf, each (name, field, ...), a field being its attributes."""
    file = descriptor_pb2.FileDescriptorProto(
        name=name, package=package, syntax=syntax, dependency=imports
    )
    for type_, *fields in messages:
        described = file.message_type.add(name=type_)
        for at, (field, attributes) in enumerate(fields, start=1):
            added = described.field.add(name=field, number=at, label="LABEL_OPTIONAL")
            for attribute, value in attributes.items():
                setattr(added, attribute, value)
            if added.proto3_optional:
                added.oneof_index = len(described.oneof_decl)
                described.oneof_decl.add(name=f"_{field}")
    return file


def scalar(type_, **attributes):
    """The attributes of a field of a scalar type of Protobuf."""
    number = descriptor_pb2.FieldDescriptorProto.Type.Value(f"TYPE_{type_.upper()}")
    return {"type": number, **attributes}


def message(name, **attributes):
    """The attributes of a field that holds a message."""
    return scalar("message", type_name=f".{name}", **attributes)


def message_class(file, name, *others):
    """The Python class of a message of a file, whose other files come before it."""
    pool = DescriptorPool()
    for each in (*others, file):
        pool.Add(each)
    return GetMessageClass(pool.FindMessageTypeByName(name))


def proto_schema(*files):
    """The schema that is last, which may import the others."""
    *others, last = files
    named = [Definition(each.name, _text(each)) for each in others]
    return ProtobufSchema([*named, Definition("", _text(last))])


def _text(file):
    return base64.b64encode(file.SerializeToString()).decode()


class SchemasInMemory:
    """Schemas by kind and id; see `Schemas`."""

    def __init__(self, schemas):
        self._schemas = schemas

    def record(self, kind, value):
        """The record in the value of a message."""
        number, payload = split(value)
        if (kind, number) not in self._schemas:
            raise RejectedError(Reason.UNKNOWN_SCHEMA, f"There is no schema {number} in {kind}.")
        return self._schemas[kind, number].decode(payload)
