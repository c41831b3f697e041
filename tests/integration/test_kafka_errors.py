"""Errors of Kafka clients name the cause and the setting; the documented configuration works."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from pipelines import Case, await_published, changes, fact, net, new_case, produce
from secure_broker import PASSWORD, USER, secure_broker

from streamreasoner.app import pipeline
from streamreasoner.errors import BrokerError
from streamreasoner.io.codec.encode import Message
from streamreasoner.io.kafka.clients import unreachable
from streamreasoner.io.kafka.topic_checks import admin_client, check_topics
from streamreasoner.io.kafka.topics import consume
from streamreasoner.io.kafka.topics import produce as send
from streamreasoner.io.spark.query import explain_client

# PySpark leaves it to the garbage collector to close its sockets and the pipe to its JVM.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"
OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """A broker with TLS and SCRAM."""
    with secure_broker(tmp_path_factory.mktemp("secure")) as started:
        yield started


@pytest.fixture
def recipe(secure):
    """The sections [kafka.*] of the documentation, with the test's user, password and file."""
    text = OPERATIONS.read_text("utf-8").split("### TLS and SASL")[1]
    (example,) = re.findall(r"```toml\n(.*?)```", text.split("\n### ")[0], re.DOTALL)
    example = example.replace("/etc/streamreasoner/ca.pem", str(secure.authority))
    kafka = tomllib.loads(example)["kafka"]
    assert kafka["producer_options"]["sasl.password"] == "secret"
    jaas = kafka["consumer_options"]["sasl.jaas.config"]
    assert '"reasoner"' in jaas
    quoted = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    kafka["consumer_options"]["sasl.jaas.config"] = jaas.replace('"secret"', f'"{quoted}"')
    kafka["producer_options"] |= {"sasl.username": USER, "sasl.password": PASSWORD}
    return {**kafka, "bootstrap_servers": secure.secure}


@pytest.fixture
def case(secure, recipe, tmp_path):
    """A case configured by the recipe; its topics exist."""
    plain = new_case(secure.plaintext, tmp_path, RULES)
    return Case({**plain.raw, "kafka": {**plain.raw["kafka"], **recipe}}, tmp_path)


def plaintext(case, secure):
    """The same case for clients of the tests, over the other listener."""
    raw = {"bootstrap_servers": secure.plaintext, "options": {}}
    raw |= {"producer_options": {}, "consumer_options": {}}
    return Case({**case.raw, "kafka": {**case.raw["kafka"], **raw}}, case.directory)


LOGIN = r"refuses the login: .*sasl\.password in kafka\.producer_options"
CERTIFICATE = r"No TLS connection .*certificate verify failed.*ssl\.ca\.location"


