"""The manifests for Kubernetes, checked without a cluster."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
import yaml
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.config import load
from streamreasoner.program.load import load_program

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
DOCUMENTS = [doc for path in FOLDER.glob("*.yml") for doc in yaml.safe_load_all(path.read_text())]
BY_NAME = {(doc["kind"], doc["metadata"]["name"]): doc for doc in DOCUMENTS}
FILES = BY_NAME["ConfigMap", "streamreasoner"]["data"]
SET = BY_NAME["StatefulSet", "streamreasoner"]["spec"]
POD = SET["template"]["spec"]
[CONTAINER] = POD["containers"]
[TOPICS] = POD["initContainers"]
EXECUTOR = yaml.safe_load(FILES["executor.yml"])
[EXECUTOR_CONTAINER] = EXECUTOR["spec"]["containers"]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
MOUNTS = {mount["mountPath"]: mount["name"] for mount in CONTAINER["volumeMounts"]}


@pytest.fixture
def config(tmp_path):
    """The configuration, with the files that are mounted beside it."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return load(tmp_path / "streamreasoner.toml", {})


def test_every_object_is_there_once():
    """Names are unique, and all objects belong to the application."""
    assert len(BY_NAME) == len(DOCUMENTS)
    for document in DOCUMENTS:
        assert document["apiVersion"]
        assert document["metadata"]["labels"]["app.kubernetes.io/name"] == "streamreasoner"


def test_the_program_is_one(config):
    """The mounted rules are valid."""
    assert load_program(config.rules.program).arities


def test_the_configuration_fits_the_pod(config):
    """It is the file that is run, on the backend, ports and volumes of the pod."""
    configured = CONTAINER["args"][CONTAINER["args"].index("--config") + 1]
    assert MOUNTS[str(Path(configured).parent)] == "configuration"
    assert Path(configured).name in FILES
    assert config.pipeline.backend == "spark"
    ports = {port["name"]: port["containerPort"] for port in CONTAINER["ports"]}
    options = config.spark.options
    assert ports == {
        "metrics": config.server.port,
        "driver": int(options["spark.driver.port"]),
        "blocks": int(options["spark.driver.blockManager.port"]),
    }
    for service, names in (("streamreasoner-driver", {"driver", "blocks"}),
                           ("streamreasoner-metrics", {"metrics"})):  # fmt: skip
        spec = BY_NAME["Service", service]["spec"]
        assert {port["name"]: port["port"] for port in spec["ports"]} == {
            n: ports[n] for n in names
        }
        assert spec["selector"].items() <= SET["template"]["metadata"]["labels"].items()
    assert CONTAINER["livenessProbe"]["httpGet"]["port"] in ports
    assert MOUNTS[str(config.state.directory.parent)] == "state"
    [claim] = SET["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "state"


def test_spark_asks_for_executors_as_the_pod_may(config):
    """Master, image, names and template of executors are those of the manifests."""
    options = config.spark.options
    assert options["spark.master"].startswith("k8s://")
    assert options["spark.kubernetes.container.image"] == CONTAINER["image"]
    assert options["spark.driver.host"] == SET["serviceName"]
    assert ("Service", SET["serviceName"]) in BY_NAME
    name = BY_NAME["StatefulSet", "streamreasoner"]["metadata"]["name"]
    assert SET["replicas"] == 1
    assert options["spark.kubernetes.driver.pod.name"] == f"{name}-0"
    template = Path(options["spark.kubernetes.executor.podTemplateFile"])
    assert MOUNTS[str(template.parent)] == "configuration"
    assert template.name in FILES
    [subject] = BY_NAME["RoleBinding", "streamreasoner"]["subjects"]
    assert subject["name"] == POD["serviceAccountName"]
    assert ("ServiceAccount", subject["name"]) in BY_NAME
    [rule] = BY_NAME["Role", "streamreasoner"]["rules"]
    assert {"pods", "configmaps"} <= set(rule["resources"])
    # No service finds an executor in place of the driver.
    labels = EXECUTOR["metadata"]["labels"]["app.kubernetes.io/name"]
    assert labels != SET["selector"]["matchLabels"]["app.kubernetes.io/name"]
    folder = options["spark.jars"].removesuffix("/*")
    assert f"prepare.py jars {folder}" in DOCKERFILE
    assert options["spark.jars.packages"] == ""


def test_driver_and_executors_share_the_state(config):
    """Both mount one claim where the state is, which several nodes may mount."""
    place = config.spark_state.removeprefix("file:")
    for mounts, spec in (
        (CONTAINER["volumeMounts"], POD),
        (EXECUTOR_CONTAINER["volumeMounts"], EXECUTOR["spec"]),
    ):
        [name] = [mount["name"] for mount in mounts if mount["mountPath"] == place]
        [volume] = [volume for volume in spec["volumes"] if volume["name"] == name]
        claim = volume["persistentVolumeClaim"]["claimName"]
        access = BY_NAME["PersistentVolumeClaim", claim]["spec"]["accessModes"]
        assert access == ["ReadWriteMany"]


@pytest.mark.parametrize("spec", [POD, EXECUTOR["spec"]], ids=["driver", "executor"])
def test_no_pod_has_privileges(spec):
    """Each runs as the user of the image, without capabilities and without a way to gain any."""
    user = re.search(r"^USER (\d+):(\d+)$", DOCKERFILE, re.MULTILINE)
    security = spec["securityContext"]
    assert security["runAsNonRoot"]
    assert (str(security["runAsUser"]), str(security["runAsGroup"])) == user.groups()
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_topics_are_created_before_the_driver_starts(broker, config, tmp_path):
    """The pod's first container is a command that creates what the configuration names.

    It runs here on a broker of one node, so with one replica; run again it leaves the topics alone.
    """
    assert TOPICS["image"] == CONTAINER["image"]
    mounts = {mount["mountPath"]: mount["name"] for mount in TOPICS["volumeMounts"]}
    [option] = [word for word in TOPICS["args"] if word.startswith("--config=")]
    configured = Path(option.removeprefix("--config="))
    assert mounts[str(configured.parent)] == "configuration"
    path = tmp_path / configured.name
    path.write_text(path.read_text().replace("kafka:9092", broker.bootstrap_servers))
    words = [f"--config={path}" if word == option else word for word in TOPICS["args"]]
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
    assert started(CONTAINER["args"], {}) == ["streamreasoner", *CONTAINER["args"]]
