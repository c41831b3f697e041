"""Messages in Avro and Protobuf, with a real schema registry, on a real pipeline."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import urllib.request
import uuid
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pipelines import await_published, changes, committed, net, new_case, produce
from record_messages import (
    framed,
    message,
    message_class,
    nullable,
    proto_file,
    record,
    scalar,
)
from schema_registry_server import SchemaRegistryServer
from secure_broker import certificate
from spark_jvm import MARKS

from streamreasoner.config import parse
from streamreasoner.errors import SchemaRegistryError, StateError
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.io.formats.schemas.connect import connect
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = """\
high(?r) :- [?r, <http://example.org/floor>, ?f], ?f > 1 .
dear(?r) :- price(?r, ?p), ?p > 9 .
"""
ID = "<http://example.org/room/{id}>"
FLOOR = {"predicate": "triple", "args": [ID, "<http://example.org/floor>", "floor"]}
PRICE = {"predicate": "price", "args": [ID, "price"]}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
ROOM = record("Room", ("id", "long"), ("floor", nullable("int")), ("price", nullable(DECIMAL)))
NEWER_ROOM = record(
    "Room", ("price", nullable(DECIMAL)), ("name", "string"), ("id", "long"), ("floor", "int")
)
CHANGE = record(
    "Envelope",
    ("before", nullable(ROOM)),
    ("after", nullable("Room")),
    ("source", record("Source", ("schema", "string"), ("table", "string"), ("ts_ms", "long"))),
    ("op", "string"),
)
PLACE = proto_file("place.proto", ("Place", ("floor", scalar("int32"))))
HALL = proto_file(
    "hall.proto",
    ("Ignored",),
    (
        "Hall",
        ("id", scalar("int64")),
        ("floor", scalar("int32", proto3_optional=True)),
        ("price", message("confluent.type.Decimal")),
        ("place", message("ex.Place")),
    ),
    imports=("confluent/type/decimal.proto", "place.proto"),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A schema registry."""
    with SchemaRegistryServer(tmp_path_factory.mktemp("registry")) as running:
        yield running


def registry_config(directory, url, environment=None, **section):
    """The section [schema_registry] of a configuration."""
    raw = {
        "kafka": {"bootstrap_servers": "b:1", "input_topics": ["in"], "output_topic": "out"},
        "rules": {"program": "rho-df"},
        "state": {"directory": "state"},
        "schema_registry": {"url": url, **section},
    }
    return parse(raw, environment or {}, directory).schema_registry


class Producer:
    """Serializes messages as the clients of the registry do."""

    def __init__(self, url):
        self.client = SchemaRegistryClient({"url": url, "timeout": 60})
        self._conf = {"subject.name.strategy.type": "TOPIC"}

    def avro(self, topic, schema, *values):
        """Records in Avro."""
        serialize = AvroSerializer(self.client, json.dumps(schema), conf=self._conf)
        return [serialize(each, SerializationContext(topic, MessageField.VALUE)) for each in values]

    def protobuf(self, topic, class_, *values):
        """Messages of a class of Protobuf."""
        serialize = ProtobufSerializer(
            class_, self.client, conf={**self._conf, "skip.known.types": True}
        )
        context = SerializationContext(topic, MessageField.VALUE)
        return [serialize(class_(**each), context) for each in values]

    def register(self, text, kind="AVRO"):
        """The id of a schema under a new name."""
        return self.client.register_schema(uuid.uuid4().hex, Schema(text, kind))


def hall_class():
    """The class of halls, whose types may be in one pool only once."""
    from confluent_kafka.schema_registry.confluent.type import decimal_pb2  # noqa: PLC0415
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415

    known = FileDescriptorProto.FromString(decimal_pb2.DESCRIPTOR.serialized_pb)
    return message_class(HALL, "ex.Hall", known, PLACE)


def case_of(broker, server, tmp_path):
    """A pipeline with a topic of each format."""
    name = uuid.uuid4().hex[:12]
    topics = [f"{kind}-{name}" for kind in ("avro", "protobuf", "debezium")]
    facts = [FLOOR, PRICE]
    return new_case(
        broker,
        tmp_path,
        RULES,
        kafka={"input_topics": topics},
        input={
            "format": "protobuf",
            "formats": {topics[0]: "avro", topics[2]: "debezium-avro"},
            "map": {
                "rooms": {"topic": topics[0], "facts": facts},
                "halls": {"topic": topics[1], "facts": facts},
                "table": {"table": "public.rooms", "key": ["id"], "facts": facts},
            },
        },
        schema_registry={"url": server.url},
        output={"include": "derived"},
    )


def rooms(predicate, *numbers):
    """Facts of some rooms."""
    return {(predicate, (f"<http://example.org/room/{number}>",)) for number in numbers}


def event(op, before=None, after=None):
    """A change event of Debezium."""
    source = {"schema": "public", "table": "rooms", "ts_ms": 1_772_323_200_000}
    return {"op": op, "before": before, "after": after, "source": source}


def test_records_of_a_registry(broker, server, tmp_path):
    """Rows in Avro, of an older and a newer schema, and in Protobuf; changes in Avro."""
    case = case_of(broker, server, tmp_path)
    avro, protobuf, debezium = case.kafka.input_topics
    producer, hall = Producer(server.url), hall_class()
    price = {"value": (950).to_bytes(2), "scale": 2}
    one, seven = ({"id": at, "floor": 7, "price": Decimal("9.50")} for at in (1, 7))
    text = producer.register('syntax = "proto3"; message Room { int64 id = 1; }', "PROTOBUF")
    of_avro = producer.register(json.dumps(ROOM))
    with pipeline(case.config):
        sent = produce(case, producer.avro(avro, ROOM, one, {**one, "id": 2, "floor": None}), avro)
        newer = {"name": "new", "id": 3, "floor": 2, "price": None}
        sent += produce(case, producer.avro(avro, NEWER_ROOM, newer), avro)
        halls = ({"id": 4, "price": price, "place": {"floor": 1}}, {"id": 5, "floor": 2})
        sent += produce(case, producer.protobuf(protobuf, hall, *halls), protobuf)
        created = producer.avro(debezium, CHANGE, event("c", after=seven))
        sent += produce(case, created, debezium)
        bad = [framed(2**31, b""), framed(of_avro, b"", [0]), framed(text, b"", [0]), b"\1\0\0"]
        sent += produce(case, bad, protobuf)
        await_published(case, sent)
        assert net(changes(case)) == rooms("high", 1, 3, 5, 7) | rooms("dear", 1, 2, 4, 7)
        lower = {**seven, "floor": 0, "price": None}
        [updated, deleted] = producer.avro(
            debezium, CHANGE, event("u", seven, lower), event("d", lower)
        )
        await_published(case, produce(case, [updated], debezium))
        assert net(changes(case)) == rooms("high", 1, 3, 5) | rooms("dear", 1, 2, 4)
        await_published(case, produce(case, [deleted, (None, None, b"7")], debezium))
        retracted = [(value, [("diff", b"-1")]) for value in producer.avro(avro, ROOM, one)]
        await_published(case, produce(case, retracted, avro))
    assert net(changes(case)) == rooms("high", 3, 5) | rooms("dear", 2, 4)
    letters = committed(case, case.kafka.dead_letter_topic)
    why = sorted(
        (headers["class"].decode(), headers["reason"].decode())
        for headers in (dict(letter.headers) for letter in letters)
    )
    assert [reason for reason, _ in why] == ["malformed-document", *["unknown-schema"] * 3]
    details = "\n".join(detail for _, detail in why)
    assert f"{2**31} is unknown to the registry {server.url} (" in details
    assert f"{of_avro} is a schema in AVRO, not in PROTOBUF." in details
    assert f"{text} is not a serialized descriptor: the registry gave its text" in details


def test_a_registry_that_is_down_rejects_no_message(broker, tmp_path):
    """The pipeline ends with the address, and goes on when the registry is back."""
    with SchemaRegistryServer(tmp_path) as server:
        case = case_of(broker, server, tmp_path)
        topic = case.kafka.input_topics[0]
        rows = [{"id": at, "floor": 7, "price": None} for at in (1, 2)]
        older, newer = (
            Producer(server.url).avro(topic, schema, {**row, "name": ""})
            for schema, row in zip((ROOM, NEWER_ROOM), rows, strict=True)
        )
        sent = []

        def run():
            with pipeline(case.config) as started:
                await_published(case, produce(case, older, topic))
                server.stop()
                # The schema of the first message is known.
                await_published(case, produce(case, older, topic))
                sent.extend(produce(case, newer, topic))
                started.query.wait()

        with pytest.raises(SchemaRegistryError) as caught:
            run()
        assert server.url in str(caught.value)
        assert "No message was rejected. Check schema_registry.url" in str(caught.value)
        with pytest.raises(SchemaRegistryError, match="does not answer"), pipeline(case.config):
            pass
        server.start()
        for schema in (ROOM, NEWER_ROOM):
            Producer(server.url).avro(topic, schema, {**rows[0], "name": ""})
        with pipeline(case.config):
            await_published(case, sent)
    assert net(changes(case)) == rooms("high", 1, 2)
    assert committed(case, case.kafka.dead_letter_topic) == []


def test_a_replay_knows_no_more(server, tmp_path):
    """A schema that comes after its message is unknown until the next epoch, in any process."""
    producer, file = Producer(server.url), tmp_path / "unusable.json"
    known = producer.register(json.dumps(record("Known", ("x", "int"))))
    config, value = registry_config(tmp_path, server.url), framed(known + 1, b"\2")

    def outcome(registry):
        try:
            return registry.record("AVRO", value).value("x")
        except RejectedError as error:
            return error.reason

    first = connect(config, file)
    first.begin(7)
    assert outcome(first) is Reason.UNKNOWN_SCHEMA
    first.keep()
    assert producer.register(json.dumps(record("Late", ("x", "int")))) == known + 1
    for number in (7, 7, 8, 9):
        process = connect(config, file)
        process.begin(number)
        assert outcome(process) == (Reason.UNKNOWN_SCHEMA if number == 7 else 1)
        process.keep()
        process.close()
        assert file.exists() == (number == 7)
    assert outcome(first) is Reason.UNKNOWN_SCHEMA
    first.begin(8)
    assert outcome(first) == 1
    first.close()
    file.write_text("{")
    with pytest.raises(StateError, match="cannot be read"):
        connect(config, file)


def test_a_schema_that_refers_to_another(server, tmp_path):
    """What it refers to is fetched with it."""
    producer = Producer(server.url)
    registry = connect(registry_config(tmp_path, server.url))
    part = json.dumps(record("a.Part", ("x", "int")))
    producer.client.register_schema("part", Schema(part, "AVRO"))
    whole = {
        "schema": json.dumps(record("b.Whole", ("part", "a.Part"))),
        "references": [{"name": "a.Part", "subject": "part", "version": 1}],
    }
    number = producer.client.register_schema("whole", Schema.from_dict(whole))
    assert registry.record("AVRO", framed(number, b"\6")).record("part").value("x") == 3
    registry.close()


@pytest.mark.parametrize("path", ["", "/apis/registry/v2", "/apis/ccompat"])
def test_an_address_of_something_else(server, tmp_path, path):
    """Its answers are not taken for those of a registry."""
    address = server.url.removesuffix("/apis/ccompat/v7") + path
    with pytest.raises(SchemaRegistryError, match=f"The schema registry {address} "):
        connect(registry_config(tmp_path, address))


@contextmanager
def front_end(server, directory, user, password):
    """A server with TLS and a login before the registry, as it is often run; its address."""
    key, chain = certificate(directory, "front", "localhost")
    login = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
    target = server.url

    class Handler(BaseHTTPRequestHandler):
        """Passes on what comes with the login."""

        def do_GET(self):
            """Answer as the registry does."""
            if self.headers["Authorization"] != login:
                self.send_error(401)
                return
            with urllib.request.urlopen(
                f"http://{target.removeprefix('http://')}{self.path}"
            ) as got:
                body = got.read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Log nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as front:
        front.socket = context.wrap_socket(front.socket, server_side=True)
        thread = threading.Thread(target=front.serve_forever)
        thread.start()
        try:
            yield f"https://localhost:{front.server_port}", chain
        finally:
            front.shutdown()
            thread.join()


def test_a_login_over_tls(server, tmp_path):
    """The password is from a file or the environment; refusals name the keys, not the password."""
    number = Producer(server.url).register(json.dumps(record("Safe", ("x", "int"))))
    (tmp_path / "password").write_text("hunter2\n")
    with front_end(server, tmp_path, "reasoner", "hunter2") as (url, chain):
        login = {"username": "reasoner", "ca_file": str(chain)}
        secret = {"password_file": "password"}
        for config in (
            registry_config(tmp_path, url, **login, **secret),
            registry_config(
                tmp_path, url, {"STREAMREASONER_SCHEMA_REGISTRY__PASSWORD": "hunter2"}, **login
            ),
        ):
            registry = connect(config)
            assert registry.record("AVRO", framed(number, b"\6")).value("x") == 3
            registry.close()
            assert "hunter2" not in repr(config)
        (tmp_path / "password").write_text("hunter3")
        wrong = registry_config(tmp_path, url, **login, **secret)
        with pytest.raises(SchemaRegistryError, match=r"schema_registry\.username") as caught:
            connect(wrong)
        assert "hunter3" not in str(caught.value)
        untrusted = registry_config(tmp_path, url)
        with pytest.raises(SchemaRegistryError, match=r"CERTIFICATE.*schema_registry\.ca_file"):
            connect(untrusted)
