"""Errors of Kafka clients name the cause and the setting; the documented configuration works."""

from __future__ import annotations

import logging
import re
import tomllib
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AclPermissionType
from pipelines import Case, await_published, changes, eventually, fact, net, new_case, produce
from secure_broker import KEY_PASSWORD, PASSWORD, USER, grant, revoke, secure_broker
from spark_jvm import MARKS_OF_AN_OWN_JVM, joined
from thorough import THOROUGH

from streamreasoner.config.kafka import own_topics, topic_keys
from streamreasoner.errors import BrokerError, StreamReasonerError
from streamreasoner.io.codec.encode import Message
from streamreasoner.io.kafka.access.rights import (
    DESCRIBE,
    READ,
    of_pipeline,
    of_role,
    on_topic,
    on_transactions,
)
from streamreasoner.io.kafka.access.roles import Role
from streamreasoner.io.kafka.access.security import java
from streamreasoner.io.kafka.clients import unreachable
from streamreasoner.io.kafka.control_outcomes import ControlOutcomes
from streamreasoner.io.kafka.deletion import check_unshared, delete, empty, forget
from streamreasoner.io.kafka.owners.presence import processes
from streamreasoner.io.kafka.sink import Sink
from streamreasoner.io.kafka.topic_checks import admin_client, check_topics
from streamreasoner.io.kafka.topics import consume, create_topics, produce_one
from streamreasoner.io.kafka.topics import produce as send
from streamreasoner.io.spark.query import explain_client
from streamreasoner.io.spark.source import read_stream
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS_OF_AN_OWN_JVM

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"
RECIPE = Path(__file__).parents[2] / "docs/how-to/secure-kafka.md"


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """A broker with TLS and logins."""
    with secure_broker(tmp_path_factory.mktemp("secure")) as started:
        yield started


@pytest.fixture
def recipe(secure, tmp_path):
    """The section [kafka.security] of the documentation, with the test's files."""
    text = RECIPE.read_text("utf-8").split("## TLS and SASL")[1]
    (example,) = re.findall(r"```toml\n(.*?)```", text.split("\n### ")[0], re.DOTALL)
    password = tmp_path / "password"
    password.write_text(f"{PASSWORD}\n")
    example = example.replace("/etc/streamreasoner/ca.pem", str(secure.authority))
    example = example.replace("/etc/streamreasoner/password", str(password))
    security = tomllib.loads(example)["kafka"]["security"]
    assert security["username"] == USER
    assert security["password_file"] == str(password)
    return security


@pytest.fixture
def case(secure, recipe, tmp_path):
    """A case configured by the recipe; its topics exist, and the user has the pipeline's rights."""
    plain = new_case(secure.plaintext, tmp_path, RULES)
    kafka = {**plain.raw["kafka"], "bootstrap_servers": secure.secure, "security": recipe}
    found = Case({**plain.raw, "kafka": kafka}, tmp_path)
    grant(secure, of_role(found.config, Role.RUN))
    return found


def plaintext(case, secure):
    """The same case for clients of the tests, over the other listener."""
    raw = {**case.raw["kafka"], "bootstrap_servers": secure.plaintext, "security": {}}
    return Case({**case.raw, "kafka": raw}, case.directory)


LOGIN = r"refuses the login: .*mechanism, username and password in kafka\.security"
CERTIFICATE = r"No TLS connection .*certificate verify failed.*kafka\.security\.ca_file"


@pytest.mark.parametrize(
    ("servers", "security", "pattern"),
    [
        ("{secure}", {"password_file": "{authority}-line"}, LOGIN),
        ("{secure}", {"username": "nobody"}, LOGIN),
        ("{secure}", {"ca_file": "{stranger}"}, CERTIFICATE),
        ("127.0.0.1:{port}", {}, rf"{CERTIFICATE}.*host name"),
        ("{plaintext}", {}, r"ends the TLS handshake.*kafka\.security\.protocol"),
        ("{mtls}", {}, r"certificate of this client.*kafka\.security\.certificate_file"),
        (
            "{secure}",
            {"protocol": "SASL_PLAINTEXT", "ca_file": None},
            r"closes the connection.*kafka\.security\.protocol",
        ),
        ("127.0.0.1:1", {}, r"did not answer.*Connection refused.*address"),
        ("no-such-host.invalid:9092", {}, r"did not answer.*Failed to resolve"),
    ],
)
def test_each_cause_has_its_own_message(case, secure, servers, security, pattern):
    """Errors of login, certificate, protocol and address are distinguished."""
    places = {name: getattr(secure, name) for name in ("secure", "mtls", "port", "plaintext")}
    places |= {"stranger": secure.stranger, "authority": secure.authority}
    Path(f"{secure.authority}-line").write_text("wrong")
    case.raw["kafka"]["bootstrap_servers"] = servers.format(**places)
    changed = {**case.raw["kafka"]["security"], **security}
    case.raw["kafka"]["security"] = {
        name: value.format(**places) for name, value in changed.items() if value is not None
    }
    assert re.search(pattern, message := str(unreachable(case.kafka, "why")))
    assert PASSWORD not in message


