"""The chart for Kubernetes, rendered by Helm itself and checked without a cluster."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import kubernetes_validate
import pyspark
import pytest
import yaml
from helm import CHART, helm, rendered
from typer.testing import CliRunner

from streamreasoner import __version__
from streamreasoner.cli import app
from streamreasoner.config import load
from streamreasoner.program.load import load_program

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
NAME = "reasoner-streamreasoner"
EXECUTORS = ("--values", CHART / "values-executors.yaml", "--namespace", "facts")
OTHERS = (
    *("--set", "config.kafka.security.protocol=SSL"),
    *("--set", "secrets[0].name=kafka-login,secrets[0].path=/etc/kafka-login"),
    *("--set", "env[0].name=STREAMREASONER_LOG__LEVEL,env[0].value=debug"),
    *("--set", "nodeSelector.disk=fast,storage.className=fast,topics.create=false"),
)
VARIANTS = {"plain": (), "executors": EXECUTORS, "others": OTHERS}
each_variant = pytest.mark.parametrize("variant", VARIANTS)


@cache
def objects(variant):
    """The objects of a variant, rendered once."""
    return rendered(*VARIANTS[variant])


def pod_of(variant):
    """The specification of the pod."""
    return objects(variant)["StatefulSet", NAME]["spec"]["template"]["spec"]


def container_of(variant):
    """The container of the pipeline."""
    [container] = pod_of(variant)["containers"]
    return container


def mounts(container):
    """The volumes of a container by their paths."""
    return {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}


def configured(variant, folder, environment=None):
    """The configuration of a variant, with the files that are mounted next to it."""
    for name, text in objects(variant)["ConfigMap", NAME]["data"].items():
        (folder / name).write_text(text)
    return load(folder / "streamreasoner.toml", environment or {})


@pytest.mark.parametrize("values", [(), EXECUTORS[:2]])
def test_helm_finds_no_mistake(values):
    """`helm lint --strict` accepts the chart with the values of each variant."""
    assert "0 chart(s) failed" in helm(
        "lint", "--strict", "--kube-version", "1.30.0", CHART, *values
    )


@each_variant
@pytest.mark.parametrize("version", ["1.25", "1.37"])
def test_every_object_fits_the_schema_of_kubernetes(variant, version):
    """No unknown key, no wrong type, in the oldest and in the newest version."""
    for each in objects(variant).values():
        kubernetes_validate.validate(each, version, strict=True)
    template = objects(variant)["ConfigMap", NAME]["data"].get("executor.yml")
    if template is not None:
        kubernetes_validate.validate(yaml.safe_load(template), version, strict=True)


@each_variant
def test_every_object_belongs_to_the_release(variant):
    """Labels are those that Kubernetes recommends."""
    for each in objects(variant).values():
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == "streamreasoner"
        assert labels["app.kubernetes.io/instance"] == "reasoner"


def test_the_version_is_that_of_the_package():
    """Chart, image and package have one version."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == chart["version"] == __version__
    assert container_of("plain")["image"] == f"streamreasoner:{__version__}"


