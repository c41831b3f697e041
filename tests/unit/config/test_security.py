"""`[kafka.security]`: said once, complete, and never shown."""

from __future__ import annotations

import re

import pytest
from secure_broker import KEY_PASSWORD, certificate, encrypted
from token_endpoint import openssl

from streamreasoner import config
from streamreasoner.errors import ConfigError
from streamreasoner.io.kafka.access.python_client import kafka_python
from streamreasoner.io.kafka.access.security import java, librdkafka

HUNTER = "hunter2"
VARIABLE = "STREAMREASONER_KAFKA__SECURITY__PASSWORD"
KEY_VARIABLE = "STREAMREASONER_KAFKA__SECURITY__KEY_PASSWORD"
SCRAM = {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "username": "reasoner"}
OAUTH = {**SCRAM, "mechanism": "OAUTHBEARER", "token_endpoint": "https://login.example.org/token"}
MTLS = {"protocol": "SSL", "certificate_file": "own.pem", "key_file": "own-key.pem"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A directory with certificates, keys of several kinds and files with passwords."""
    directory = tmp_path_factory.mktemp("files")
    key, _ = certificate(directory, "own", "localhost")
    certificate(directory, "other", "localhost")
    encrypted(key)
    own, word = ("-in", key), ("-passout", f"pass:{KEY_PASSWORD}")
    openssl("ec", *own, "-out", directory / "old-key.pem")
    openssl("pkcs8", "-topk8", *own, *word, "-out", directory / "pbes2-key.pem")
    (directory / "cut.pem").write_text((directory / "own.pem").read_text()[:200])
    for name, content in {
        "password": f"{HUNTER}\n",
        "dos-password": f"{HUNTER}\r\n",
        "lines": f"{HUNTER}\n{HUNTER}\n",
        "empty": "\n",
        "key-password": KEY_PASSWORD,
    }.items():
        (directory / name).write_bytes(content.encode())
    return directory


def parse(files, security, environment=None, **kafka):
    """The section [kafka] with this section within it."""
    raw = {
        "kafka": {
            "bootstrap_servers": "localhost:9092",
            "input_topics": ["in"],
            "output_topic": "out",
            "security": security,
            **kafka,
        },
        "rules": {"program": "rho-df"},
        "state": {"directory": "state"},
    }
    return config.parse(raw, environment or {}, files)


def problems(files, security, environment=None, **kafka):
    """The lines of the error; none of them has the password."""
    with pytest.raises(ConfigError) as caught:
        parse(files, security, environment, **kafka)
    assert HUNTER not in str(caught.value)
    assert KEY_PASSWORD not in str(caught.value)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


@pytest.mark.parametrize(
    ("security", "said"),
    [
        ({"protocol": "TLS"}, r'kafka\.security\.protocol: found "TLS", allowed: "PLAINTEXT" or'),
        ({"protocoll": "SSL"}, r"kafka\.security\.protocoll: .*Did you mean protocol\?"),
        ({"password": HUNTER}, rf"kafka\.security\.password: .*password_file.*{VARIABLE}"),
        ({"key_password": 3}, r"kafka\.security\.key_password: .*key_password_file"),
        ({**SCRAM}, rf"kafka\.security\.password_file: missing .*{VARIABLE}"),
        ({**SCRAM, "password_file": "none"}, r"kafka\.security\.password_file: .*No such file"),
        ({**SCRAM, "password_file": "empty"}, r"kafka\.security\.password_file: .*it is empty"),
        ({**SCRAM, "password_file": "lines"}, r"kafka\.security\.password_file: .*line break"),
        ({**SCRAM, "password_file": "."}, r"kafka\.security\.password_file: .*Is a directory"),
        (
            {"mechanism": "PLAIN", "username": "a", "password_file": "password"},
            r"kafka\.security\.mechanism: found PLAIN with the protocol PLAINTEXT.*SASL_SSL",
        ),
        ({"protocol": "SASL_SSL"}, r"kafka\.security\.mechanism: missing for .* SCRAM-SHA-512"),
        (
            {"protocol": "SASL_SSL", "mechanism": "PLAIN", "password_file": "password"},
            r"kafka\.security\.username: missing",
        ),
        ({"username": "a"}, r"kafka\.security\.username: found without a mechanism"),
        ({"password_file": "password"}, r"kafka\.security\.password_file: found without"),
        (
            {**SCRAM, "password_file": "password", "scope": "x"},
            r"kafka\.security\.scope: .*OAUTHBEARER",
        ),
        (
            {**OAUTH, "password_file": "password", "token_endpoint": "http://example.org/"},
            r"kafka\.security\.token_endpoint: .*in the clear",
        ),
        (
            {**OAUTH, "password_file": "password", "token_endpoint": "file:///x"},
            r"kafka\.security\.token_endpoint: .*https",
        ),
        ({"ca_file": "own.pem"}, r"kafka\.security\.ca_file: .*PLAINTEXT does not encrypt"),
        ({"protocol": "SSL", "ca_file": "own-key.pem"}, r".*ca_file: .*BEGIN CERTIFICATE"),
        ({"protocol": "SSL", "ca_file": "cut.pem"}, r".*ca_file: .*has an invalid certificate"),
        ({**MTLS, "certificate_file": "cut.pem"}, r".*key_file: .*own-key\.pem does not fit"),
        ({"protocol": "SSL", "ca_file": "none.pem"}, r".*ca_file: .*No such file"),
        ({**MTLS, "key_file": "own.pem"}, r".*key_file: .*BEGIN PRIVATE KEY"),
        ({**MTLS, "key_file": "old-key.pem"}, r".*key_file: .*EC PRIVATE KEY.*openssl pkcs8"),
        ({**MTLS, "key_file": "pbes2-key.pem"}, r".*key_file: .*PBES2.*openssl pkcs8"),
        ({**MTLS, "key_file": "other-key.pem"}, r".*key_file: .*does not fit"),
        ({"protocol": "SSL", "key_file": "own-key.pem"}, r".*key_file: .*certificate_file"),
        ({"protocol": "SSL", "certificate_file": "own.pem"}, r".*certificate_file: .*key_file"),
        ({**MTLS, "key_password_file": "key-password"}, r".*but no encrypted key"),
        ({**MTLS, "key_file": "own-key-encrypted.pem"}, rf".*key_password_file.*{KEY_VARIABLE}"),
        (
            {**MTLS, "key_file": "own-key-encrypted.pem", "key_password_file": "password"},
            r".*key_file: .*or the password is wrong",
        ),
    ],
)
def test_what_cannot_be_meant_is_one_line(files, security, said):
    """It names the key, what is wrong and what to do; a secret in the file is refused."""
    (line,) = problems(files, security)
    assert re.match(said, line), line


@pytest.mark.parametrize(
    ("table", "option", "key"),
    [
        ("options", "security.protocol", "protocol"),
        ("options", "sasl.mechanism", "mechanism"),
        ("producer_options", "sasl.mechanisms", "mechanism"),
        ("producer_options", "sasl.password", "password_file"),
        ("consumer_options", "sasl.jaas.config", "username"),
        ("consumer_options", "ssl.truststore.location", "ca_file"),
        ("producer_options", "ssl.key.pem", "key_file"),
    ],
)
def test_options_do_not_say_what_the_section_says(files, table, option, key):
    """Each is refused by name, with the key of the section that replaces it."""
    (line,) = problems(files, {}, **{table: {option: "PLAIN"}})
    assert line.startswith(f"kafka.{table}: found {option}, ")
    assert f"kafka.security.{key}" in line


def test_another_mechanism_is_left_to_the_options(files):
    """The section does not know Kerberos, so its mechanism and login remain options."""
    kerberos = {"sasl.mechanism": "GSSAPI", "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"}
    jaas = {"sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required;"}
    found = parse(files, {"protocol": "SASL_SSL"}, options=kerberos, consumer_options=jaas)
    assert found.kafka.options == kerberos
    (line,) = problems(files, {**SCRAM, "password_file": "password"}, options=kerberos)
    assert "kafka.options: found sasl.mechanism" in line


def test_a_password_is_in_a_file_or_in_the_environment(files):
    """One line break at the end of the file is no part of it; the environment wins."""
    for name in ("password", "dos-password"):
        found = parse(files, {**SCRAM, "password_file": name}).kafka.security
        assert found.login_secret.reveal() == HUNTER
    found = parse(files, {**SCRAM, "password_file": "key-password"}, {VARIABLE: HUNTER})
    assert found.kafka.security.login_secret.reveal() == HUNTER


def test_no_secret_is_in_a_text_of_the_configuration(files):
    """Python's own texts of it, and those of its values, show keys and passwords nowhere."""
    options = {"sasl.kerberos.service.name": HUNTER}
    mtls = {**MTLS, "key_file": "own-key-encrypted.pem", "protocol": "SASL_SSL"}
    section = {**OAUTH, **mtls, "key_password_file": "key-password"}
    found = parse(files, section, {VARIABLE: HUNTER}, options=options, producer_options=options)
    security = found.kafka.security
    secrets = [HUNTER, KEY_PASSWORD, *security.key_file.content.reveal().splitlines()[1:-1]]
    for text in (repr(found), f"{security.login_secret}", f"{security.key_file!s}"):
        assert not [secret for secret in secrets if secret in text]


def test_every_client_gets_the_same(files):
    """Java gets the content of files, the others their paths."""
    section = {**SCRAM, "ca_file": "own.pem", "password_file": "password"}
    kafka = parse(files, section).kafka
    security = kafka.security
    assert java(security) == {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": (files / "own.pem").read_text(),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required "
            'username="reasoner" password="hunter2";'
        ),
    }
    assert librdkafka(security) == {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(files / "own.pem"),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "reasoner",
        "sasl.password": HUNTER,
    }
    assert {
        "security_protocol": "SASL_SSL",
        "ssl_cafile": str(files / "own.pem"),
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "reasoner",
        "sasl_plain_password": HUNTER,
    }.items() <= kafka_python(kafka).items()
