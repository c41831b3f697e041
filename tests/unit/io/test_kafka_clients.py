"""Laws of the clients of Kafka: what they try again is not printed."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
from streamreasoner.io.kafka import clients
from confluent_kafka import Producer
import logging
import threading
failed = threading.Event()
producer = Producer({
    "bootstrap.servers": "127.0.0.1:1",
    "logger": logging.getLogger("streamreasoner.kafka"),
    "error_cb": lambda error: failed.set(),
})
while not failed.is_set():
    producer.poll(1)
"""


def test_a_broker_that_is_away_is_not_logged_to_the_terminal():
    """Commands without a log print their own message only, without librdkafka's lines."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )

    assert (done.stdout, done.stderr) == ("", "")
