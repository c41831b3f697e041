"""Rights of roles, as Kafka's own command takes them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from streamreasoner import config
from streamreasoner.errors import ConfigError
from streamreasoner.io.kafka.access.rights import commands, of_role
from streamreasoner.io.kafka.access.roles import Role

RAW = {
    "kafka": {"bootstrap_servers": "a:1,b:2", "input_topics": ["in"], "output_topic": "out"},
    "rules": {"program": "rho-df"},
    "state": {"directory": "state"},
    "pipeline": {"app_id": "app"},
}


def test_the_commands_grant_the_rights_of_a_pipeline():
    """One right in each line; groups by what their names begin with."""
    lines = commands(config.parse(RAW, {}, Path("/")), Role.RUN, "User:CN=a b", "admin")
    start = ["kafka-acls.sh", "--bootstrap-server", "a:1,b:2", "--command-config", "admin"]
    start += ["--add", "--allow-principal", "User:CN=a b", "--operation"]
    words = [shlex.split(line) for line in lines]
    assert all(line[: len(start)] == start for line in words)
    assert [" ".join(line[len(start) :]) for line in words] == [
        "Read --topic in",
        "Read --topic out",
        "Write --topic out",
        "DescribeConfigs --topic out",
        "Read --topic out-violations",
        "Write --topic out-violations",
        "DescribeConfigs --topic out-violations",
        "Write --topic out-dead-letter",
        "Read --topic out-progress",
        "Write --topic out-progress",
        "DescribeConfigs --topic out-progress",
        "Read --resource-pattern-type prefixed --group app-",
        "Write --transactional-id app",
    ]


def test_rules_that_cannot_change_need_no_rights():
    """The refusal names the key."""
    with pytest.raises(ConfigError, match=r"rules\.control_topic is not set"):
        of_role(config.parse(RAW, {}, Path("/")), Role.RULES)
    raw = {**RAW, "rules": {"program": "rho-df", "control_topic": "control"}}
    found = of_role(config.parse(raw, {}, Path("/")), Role.RULES)
    assert str(found[0]) == "Write on the topic control"
