"""A Spark cluster of real processes: a standalone master and its workers, on loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark
from processes import living
from recording import archived
from spark_jvm import PATIENT

from streamreasoner.system import jvm

DEADLINE_SECONDS = 300
WORKERS = 2
_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
CHEAP = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Flags of a Java that runs for seconds: an optimizing compiler would not pay off."""
_DEPLOY = "org.apache.spark.deploy"


@dataclass(frozen=True)
class Cluster:
    """A running cluster.

    Attributes:
        url: Its address, for `spark.master`.
        workers: The processes of its workers, each the parent of its executors.
    """

    url: str
    workers: list

    @property
    def options(self):
        """Settings of Spark, in the form of a configuration."""
        return {
            "spark.master": self.url,
            # The executors are on this machine; accept no other connections.
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "1g",
            "spark.executor.extraJavaOptions": CHEAP,
            "spark.driver.defaultJavaOptions": CHEAP,
            **PATIENT,
        }

    def executors(self):
        """The processes of live executors."""
        return [
            child
            for worker in self.workers
            for child in living(psutil.Process(worker.pid).children(recursive=True), _is_executor)
        ]


def from_archive(directory):
    """Settings of drivers and executors on a cluster that start from the archive of pipelines.

    Their class path has the jars of pipelines, so nothing depends on the delivery of packages.
    """
    class_path, flags = archived(directory)
    settings = {}
    for role, options in (("driver", "defaultJavaOptions"), ("executor", "extraJavaOptions")):
        settings[f"spark.{role}.{options}"] = " ".join((CHEAP, *flags))
        settings[f"spark.{role}.extraClassPath"] = class_path
    return settings


def kill(process):
    """Kill a process and wait until it is gone."""
    process.send_signal(signal.SIGKILL)
    process.wait(DEADLINE_SECONDS)


def executor_id(process):
    """The driver's id of an executor."""
    words = process.cmdline()
    return words[words.index("--executor-id") + 1]


@contextmanager
def cluster(directory, workers=WORKERS, cores=1):
    """A cluster whose files are in a directory, of workers with some cores each."""
    process_group = jvm.ProcessGroup()
    started = []
    try:
        master = _spawn(
            process_group, directory / "master.log", "master.Master", "--webui-port", "0"
        )
        started.append(master)
        url = _await_line(directory / "master.log", r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            work = directory / f"worker-{number}"
            options = ("--cores", str(cores), "--memory", "1g", "--work-dir", str(work))
            log = directory / f"worker-{number}.log"
            ports = ("--webui-port", "0")
            started.append(_spawn(process_group, log, "worker.Worker", *ports, *options, url))
        for number in range(workers):
            _await_line(directory / f"worker-{number}.log", r"Successfully registered with master")
        yield Cluster(url, started[1:])
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(DEADLINE_SECONDS)
        process_group.close()


def _spawn(process_group, log, name, *arguments):
    class_path, flags = archived(log.parent)
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": " ".join((CHEAP, *flags)),
        "SPARK_DAEMON_CLASSPATH": class_path,
        "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
    }
    with log.open("wb") as output:
        return subprocess.Popen(
            [_CLASS, f"{_DEPLOY}.{name}", "--host", "127.0.0.1", "--port", "0", *arguments],
            stdout=output,
            stderr=output,
            env=environment,
            process_group=process_group.id,
        )


def _await_line(log, pattern):
    """Wait until a pattern appears in a log; returns its last group."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while (match := re.search(pattern, log.read_text(errors="replace"))) is None:
        assert time.monotonic() < deadline, log.read_text(errors="replace")
        time.sleep(0.1)
    return match[match.re.groups]


def _is_executor(process):
    return any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