def logins(secure):
    """Ways to log in, each with its address and its section."""
    user = {"protocol": "SASL_SSL", "username": USER}
    mtls = {"protocol": "SSL", "certificate_file": str(secure.certificate)}
    yield "PLAIN", secure.secure, {**user, "mechanism": "PLAIN"}
    yield "SCRAM-SHA-256", secure.secure, {**user, "mechanism": "SCRAM-SHA-256"}
    yield "SCRAM-SHA-512", secure.secure, {**user, "mechanism": "SCRAM-SHA-512"}
    oauth = {"mechanism": "OAUTHBEARER", "token_endpoint": secure.tokens.url, "scope": "kafka"}
    yield "OAUTHBEARER", secure.secure, {**user, **oauth}
    yield "a certificate", secure.mtls, {**mtls, "key_file": str(secure.plain_key)}
    yield "an encrypted key", secure.mtls, {**mtls, "key_file": str(secure.key)}


LOGINS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "a certificate")
LOGINS += ("an encrypted key",)


@pytest.fixture(params=LOGINS)
def every_login(case, secure, request, tmp_path):
    """The case, connected in each way."""
    _, address, section = next(way for way in logins(secure) if way[0] == request.param)
    (tmp_path / "key-password").write_text(KEY_PASSWORD)
    section = {**section, "ca_file": str(secure.authority)}
    if "username" in section:
        section["password_file"] = case.raw["kafka"]["security"]["password_file"]
    if section.get("key_file") == str(secure.key):
        section["key_password_file"] = str(tmp_path / "key-password")
    case.raw["kafka"] |= {"bootstrap_servers": address, "security": section}
    return case


def test_every_way_to_log_in_works(every_login, secure):
    """With librdkafka, which describes the topics, and with kafka-python, which fills one."""
    kafka = every_login.kafka
    check_topics(admin_client(kafka), kafka, None)
    topic = kafka.input_topics[0]
    grant(secure, of_role(every_login.config, Role.PRODUCE))
    assert list(send(kafka, topic, [Message(b"{}", None, [])])) == [1]
    if kafka.security.mechanism == "OAUTHBEARER":
        assert set(secure.tokens.scopes) == {"kafka"}


@pytest.mark.skipif(not THOROUGH, reason="starts Spark; part of `make test-thorough`")
def test_every_way_to_log_in_works_in_java(every_login, secure, spark, capsys):
    """Spark reads what kafka-python has sent; an explained stream shows no password and no key."""
    kafka = every_login.kafka
    topic = kafka.input_topics[0]
    grant(secure, of_role(every_login.config, Role.PRODUCE))
    assert list(send(kafka, topic, [Message(b"{}", None, [])])) == [1]
    reader = spark.read.format("kafka").option("subscribe", topic)
    reader = reader.option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    for name, value in java(kafka.security).items():
        reader = reader.option(f"kafka.{name}", value)
    assert [bytes(row.value) for row in reader.load().collect()] == [b"{}"]
    read_stream(spark, kafka, java(kafka.security), None, 1).explain(extended=True)
    shown = capsys.readouterr().out
    assert "StreamingRelation" in shown
    secrets = [PASSWORD, "staple", KEY_PASSWORD, *secure.plain_key.read_text().splitlines()]
    assert not [secret for secret in secrets if secret in shown]


def test_clients_explain_why_they_are_refused(case, tmp_path):
    """Librdkafka and kafka-python report only a timeout, so the cause is diagnosed separately."""
    (tmp_path / "password").write_text("wrong")
    with pytest.raises(BrokerError, match=LOGIN):
        check_topics(admin_client(case.kafka), case.kafka, None)
    with pytest.raises(BrokerError, match=LOGIN):
        next(consume(case.kafka, case.kafka.input_topics[0], from_beginning=True))