@each_variant
def test_the_configuration_fits_the_pod(variant, tmp_path):
    """It is the file that is run, with the program, the port and the volume of the pod."""
    config = configured(variant, tmp_path)
    container = container_of(variant)
    [option] = [word for word in container["args"] if word.startswith("--config=")]
    path = Path(option.removeprefix("--config="))
    assert mounts(container)[str(path.parent)] == "configuration"
    assert path.name in objects(variant)["ConfigMap", NAME]["data"]
    assert load_program(config.rules.program).arities
    assert mounts(container)[str(config.state.directory.parent)] == "state"
    statefulset = objects(variant)["StatefulSet", NAME]["spec"]
    [claim] = statefulset["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "state"
    assert statefulset["replicas"] == 1
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports["server"] == config.server.port
    for name in (NAME, f"{NAME}-pod"):
        service = objects(variant)["Service", name]["spec"]
        assert {each["name"]: each["port"] for each in service["ports"]}.items() <= ports.items()
        labels = statefulset["template"]["metadata"]["labels"]
        assert service["selector"].items() <= labels.items()
    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == "server"
    assert statefulset["serviceName"] == f"{NAME}-pod"


def test_the_default_is_small(tmp_path):
    """One pod of 4 GiB holds the state in memory, and may not ask Kubernetes for anything."""
    config = configured("plain", tmp_path)
    assert config.pipeline.backend == "columnar"
    assert container_of("plain")["resources"]["limits"]["memory"] == "4Gi"
    assert pod_of("plain")["automountServiceAccountToken"] is False
    kinds = {kind for kind, _ in objects("plain")}
    assert kinds == {"ConfigMap", "Service", "StatefulSet"}


def test_every_kind_of_value_reaches_the_configuration(tmp_path):
    """Texts with quotes, lists, numbers, tables within tables and lists of tables."""
    values = {
        "config": {
            "kafka": {"security": {"protocol": "PLAINTEXT"}, "input_topics": ["a", 'b<"\\&>']},
            "input": {
                "format": "json-rows",
                "map": {
                    "edges": {
                        "topic": "a",
                        "facts": [{"predicate": "triple", "args": ["s", "p", "o"]}],
                    }
                },
            },
            "pipeline": {"max_batch_bytes": 1 << 30, "target_batch_time": 0.5},
        }
    }
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    text = rendered("--values", path)["ConfigMap", NAME]["data"]["streamreasoner.toml"]
    found = tomllib.loads(text)
    for section, table in values["config"].items():
        assert found[section].items() >= table.items()


def test_secrets_and_variables_are_there_for_all_containers():
    """What the configuration names is mounted where it says, and is not readable by others."""
    container = container_of("others")
    assert mounts(container)["/etc/kafka-login"] == "kafka-login"
    [volume] = [each for each in pod_of("others")["volumes"] if each["name"] == "kafka-login"]
    assert volume["secret"] == {"secretName": "kafka-login", "defaultMode": 0o440}
    assert {"name": "STREAMREASONER_LOG__LEVEL", "value": "debug"} in container["env"]
    assert "initContainers" not in pod_of("others")


def test_the_driver_asks_for_executors_as_the_pod_may(tmp_path):
    """Master, image, names and template of executors are those of the release."""
    config = configured("executors", tmp_path)
    options, container = config.spark.options, container_of("executors")
    assert options["spark.master"].startswith("k8s://")
    assert options["spark.kubernetes.namespace"] == "facts"
    assert options["spark.kubernetes.container.image"] == container["image"]
    assert ("Service", options["spark.driver.host"]) in objects("executors")
    assert options["spark.kubernetes.driver.pod.name"] == f"{NAME}-0"
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports["driver"] == int(options["spark.driver.port"])
    assert ports["blocks"] == int(options["spark.driver.blockManager.port"])
    template = Path(options["spark.kubernetes.executor.podTemplateFile"])
    assert mounts(container)[str(template.parent)] == "configuration"
    executor = yaml.safe_load((tmp_path / template.name).read_text())
    [subject] = objects("executors")["RoleBinding", NAME]["subjects"]
    assert subject == {
        "kind": "ServiceAccount",
        "name": pod_of("executors")["serviceAccountName"],
        "namespace": "facts",
    }
    [rule] = objects("executors")["Role", NAME]["rules"]
    assert {"pods", "configmaps"} <= set(rule["resources"])
    # No service finds an executor in place of the driver.
    selector = objects("executors")["Service", NAME]["spec"]["selector"]
    assert not selector.items() <= executor["metadata"]["labels"].items()
    folder = options["spark.jars"].removesuffix("/*")
    assert f"prepare.py jars {folder}" in DOCKERFILE
    assert options["spark.jars.packages"] == ""


def test_executors_have_room_for_the_parts(tmp_path):
    """A core for each part and one to read with; memory outside of Java; and they prove a secret.

    No volume is shared, as parts are restored through the driver.
    """
    config = configured("executors", tmp_path)
    options, pipeline = config.spark.options, config.pipeline
    assert pipeline.backend == "executors"
    cores = int(options["spark.executor.instances"]) * int(options["spark.executor.cores"])
    assert cores == pipeline.parts + 1
    assert options["spark.executor.memoryOverhead"] == "8g"
    assert options["spark.authenticate"] == "true"
    assert "spark.network.crypto.enabled" not in options
    executor = yaml.safe_load((tmp_path / "executor.yml").read_text())["spec"]
    assert "volumes" not in executor
    assert "PersistentVolumeClaim" not in {kind for kind, _ in objects("executors")}


def test_a_state_in_an_object_store_needs_no_volume():
    """The pod's copy is on its node, and goes with it."""
    address = "config.state.object_store=s3://bucket/folder"
    found = rendered("--set", address)["StatefulSet", NAME]["spec"]
    assert "volumeClaimTemplates" not in found
    volumes = {each["name"]: each for each in found["template"]["spec"]["volumes"]}
    assert volumes["state"]["emptyDir"] == {"sizeLimit": "20Gi"}


@each_variant
def test_no_pod_has_privileges(variant):
    """Each runs as the user of the image, without capabilities and without a way to gain any."""
    user = re.search(r"^USER (\d+):(\d+)$", DOCKERFILE, re.MULTILINE)
    template = objects(variant)["ConfigMap", NAME]["data"].get("executor.yml")
    pods = [pod_of(variant), *([yaml.safe_load(template)["spec"]] if template else [])]
    for spec in pods:
        security = spec["securityContext"]
        assert security["runAsNonRoot"]
        assert (str(security["runAsUser"]), str(security["runAsGroup"])) == user.groups()
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_topics_are_created_before_the_pipeline_starts(broker, tmp_path):
    """The pod's first container is a command that creates what the configuration names.

    It runs here on a broker of one node, so with one replica; run again it leaves the topics alone.
    """
    config = configured("plain", tmp_path)
    [topics] = pod_of("plain")["initContainers"]
    assert topics["image"] == container_of("plain")["image"]
    [option] = [word for word in topics["args"] if word.startswith("--config=")]
    path = tmp_path / Path(option.removeprefix("--config=")).name
    assert mounts(topics)[str(Path(option.removeprefix("--config=")).parent)] == "configuration"
    path.write_text(path.read_text().replace("kafka:9092", broker.bootstrap_servers))
    words = [f"--config={path}" if word == option else word for word in topics["args"]]
    words = [re.sub(r"^(--replication)=\d+$", r"\1=1", word) for word in words]
    for outcome in ("created", "exists"):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        outcomes = dict(line.split(": ") for line in result.output.splitlines())
        assert set(outcomes) >= {*config.kafka.input_topics, config.kafka.output_topic}
        assert set(outcomes.values()) == {outcome}


# What Spark 4 gives a container of an executor; `$` stands for Java's own variables.
GIVEN = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@streamreasoner-driver:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "4",
    "SPARK_EXECUTOR_MEMORY": "8192m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_EXECUTOR_POD_NAME": "streamreasoner-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_JAVA_OPT_10": "-Dlast=1",
    "SPARK_JAVA_OPT_2": "-Dfirst=two words",
    "JAVA_HOME": "/java",
}


