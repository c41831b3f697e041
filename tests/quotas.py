"""Quotas of a broker, set with Kafka's own command: a real output topic that is slow."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager

from streamreasoner.io.kafka import broker as brokers
from streamreasoner.system import jvm

SINK = "rdkafka"
"""The client id of librdkafka, which no client of the tests has."""


@contextmanager
def slow_output(broker, rate):
    """Let clients of librdkafka write this many bytes a second."""
    _change(broker, "--add-config", f"producer_byte_rate={rate}")
    try:
        yield
    finally:
        _change(broker, "--delete-config", "producer_byte_rate")


def _change(broker, *change):
    jars = jvm.jars_directory(f"kafka-{brokers.KAFKA_VERSION}", brokers.COORDINATES)
    command = [
        jvm.java(),
        "-XX:TieredStopAtLevel=1",
        "-cp",
        f"{jars}/*",
        "kafka.admin.ConfigCommand",
    ]
    command += ["--bootstrap-server", broker.bootstrap_servers, "--alter", *change]
    command += ["--entity-type", "clients", "--entity-name", SINK]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