def test_a_token_endpoint_that_refuses_is_named(case, secure, tmp_path):
    """The broker is not asked."""
    oauth = {"mechanism": "OAUTHBEARER", "token_endpoint": secure.tokens.url}
    case.raw["kafka"]["security"] |= oauth
    (tmp_path / "password").write_text("wrong")
    with pytest.raises(BrokerError, match=r"kafka\.security\.token_endpoint\) answers 401"):
        next(consume(case.kafka, case.kafka.input_topics[0], from_beginning=True))
    case.raw["kafka"]["security"] |= {"token_endpoint": "http://127.0.0.1:1/"}
    with pytest.raises(BrokerError, match=r"token_endpoint\) cannot be reached \(.*refused"):
        next(consume(case.kafka, case.kafka.input_topics[0], from_beginning=True))
    assert re.search(r"token.*kafka\.security\.token_endpoint", str(unreachable(case.kafka, "why")))


def without(secure, rights, attempt):
    """Each right that *attempt* does not need, or whose lack it reports without its name."""
    silent = []
    for right in rights:
        revoke(secure, [right])
        try:
            attempt()
        except BrokerError as error:
            if str(right) not in str(error):
                silent.append((str(right), str(error)))
        else:
            silent.append((str(right), "no error"))
        grant(secure, [right])
    return silent


def test_a_pipeline_checks_its_rights_on_topics_before_it_starts(case, secure):
    """All that are missing are named at once, and so is the command that prints how to grant."""
    rights = [*of_pipeline(case.kafka, None)]
    admin = admin_client(case.kafka)
    assert not without(secure, rights, lambda: check_topics(admin, case.kafka, None))
    revoke(secure, rights)
    with pytest.raises(BrokerError, match=r"denies .*topics acls run") as caught:
        check_topics(admin, case.kafka, None)
    assert all(str(right) in str(caught.value) for right in rights)


def test_a_sink_names_the_right_to_its_transactions(case, secure):
    """Its producer fails for good, and raises that error once more when it is asked for others."""
    app_id = case.config.pipeline.app_id

    def start():
        Sink(case.kafka, app_id, 60).start()

    assert not without(secure, [on_transactions(app_id)], start)


@pytest.mark.skipif(not THOROUGH, reason="starts Spark; part of `make test-thorough`")
@pytest.mark.usefixtures("joined_jvm")
def test_a_pipeline_needs_each_of_its_rights(case, secure):
    """Without any of them, a start is refused, and the message names it."""

    def start():
        with pipeline(case.config):
            pass

    assert not without(secure, of_role(case.config, Role.RUN), start)


@pytest.fixture
def commands(case, secure):
    """The commands as functions, by role, and a case with their topics; no right is granted."""
    raw = {**case.raw, "rules": {**case.raw["rules"], "control_topic": f"{case.directory.name}-c"}}
    case = Case(raw, case.directory)
    plain = plaintext(case, secure)
    create_topics(plain.kafka, 1, 1, case.config.rules.control_topic)
    produce(plain, [b"{}"], case.kafka.output_topic)
    revoke(secure, of_role(case.config, Role.RUN))
    kafka, control = case.kafka, case.config.rules.control_topic

    def rules():
        with ControlOutcomes(kafka, "none") as answers:
            produce_one(kafka, control, b"{}")
            try:
                answers.why_rejected(control, 0, 0.5)
            except StreamReasonerError as error:
                # No pipeline answers, so that the wait ends.
                if "has not read" not in str(error):
                    raise

    def create():
        admin, names = secure.admin, [name for name, _ in topic_keys(kafka, control)]
        for answer in admin.delete_topics(names).values():
            with suppress(KafkaException):
                answer.result()
        eventually(lambda: {*names} & {*admin.list_topics().topics}, expected=set())
        return create_topics(kafka, 1, 1, control)

    def reset():
        app_id = case.config.pipeline.app_id
        create_topics(plain.kafka, 1, 1, control)
        assert not processes(kafka, app_id)
        check_unshared(kafka, app_id)
        list(empty(kafka, [kafka.output_topic, kafka.violations_topic]))
        forget(kafka, app_id)
        return list(delete(kafka, own_topics(kafka, control)))

    def first():
        with closing(consume(kafka, kafka.output_topic, from_beginning=True)) as messages:
            return next(filter(None, messages))

    return case, {
        Role.PRODUCE: lambda: list(send(kafka, kafka.input_topics[0], [Message(b"{}", None, [])])),
        Role.CONSUME: first,
        Role.RULES: rules,
        Role.TOPICS: create,
        Role.RESET: reset,
    }


