"""`[server]`: what would expose facts or cannot be meant is refused, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamreasoner import config
from streamreasoner.errors import ConfigError

SMALLEST = {
    "kafka": {"bootstrap_servers": "host:1", "input_topics": ["in"], "output_topic": "out"},
    "rules": {"program": "rho-df"},
    "state": {"directory": "state"},
}
USER, PASSWORD = {"user": "reader"}, {"STREAMREASONER_SERVER__PASSWORD": "secret"}


def parse(environment=None, **sections):
    """A configuration with these sections."""
    return config.parse({**SMALLEST, **sections}, environment or {}, Path("/etc"))


@pytest.mark.parametrize(
    ("server", "environment", "says"),
    [
        ({"facts": True, "port": 0}, {}, "server.port: found 0 together with server.facts"),
        ({"facts": True, "host": "192.0.2.1"}, {}, "server.host: found .* without a password"),
        ({"facts": True, **USER}, {}, "server.password_file: missing for server.user"),
        ({"facts": True}, PASSWORD, "server.user: missing for the password"),
        ({"facts": True, "user": "a:b"}, PASSWORD, "server.user: must not contain a colon"),
        ({"facts": True, "certificate_file": "c.pem"}, {}, "server.key_file: missing"),
        ({"facts": True, "key_file": "k.pem"}, {}, "server.certificate_file: missing"),
        (USER, PASSWORD, "server.user: found without server.facts = true"),
        ({"facts": "maybe"}, {}, 'server.facts: found "maybe", allowed: true or false'),
        ({"password": "secret"}, {}, "a secret does not belong in the configuration file"),
    ],
)  # fmt: skip
def test_what_would_expose_facts_is_refused(server, environment, says):
    """So is what contradicts itself; no message shows the password."""
    with pytest.raises(ConfigError, match=says) as error:
        parse(environment, server=server)
    assert 'secret"' not in str(error.value)


def test_other_machines_may_ask_with_a_password_or_if_it_is_said(tmp_path):
    """The environment wins over the file of the password; `true` may be text."""
    (tmp_path / "password").write_text("from the file\n")
    files = {"password_file": str(tmp_path / "password")}
    everywhere = {"facts": True, "host": "192.0.2.1"}
    assert parse(server={**everywhere, "anonymous": True}).server.anonymous
    guarded = parse(server={**everywhere, **USER, **files}).server
    assert guarded.secret.reveal() == "from the file"
    found = parse(PASSWORD, server={**everywhere, **USER, **files}).server
    assert found.secret.reveal() == "secret"
    assert parse({"STREAMREASONER_SERVER__FACTS": "true"}).server.facts


def test_the_former_name_of_the_section_is_read():
    """`[metrics]` has the keys of `[server]`; what both set is refused, under the name given."""
    assert parse(metrics={"port": 1234, "host": "::1"}).server.port == 1234
    assert parse({"STREAMREASONER_METRICS__PORT": "99"}).server.port == 99
    with pytest.raises(ConfigError, match=r"metrics\.port: found 70000"):
        parse(metrics={"port": 70000})
    with pytest.raises(ConfigError, match=r"server\.port is set too. Remove \[metrics\]"):
        parse(metrics={"port": 1}, server={"port": 2})
