"""The entry point of the image. Invariant: it is replaced by the process it starts.

Spark on Kubernetes starts every image with `executor` or `driver`, and passes settings in the
environment; all other arguments go to the command line `streamreasoner`.
"""

# ruff: noqa: INP001 - a script next to the Dockerfile, not part of a package
from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
_JAVA_OPTION = "SPARK_JAVA_OPT_"


def main(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command for the arguments of a container."""
    match words:
        case ["executor", *_]:
            return executor(environment)
        case ["driver", *rest]:
            address = environment["SPARK_DRIVER_BIND_ADDRESS"]
            submit = [str(_spark() / "bin" / "spark-submit"), "--deploy-mode", "client"]
            return [*submit, "--conf", f"spark.driver.bindAddress={address}", *rest]
        case _:
            return ["streamreasoner", *words]


def executor(environment: Mapping[str, str]) -> list[str]:
    """The command of an executor."""
    options = [name for name in environment if name.startswith(_JAVA_OPTION)]
    options.sort(key=lambda name: int(name.removeprefix(_JAVA_OPTION)))
    memory = environment["SPARK_EXECUTOR_MEMORY"]
    extra = [environment.get(name, "") for name in ("SPARK_EXTRA_CLASSPATH", "SPARK_CLASSPATH")]
    places = [str(_spark() / "conf"), str(_spark() / "jars" / "*"), *filter(None, extra)]
    return [
        str(Path(environment["JAVA_HOME"], "bin", "java")),
        *(environment[name] for name in options),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        *("-cp", ":".join(places)),
        _BACKEND,
        *(word for name, key in _ARGUMENTS.items() for word in (name, environment[key])),
    ]


def _spark() -> Path:
    """Spark's directory: that of the package pyspark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        sys.exit("The package pyspark is missing.")
    return Path(spec.origin).parent


if __name__ == "__main__":
    command = main(sys.argv[1:], os.environ)
    os.execvp(command[0], command)  # noqa: S606 - arguments of the container
