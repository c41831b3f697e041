"""`[schema_registry]`: complete where a topic needs it, and never shown."""

from __future__ import annotations

import sys

import pytest
from secure_broker import certificate

from streamreasoner import config
from streamreasoner.errors import ConfigError, EnvironmentSetupError
from streamreasoner.io.formats.schemas.connect import connect

HUNTER = "hunter2"
VARIABLE = "STREAMREASONER_SCHEMA_REGISTRY__PASSWORD"
URL = "https://registry.example.org/path"
MAP = {"m": {"topic": "in", "facts": [{"predicate": "triple", "args": ["<e:{a}>", "<e:p>", "a"]}]}}


@pytest.fixture
def files(tmp_path):
    """A directory with a password and a certificate."""
    (tmp_path / "password").write_text(HUNTER)
    certificate(tmp_path, "own", "localhost")
    (tmp_path / "cut.pem").write_text((tmp_path / "own.pem").read_text()[:200])
    return tmp_path


def parse(files, section, environment=None, format_="json"):
    """A configuration with this section."""
    raw = {
        "kafka": {"bootstrap_servers": "b:1", "input_topics": ["in"], "output_topic": "out"},
        "input": {"format": format_, "map": MAP},
        "rules": {"program": "rho-df"},
        "state": {"directory": "state"},
        "schema_registry": section,
    }
    return config.parse(raw, environment or {}, files)


def test_a_password_is_from_a_file_or_the_environment(files):
    """The environment wins; neither is in any text of the configuration."""
    (files / "other").write_text("hunter3\n")
    for section, environment in (
        ({"password_file": "password"}, {}),
        ({}, {VARIABLE: HUNTER}),
        ({"password_file": "other"}, {VARIABLE: HUNTER}),
    ):
        found = parse(files, {"url": URL, "username": "u", **section}, environment)
        assert found.schema_registry.secret.reveal() == HUNTER
        assert "hunter" not in repr(found)


@pytest.mark.parametrize(
    "url", ["http://localhost:8081", "https://a.example/x", "http://a:1, http://b:2/"]
)
def test_an_address(files, url):
    """One, or several servers of one registry."""
    expected = ",".join(each.strip() for each in url.split(","))
    assert parse(files, {"url": url}, format_="avro").schema_registry.url == expected


@pytest.mark.parametrize(
    ("section", "environment", "said"),
    [
        ({"url": "registry:8081"}, {}, "schema_registry.url: found"),
        ({"url": "https://u@host"}, {}, "belong to the other keys of this section"),
        ({"url": "https://host?x=1"}, {}, "schema_registry.url: found"),
        ({"url": URL, "password": HUNTER}, {}, "a secret does not belong in the configuration"),
        ({"url": URL, "username": "u"}, {}, "schema_registry.password_file: missing"),
        ({"url": URL}, {VARIABLE: HUNTER}, "schema_registry.username: missing for the password"),
        ({"url": URL, "username": "a:b"}, {VARIABLE: HUNTER}, "username: must not contain a colon"),
        (
            {"url": "https://a,http://b", "username": "u"},
            {VARIABLE: HUNTER},
            "would cross the network in the clear",
        ),
        ({"url": "http://b", "ca_file": "own.pem"}, {}, "without an address that begins with htt"),
        ({"url": URL, "ca_file": "cut.pem"}, {}, "schema_registry.ca_file: "),
        ({"url": URL, "ca_file": "none.pem"}, {}, "schema_registry.ca_file: "),
    ],
)
def test_what_cannot_be_meant_is_refused(files, section, environment, said):
    """In one line, without the password."""
    with pytest.raises(ConfigError) as caught:
        parse(files, section, environment)
    [_, line] = str(caught.value).splitlines()
    assert said in line
    assert HUNTER not in line


@pytest.mark.parametrize("format_", ["avro", "protobuf", "debezium-avro"])
def test_a_format_that_needs_a_registry(files, format_):
    """The topic is named, and what to set."""
    with pytest.raises(ConfigError) as caught:
        parse(files, {}, format_=format_)
    [_, line] = str(caught.value).splitlines()
    assert f'schema_registry.url: missing for the topic "in", whose format is {format_}' in line


@pytest.mark.parametrize("package", ["fastavro", "httpx2"])
def test_a_package_that_is_not_installed(files, package, monkeypatch):
    """The message has the command that installs it."""
    for name in [*sys.modules]:
        if name.startswith(("streamreasoner.io.formats.schemas.", package)):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EnvironmentSetupError) as caught:
        connect(parse(files, {"url": URL}).schema_registry)
    assert f"needs {package}, which is not installed" in str(caught.value)
    assert "pip install 'streamreasoner[schema-registry]'" in str(caught.value)