@pytest.mark.parametrize("role", [Role.PRODUCE, Role.CONSUME, Role.RULES, Role.TOPICS, Role.RESET])
def test_a_command_needs_exactly_its_rights(commands, secure, role):
    """It works with them, and without any of them it is refused, by name."""
    case, functions = commands
    rights = of_role(case.config, role)
    grant(secure, rights)
    assert functions[role]() is not None or role is Role.RULES
    if role in {Role.CONSUME, Role.RULES}:
        # A topic that may be described is not hidden, and still cannot be read.
        described = replace(rights[-1], operation=DESCRIBE)
        revoke(secure, rights[-1:])
        grant(secure, [described])
        with pytest.raises(BrokerError, match=re.escape(str(rights[-1]))):
            functions[role]()
        revoke(secure, [described])
        grant(secure, rights[-1:])
    # To learn that a topic cannot be described takes the client ten seconds.
    slow = role in {Role.TOPICS, Role.RESET} and not THOROUGH
    assert not without(secure, rights[:1] if slow else rights, functions[role])


@pytest.mark.parametrize(
    ("exception", "pattern"),
    [
        ("SslAuthenticationException: SSL handshake failed", r"kafka\.security\.ca_file"),
        ("SaslAuthenticationException: Authentication failed", r"password in kafka\.security"),
        ("TopicAuthorizationException: Not authorized: [in]", r"\[in\]\. Grant .*topics acls run"),
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


def outputs(case, caplog, capfd):
    """All that a pipeline has written: its state, events of Spark, logs and streams."""
    files = [file for name in ("state", "events") for file in (case.directory / name).rglob("*")]
    yield from (file.read_bytes() for file in files if file.is_file())
    yield from (text.encode() for text in (caplog.text, *capfd.readouterr(), repr(case.config)))


def test_the_recipe_runs_a_pipeline(case, secure, spark_environment, caplog, capfd):
    """TLS, SCRAM and a password with quotes, with exactly the rights of the role, and a restart.

    No secret is where others may read it, while the pipeline runs and when Kafka has refused
    Spark's client: command lines, files of the state, the events that Spark's UI shows, explained
    queries, logs and messages.
    """
    secret = "secret-of-an-object-store"  # noqa: S105 - of no real store
    (case.directory / "events").mkdir()
    case.raw["spark"] = {
        "options": {
            "spark.hadoop.fs.s3a.secret.key": secret,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": (case.directory / "events").as_uri(),
        }
    }
    caplog.set_level(logging.DEBUG)
    edge = ("<http://e/a>", "<http://e/b>")
    plain = plaintext(case, secure)
    with pipeline(case.config) as started:
        await_published(plain, produce(plain, [fact("edge", *edge)]))
        started.query._query.explain(True)  # noqa: SLF001, FBT003 - as in a shell of Spark
        started.query._stream.explain(True)  # noqa: SLF001, FBT003 - as above
        seen = [*command_lines()]
    refused = pytest.raises(BrokerError, match=r"refuses Spark's client: .*Grant Read on")
    with joined(spark_environment), refused as caught, pipeline(case.config) as started:
        await_published(plain, produce(plain, [fact("edge", *edge[::-1])]))
        assert net(changes(plain)) == {("path", edge), ("path", edge[::-1])}
        lost = [on_topic(READ, case.kafka.input_topics[0])]
        grant(secure, lost, permission=AclPermissionType.DENY)
        produce(plain, [fact("edge", *edge)])
        started.query.wait()
    seen += [*outputs(case, caplog, capfd), str(caught.value).encode()]
    everything = b"\n".join(seen)
    for expected in (
        b"org.apache.spark.deploy.SparkSubmit",
        b"SparkListener",
        b"edge",
        b"Relation",
    ):
        assert expected in everything
    assert secret.encode() not in everything
    assert b"staple" in PASSWORD.encode()
    assert b"staple" not in everything
    assert "Traceback" not in str(caught.value)