@pytest.mark.parametrize(
    ("kafka", "pattern"),
    [
        ({"producer_options": {"sasl.password": "wrong"}}, LOGIN),
        ({"producer_options": {"sasl.username": "nobody"}}, LOGIN),
        ({"options": {"sasl.mechanism": "PLAIN"}}, r"refuses the login: .*SCRAM-SHA-512"),
        ({"producer_options": {"ssl.ca.location": "{stranger}"}}, CERTIFICATE),
        ({"bootstrap_servers": "127.0.0.1:{port}"}, rf"{CERTIFICATE}.*host name"),
        ({"bootstrap_servers": "{plaintext}"}, r"ends the TLS handshake.*security\.protocol"),
        (
            {"options": {"security.protocol": "SASL_PLAINTEXT"}},
            r"closes the connection.*security\.protocol",
        ),
        ({"bootstrap_servers": "127.0.0.1:1"}, r"did not answer.*Connection refused.*address"),
        ({"bootstrap_servers": "no-such-host.invalid:9092"}, r"did not answer.*Failed to resolve"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_each_cause_has_its_own_message(case, secure, kafka, pattern):
    """Errors of login, certificate, protocol and address are distinguished."""
    for key, value in kafka.items():
        places = {"port": secure.port, "plaintext": secure.plaintext, "stranger": secure.stranger}
        if isinstance(value, dict):
            new = {name: text.format(**places) for name, text in value.items()}
            case.raw["kafka"][key] = {**case.raw["kafka"][key], **new}
        else:
            case.raw["kafka"][key] = value.format(**places)
    assert re.search(pattern, message := str(unreachable(case.kafka, "why")))
    assert PASSWORD not in message


def test_clients_explain_why_they_are_refused(case):
    """Librdkafka and kafka-python report only a timeout, so the cause is diagnosed separately."""
    case.raw["kafka"]["producer_options"]["sasl.password"] = "wrong"
    with pytest.raises(BrokerError, match=LOGIN):
        check_topics(admin_client(case.kafka), case.kafka, None)
    with pytest.raises(BrokerError, match=LOGIN):
        next(consume(case.kafka, case.kafka.input_topics[0], from_beginning=True))


def test_a_missing_permission_is_distinguished(case, secure):
    """The broker answers; the message names the page that lists the permissions."""
    topic = case.kafka.output_topic
    place = ResourceType.TOPIC, topic, ResourcePatternType.LITERAL
    denied = AclBinding(*place, f"User:{USER}", "*", AclOperation.ALL, AclPermissionType.DENY)
    admin = AdminClient({"bootstrap.servers": secure.plaintext})
    admin.create_acls([denied])[denied].result()
    with pytest.raises(BrokerError, match=r"denies access .*[Aa]uthorization.*SECURITY\.md"):
        check_topics(admin_client(case.kafka), case.kafka, None)


@pytest.mark.parametrize(
    ("exception", "pattern"),
    [
        ("SslAuthenticationException: SSL handshake failed", r"ssl\.truststore\.location"),
        ("TopicAuthorizationException: Not authorized: [in]", r"\[in\]\. .*spark-kafka-source-"),
    ],
)
def test_refusals_of_java_are_explained(exception, pattern):
    """The message names the option of Spark's client."""
    text = f"terminated: x\nCaused by: org.apache.kafka.common.errors.{exception}\nat"
    assert re.search(pattern, str(explain_client(text)))
    assert explain_client("java.lang.IllegalStateException: something else") is None


def command_lines():
    """The command lines of all processes, which every user of the machine can read."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield file.read_bytes()


def test_the_recipe_runs_a_pipeline(case, secure):
    """TLS, SCRAM and a password with quotes; no secret is on a command line or in the state."""
    secret = "secret-of-an-object-store"  # noqa: S105 - of no real store
    case.raw["spark"] = {"options": {"spark.hadoop.fs.s3a.secret.key": secret}}
    edge = ("<http://e/a>", "<http://e/b>")
    with pipeline(case.config):
        values = [Message(fact("edge", *edge), None, [])]
        assert list(send(case.kafka, case.kafka.input_topics[0], values)) == [1]
        plain = plaintext(case, secure)
        await_published(plain, produce(plain, [fact("edge", *edge[::-1])]))
        assert net(changes(plain)) == {("path", edge), ("path", edge[::-1])}
        seen = b"\n".join(command_lines())
        files = [file for file in (case.directory / "state").rglob("*") if file.is_file()]
        seen += b"\n".join(file.read_bytes() for file in files)
    assert b"org.apache.spark.deploy.SparkSubmit" in seen
    assert secret.encode() not in seen
    assert b"staple" in PASSWORD.encode()
    assert b"staple" not in seen


@pytest.mark.usefixtures("joined_jvm")
def test_a_wrong_password_of_spark_alone_is_explained(case):
    """Other clients are connected; the message names the option of the Java client."""
    options = case.raw["kafka"]["consumer_options"]
    module = options["sasl.jaas.config"].split("required")[0]
    wrong = f'{module} required username="{USER}" password="wrong";'
    case.raw["kafka"]["consumer_options"] = {**options, "sasl.jaas.config": wrong}
    with (
        pytest.raises(BrokerError, match=r"refuses Spark's client: .*sasl\.jaas\.config") as caught,
        pipeline(case.config) as started,
    ):
        started.query.wait()
    assert "Traceback" not in str(caught.value)
