"""Pipelines under spark-submit, as the program itself and in a session of a script.

Executors are processes of a cluster.
"""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path

import pipelines
import psutil
import pyspark
import pytest
from cluster import CHEAP, DEADLINE_SECONDS, cluster, from_archive
from oracle import derived, evaluate, total
from pipelines import (
    await_published,
    changes,
    fact,
    net,
    new_case,
    no_change_twice,
    produce,
    running,
    terminate,
)
from processes import living
from spark_jvm import joined

import streamreasoner
from streamreasoner.io.spark.series import CONNECTOR
from streamreasoner.program import check_text
from streamreasoner.system import jvm

# Kafka's client leaves it to the garbage collector to close a socket of its own.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("leftovers"),
]

SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
PROGRAM = Path(streamreasoner.__file__).parent / "__main__.py"
RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
PATIENCE_SECONDS = 300
PACKAGES = CONNECTOR


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    """A cluster of two workers."""
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


SCRIPT = """
import sys
from pyspark.sql import SparkSession
from streamreasoner.spark import run

spark = SparkSession.builder.getOrCreate()
print("begins", flush=True)
run(sys.argv[1], spark=spark)
print("still", spark.range(3).count(), flush=True)
"""


def submit(options, packages, *program):
    """The arguments of spark-submit: master, packages, settings, program."""
    settings = options | {
        "spark.jars.ivySettings": jvm.ivy_settings(),
        "spark.jars.ivy": jvm.cache_directory() / "ivy",
        "spark.ui.enabled": "false",
    }
    words = ["--master", settings.pop("spark.master"), "--packages", packages]
    for name, value in settings.items():
        words += ["--conf", f"{name}={value}"]
    return [*words, *program]


def the_pipeline(submitter, word="run"):
    """The Python process of a submitted program; helpers of the launcher may still be dying."""
    launched = psutil.Process(submitter.pid).children()
    [process] = living(launched, lambda child: word in child.cmdline())
    return process


def test_submitted_and_then_run(broker, machines, spark_environment, tmp_path, monkeypatch):
    """Stopped and started the other way, it continues: the output is that of a single run."""
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setattr(pipelines, "DEADLINE_SECONDS", PATIENCE_SECONDS)
    case = new_case(broker, tmp_path, RULES, pipeline={"backend": "executors", "parts": 1})
    generator, sent = random.Random(4), []
    node = [f"<http://example.org/n{number}>" for number in range(4)]

    def send():
        now = [("edge", tuple(generator.choices(node, k=2)), 1) for _ in range(5)]
        sent.append(now)
        return produce(case, (fact(name, *args, diff=diff) for name, args, diff in now))

    program = (PROGRAM, "run", "--config", case.file)
    with running(submit(machines.options, PACKAGES, *program), case, program=SUBMIT) as process:
        await_published(case, send())
        python = the_pipeline(process)
        process.terminate()
        process.wait(DEADLINE_SECONDS)
        psutil.wait_procs([python], DEADLINE_SECONDS)
    # The state moves from the executors of a cluster to the memory of a process.
    case.raw["pipeline"] = {"backend": "columnar"}
    with (
        joined(spark_environment),
        running(["-m", "streamreasoner", "run", "--config", case.file], case) as process,
    ):
        await_published(case, send())
        assert terminate(process) == 0

    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == derived(evaluate(check_text(RULES), total(sent)))


def test_a_submitted_script_runs_a_pipeline(broker, machines, tmp_path, monkeypatch):
    """In the session that spark-submit gives it, until an interrupt; then the script goes on.

    On one machine, and then on a cluster, where the pipeline continues.
    """
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    local = {"spark.master": "local[2]", "spark.driver.defaultJavaOptions": CHEAP}
    starts = {"b": local, "c": machines.options | from_archive(tmp_path)}
    case = new_case(broker, tmp_path, RULES)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    for name, options in starts.items():
        arguments = submit(options, CONNECTOR, script, case.file)
        with running(arguments, case, program=SUBMIT) as process:
            await_published(case, produce(case, [fact("edge", "<x:a>", f"<x:{name}>")]), process)
            the_pipeline(process, str(script)).send_signal(signal.SIGINT)
            assert process.wait(DEADLINE_SECONDS) == 0

    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == {("path", ("<x:a>", f"<x:{name}>")) for name in starts}
    log = (case.directory / "driver.log").read_text()
    assert log.count("still 3") == len(starts)
    assert "Traceback" not in log


def test_a_script_without_the_connector_is_told_what_to_write(broker, tmp_path, monkeypatch):
    """As spark-submit takes it, and as Python does."""
    cheap = f"--conf spark.ui.enabled=false --driver-java-options '{CHEAP}' pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", cheap)
    case = new_case(broker, tmp_path, RULES)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with running([script, case.file], case) as process:
        assert process.wait(DEADLINE_SECONDS) == 1
    log = (case.directory / "driver.log").read_text()
    assert "begins" in log
    assert "still" not in log
    assert f'.config("spark.jars.packages", "{CONNECTOR}")' in log
    assert f"spark-submit --packages {CONNECTOR}" in log
