"""The compose file, checked without a container engine."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from streamreasoner.config import load
from streamreasoner.io.kafka.broker import KAFKA_VERSION
from streamreasoner.program.load import load_program

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
CONFIG = ROOT / "deploy" / "streamreasoner.toml"

each_service = pytest.mark.parametrize("name", SERVICES)

# Keys of a service that the Compose specification knows and this file uses.
KNOWN = {
    *("build", "cap_drop", "command", "depends_on", "environment", "healthcheck", "hostname"),
    *("image", "logging", "mem_limit", "networks", "pids_limit", "ports", "profiles", "read_only"),
    *("restart", "security_opt", "stop_grace_period", "tmpfs", "user", "volumes"),
}


def test_the_services_are_those_of_the_pipeline():
    """Broker, topics, reasoner, sample data and monitoring; no key that Compose would refuse."""
    assert set(SERVICES) == {"kafka", "topics", "reasoner", "demo", "prometheus", "grafana"}
    assert {key for service in SERVICES.values() for key in service} <= KNOWN
    assert {key for key in COMPOSE if not key.startswith("x-")} == {
        *("name", "services", "networks", "volumes")
    }


def test_the_broker_is_that_of_the_demo():
    """Compose, the demo and the tests have one version of Kafka."""
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{KAFKA_VERSION}"


@each_service
def test_ports_are_published_on_loopback_only(name):
    """No service is reachable from another machine."""
    for port in SERVICES[name].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)


@each_service
def test_no_service_has_privileges(name):
    """Each runs as a user that is not root, without capabilities and without a way to gain any."""
    service = SERVICES[name]
    user, group = (int(part) for part in service["user"].split(":"))
    assert min(user, group) > 0
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"kafka"}))
def test_root_file_systems_are_read_only(name):
    """Only Kafka's image, which writes its configuration at a start, has a writable root."""
    assert SERVICES[name]["read_only"] is True


@each_service
def test_images_are_pinned(name):
    """No image has a moving tag."""
    assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+\.\d+", SERVICES[name]["image"])


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"topics", "demo"}))
def test_long_running_services_tell_their_health_and_have_limits(name):
    """Health, memory and number of processes are bounded and watched."""
    service = SERVICES[name]
    assert service["healthcheck"]["test"][0] == "CMD"
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
    assert service["pids_limit"] > 0
    assert service["restart"] == "unless-stopped"


@each_service
def test_what_is_mounted_exists(name):
    """Files come from the repository, read-only; volumes and networks are declared."""
    service = SERVICES[name]
    for volume in service.get("volumes", []):
        # A variable stands for what it is by default.
        source, _, *mode = re.sub(r"\$\{\w+:-(.*?)\}", r"\1", volume).split(":")
        if source.startswith("."):
            assert (ROOT / source).exists()
            assert mode == ["ro"]
        else:
            assert source in COMPOSE["volumes"]
    assert set(service["networks"]) <= set(COMPOSE["networks"])


@each_service
def test_dependencies_are_services_that_can_answer(name):
    """A service that is waited for has the health check or the end that is waited for."""
    for other, how in SERVICES[name].get("depends_on", {}).items():
        match how["condition"]:
            case "service_healthy":
                assert "test" in SERVICES[other]["healthcheck"]
            case "service_completed_successfully":
                assert SERVICES[other]["restart"] == "no"
            case condition:
                assert condition == "service_started"


def test_no_secret_is_written_down():
    """The only password comes from the environment; without it the start fails."""
    environment = SERVICES["grafana"]["environment"]
    assert environment["GF_SECURITY_ADMIN_PASSWORD"].startswith("${GRAFANA_PASSWORD:?")
    assert environment["GF_AUTH_ANONYMOUS_ENABLED"] == "false"


def test_native_libraries_can_be_unpacked():
    """Spark's and Kafka's codecs are executed from /tmp, which Docker mounts noexec by default."""
    (tmpfs,) = SERVICES["reasoner"]["tmpfs"]
    path, options = tmpfs.split(":")
    assert path == "/tmp"  # noqa: S108  # a path in the container
    assert "exec" in options.split(",")


def test_the_configuration_fits_the_services():
    """The deployed configuration is valid and names the broker, volume and port of the file."""
    config = load(CONFIG, {})
    host, port = config.kafka.bootstrap_servers.split(":")
    assert f"INTERNAL://{host}:{port}" in SERVICES["kafka"]["environment"][
        "KAFKA_ADVERTISED_LISTENERS"
    ].split(",")
    assert host in SERVICES
    assert f"127.0.0.1:{config.server.port}:{config.server.port}" in SERVICES["reasoner"]["ports"]
    mounts = [volume.rsplit(":", 2)[-2] for volume in SERVICES["reasoner"]["volumes"][:2]]
    mounts += [volume.split(":")[1] for volume in SERVICES["reasoner"]["volumes"][2:]]
    assert any(str(config.state.directory).startswith(f"{mount}/") for mount in mounts)
    for name in ("topics", "reasoner"):
        command = SERVICES[name]["command"]
        assert command[command.index("--config") + 1] in mounts


def test_the_broker_is_one_node_that_commits_transactions():
    """Internal topics have one copy, and listeners, protocols and advertised names agree."""
    environment = SERVICES["kafka"]["environment"]
    copies = [value for key, value in environment.items() if key.endswith("REPLICATION_FACTOR")]
    assert copies == [1, 1]
    assert environment["KAFKA_TRANSACTION_STATE_LOG_MIN_ISR"] == 1

    def names(key, separator):
        return {part.split(separator)[0] for part in environment[key].split(",")}

    listeners = names("KAFKA_LISTENERS", "://")
    assert names("KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", ":") == listeners
    assert names("KAFKA_ADVERTISED_LISTENERS", "://") == listeners - {"CONTROLLER"}
    (log,) = SERVICES["kafka"]["volumes"]
    assert log.split(":")[1] == environment["KAFKA_LOG_DIRS"]


def test_the_rules_are_those_of_a_folder(tmp_path):
    """The folder that RULES names has the program; the default one has a program that is valid."""
    [mount] = [volume for volume in SERVICES["reasoner"]["volumes"] if "RULES" in volume]
    default, target = re.fullmatch(r"\$\{RULES:-(.*)\}:(.*):ro", mount).groups()
    shutil.copytree(ROOT / default, tmp_path / Path(target).name)
    shutil.copy(CONFIG, tmp_path)
    config = load(tmp_path / CONFIG.name, {})
    assert config.server.facts
    assert load_program(config.rules.program).arities["triple"] == 3
    assert f"{Path(target).parent}/{CONFIG.name}" in SERVICES["reasoner"]["command"]


def test_the_demo_sends_what_the_default_rules_are_for():
    """It is left out without its profile, and its files are those of the same folder."""
    demo = SERVICES["demo"]
    assert demo["profiles"] == ["demo"]
    [mount] = [volume for volume in demo["volumes"] if volume.endswith("/demo:ro")]
    source, target, _ = mount.split(":")
    assert f"${{RULES:-{source}}}" in SERVICES["reasoner"]["volumes"][1]
    _, *files, option = demo["command"]
    assert option.removeprefix("--config=") in SERVICES["reasoner"]["command"]
    for name in files:
        assert (ROOT / source / Path(name).relative_to(target)).is_file()
