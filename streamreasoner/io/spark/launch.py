"""Spark's JVM: the command that starts it and the connection to it.

Invariant: settings are passed in a file that only this user can read, never on a command line.

If executors are threads of the JVM, Java is started directly: spark-submit's scripts run a second
JVM to build the command, resolve jars with Ivy and copy them at each start, and no class-data
archive matches copied jars. Otherwise, or if the environment has settings that the scripts read,
the scripts start it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import pyspark
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from streamreasoner.system import jvm
from streamreasoner.system.class_data import ClassData

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from py4j.java_gateway import JavaGateway

# Options of Spark's launcher for every JVM: Spark accesses packages that Java encapsulates.
MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(
        f"--add-opens={package}=ALL-UNNAMED"
        for package in (
            "java.base/java.lang",
            "java.base/java.lang.invoke",
            "java.base/java.lang.reflect",
            "java.base/java.io",
            "java.base/java.net",
            "java.base/java.nio",
            "java.base/java.util",
            "java.base/java.util.concurrent",
            "java.base/java.util.concurrent.atomic",
            "java.base/jdk.internal.ref",
            "java.base/sun.nio.ch",
            "java.base/sun.nio.cs",
            "java.base/sun.security.action",
            "java.base/sun.util.calendar",
            "java.security.jgss/sun.security.krb5",
        )
    ),
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dderby.connection.requireAuthentication=false",
)

_READ_BY_SCRIPTS = (
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "SPARK_SUBMIT_OPTS",
    "SPARK_DIST_CLASSPATH",
    "SPARK_PREPEND_CLASSES",
    "HADOOP_CONF_DIR",
    "YARN_CONF_DIR",
)
_LEFT_TO_SCRIPTS = (
    "spark.driver.extraLibraryPath",
    "spark.jars.repositories",
    "spark.jars.excludes",
    "spark.jars.ivy",
    "spark.jars.ivySettings",
)
# organisation:module:revision
_COLONS = 2
_POLL_SECONDS = 0.02
# The port, and the length of the secret that follows.
_CONNECTION = struct.Struct("!ii")
_ESCAPES = {
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    **{character: f"\\{character}" for character in "\\ :=#!"},
}


@dataclass(frozen=True, slots=True)
class Launch:
    """How a JVM is started.

    Attributes:
        command: The command; settings are added to it as a file.
        settings: Spark's settings.
        class_data: The archive of the JVM's classes; None if scripts start it.
    """

    command: tuple[str, ...]
    settings: Mapping[str, str]
    class_data: ClassData | None = None


def by_scripts(settings: Mapping[str, str]) -> Launch:
    """A launch through spark-submit's scripts."""
    ivy = {
        "spark.jars.ivySettings": str(jvm.ivy_settings()),
        "spark.jars.ivy": str(jvm.cache_directory() / "ivy"),
    }
    home = Path(os.environ.get("SPARK_HOME") or _home())
    return Launch((str(home / "bin" / "spark-submit"),), {**ivy, **settings})


def directly(java: str, settings: Mapping[str, str], scratch: Path) -> Launch | None:
    """A launch without scripts; None if a setting needs them.

    Args:
        java: The `java` command.
        settings: Spark's settings; the jars among them become the class path.
        scratch: A directory for files of the JVM.

    Raises:
        EnvironmentSetupError: Jars cannot be downloaded.
    """
    if any(os.environ.get(name) for name in _READ_BY_SCRIPTS) or (_home() / "conf").exists():
        return None
    packages = _listed(settings.get("spark.jars.packages", ""))
    if any(name in settings for name in _LEFT_TO_SCRIPTS) or any(
        package.count(":") != _COLONS for package in packages
    ):
        return None
    extra = _listed(settings.get("spark.jars", ""))
    if not all(Path(jar).is_absolute() for jar in extra):
        return None
    class_path = _class_path(settings.get("spark.driver.extraClassPath", ""), packages, extra)
    class_data = ClassData("spark", java, class_path, scratch)
    memory = settings["spark.driver.memory"]
    options = (
        word
        for name in ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
        for word in shlex.split(settings.get(name, ""))
    )
    command = [java, "-cp", ":".join(map(str, class_path)), f"-Xmx{memory}", *options]
    command += [*class_data.flags, *MODULE_OPTIONS, "org.apache.spark.deploy.SparkSubmit"]
    remaining = {
        name: value
        for name, value in settings.items()
        if name not in {"spark.jars", "spark.jars.packages"}
    }
    return Launch(tuple(command), remaining, class_data)


def start(
    launch: Launch, temporary: Path, log: IO[bytes], lock_descriptor: int, group: int
) -> JavaGateway:
    """Start the JVM and connect to it.

    Args:
        launch: The command and its settings.
        temporary: A directory for files exchanged at the start.
        log: Receives the JVM's output.
        lock_descriptor: The state lock, which the JVM inherits.
        group: The process group that the JVM joins.

    Raises:
        PySparkRuntimeError: The JVM exits during the start.
    """
    exchange = Path(tempfile.mkdtemp(dir=temporary))
    try:
        properties = exchange / "spark.properties"
        properties.touch(mode=0o600)
        properties.write_text(_properties(launch.settings), encoding="utf-8")
        connection = exchange / "connection"
        process = subprocess.Popen(
            [*launch.command, "--properties-file", str(properties), "pyspark-shell"],
            # The JVM exits when this pipe closes.
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(lock_descriptor,),
            process_group=group,
            env={
                # Python workers import this PySpark, and must agree on string hashes.
                "SPARK_HOME": str(_home()),
                "PYTHONHASHSEED": "0",
                **os.environ,
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection),
                "SPARK_CONNECT_MODE": "0",
            },
        )
        while not connection.exists():
            if process.poll() is not None:
                cast("IO[bytes]", process.stdin).close()
                raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
            time.sleep(_POLL_SECONDS)
        reply = connection.read_bytes()
        port, length = _CONNECTION.unpack_from(reply)
        secret = reply[_CONNECTION.size :][:length].decode()
    finally:
        shutil.rmtree(exchange)
    gateway = _connect(port, secret)
    gateway.proc = process
    return gateway


def _connect(port: int, secret: str) -> JavaGateway:
    """A connection made by PySpark, which takes the address from the environment only."""
    variables = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(variables)
    try:
        return launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        for name in variables:
            del os.environ[name]


def _class_path(first: str, packages: Sequence[str], extra: Sequence[str]) -> tuple[Path, ...]:
    """Spark's jars first, each listed by name as class-data archives require."""
    spark = sorted((_home() / "jars").glob("*.jar"), key=_after_logging)
    names = {jar.name for jar in spark}
    others = sorted(jvm.jars("spark", packages).glob("*.jar")) if packages else []
    others += (jar for entry in extra for jar in _expanded(Path(entry)))
    own = [Path(entry) for entry in filter(None, first.split(":"))]
    return (*own, *spark, *(jar for jar in others if jar.name not in names))


def _after_logging(jar: Path) -> tuple[bool, str]:
    """Sort key for Spark's jars, as in its launcher: the logging interface first."""
    return not jar.name.startswith("slf4j-api-"), jar.name


def _expanded(jar: Path) -> Iterator[Path]:
    if jar.name == "*":
        yield from sorted(jar.parent.glob("*.jar"))
    else:
        yield jar


def _home() -> Path:
    """Spark's directory: that of the package pyspark."""
    return Path(pyspark.__file__).parent


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _properties(settings: Mapping[str, str]) -> str:
    """Settings in the format of Java's property files."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