def started(words, environment):
    """The command that the entry point of the image executes."""
    code = (
        f"import json, entrypoint; print(json.dumps(entrypoint.main({words!r}, {environment!r})))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT / "deploy", capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(process.stdout)


def test_an_executor_is_what_spark_asks_for():
    """Java's options in order, the class, and every argument that the class requires."""
    home = Path(pyspark.__file__).parent
    command = started(["executor"], GIVEN)
    java = ["/java/bin/java", "-Dfirst=two words", "-Dlast=1", "-Xms8192m", "-Xmx8192m"]
    assert command[: len(java)] == java
    assert f"{home}/jars/*" in command[command.index("-cp") + 1].split(":")
    arguments = command[command.index("--driver-url") :]
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    assert options == {
        "--driver-url": GIVEN["SPARK_DRIVER_URL"],
        "--executor-id": "3",
        "--cores": "4",
        "--app-id": "spark-1",
        "--hostname": "10.0.0.7",
        "--resourceProfileId": "0",
        "--podName": "streamreasoner-exec-3",
    }


def test_a_driver_is_submitted_and_all_else_is_a_command():
    """`driver` calls spark-submit with its arguments; other arguments are the command line's."""
    driver = started(["driver", "--class", "x"], {"SPARK_DRIVER_BIND_ADDRESS": "10.0.0.1"})
    assert driver[0].endswith("/bin/spark-submit")
    assert shlex.join(driver[1:]) == (
        "--deploy-mode client --conf spark.driver.bindAddress=10.0.0.1 --class x"
    )
    words = ["run", "--config=/etc/streamreasoner/streamreasoner.toml"]
    assert started(words, {}) == ["streamreasoner", *words]
