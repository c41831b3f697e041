"""The embedded broker: it starts, recovers from SIGKILL, and ends with its parent process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from free_ports import free_port
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from pipelines import DEADLINE_SECONDS, eventually, spawn

from streamreasoner.errors import BrokerError, EnvironmentSetupError
from streamreasoner.io.kafka import broker as kafka_broker
from streamreasoner.io.kafka.broker import Broker

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def test_a_killed_broker_comes_back_with_its_data(tmp_path):
    """After SIGKILL a start on the same ports continues the same topics."""
    with Broker(tmp_path) as broker:
        address = broker.bootstrap_servers
        admin = KafkaAdminClient(bootstrap_servers=address)
        admin.create_topics({"t": {"num_partitions": 1, "replication_factor": 1}})
        admin.close()
        producer = KafkaProducer(bootstrap_servers=address)
        producer.send("t", b"before").get(DEADLINE_SECONDS)
        producer.close()
        broker.kill()
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", int(address.split(":")[1])))
        broker.start()
        assert broker.bootstrap_servers == address
        consumer = KafkaConsumer("t", bootstrap_servers=address, auto_offset_reset="earliest")
        assert next(consumer).value == b"before"
        consumer.close()
    assert (tmp_path / "data" / "meta.properties").exists()


def test_a_broker_that_cannot_start_reports_why(tmp_path):
    """The message ends with Kafka's own error."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=7\n")
    with pytest.raises(BrokerError, match=r"exited during start-up(.|\n)*node id"):
        Broker(tmp_path).start()


def test_the_broker_dies_with_a_killed_starter(tmp_path):
    """SIGKILL of the parent process ends the broker."""
    code = f"""
import os, sys
from pathlib import Path
from streamreasoner.io.kafka.broker import Broker
broker = Broker(Path({str(tmp_path)!r}))
broker.start()
print(broker.pid, flush=True)
sys.stdin.read()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as starter:
        broker = int(starter.stdout.readline())
        os.kill(broker, 0)
        starter.send_signal(signal.SIGKILL)
        starter.wait()
    eventually(lambda: is_running(broker), expected=False)


def is_running(pid):
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_command_keeps_topics_across_restarts(tmp_path):
    """`broker` prints its address, exits with 0 on a signal, and keeps its topics."""
    port = free_port()
    command = ["-m", "streamreasoner", "broker", "--directory", tmp_path / "kafka"]
    command += ["--port", str(port)]
    for number, topics in enumerate((set(), {"t"})):
        with spawn(command, subprocess.PIPE) as process:
            line = process.stdout.readline().decode()
            assert line.startswith(f"Kafka listens on 127.0.0.1:{port}."), line
            admin = KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{port}")
            assert {topic for topic in admin.list_topics() if not topic.startswith("__")} == topics
            if not topics:
                admin.create_topics({"t": {"num_partitions": 1, "replication_factor": 1}})
            admin.close()
            process.send_signal((signal.SIGTERM, signal.SIGINT)[number])
            assert process.wait(DEADLINE_SECONDS) == 0


def test_the_command_ends_with_its_broker(tmp_path):
    """A broker that was killed is named, and nothing waits for it."""
    command = ["-m", "streamreasoner", "broker", "--directory", tmp_path / "kafka"]
    command += ["--port", str(free_port())]
    with spawn(command, subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"Kafka listens on")
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            if "java" in Path(f"/proc/{child}/comm").read_text():
                os.kill(int(child), signal.SIGKILL)
        _, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 1
    assert b"The broker has ended with exit code -9" in errors


def test_a_port_that_is_taken_is_named(tmp_path):
    """The message names the remedy; nothing is started."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        with pytest.raises(EnvironmentSetupError, match=rf"Port {port} cannot be used"):
            Broker(tmp_path, port=port).start()


def test_the_ports_are_free_and_differ(tmp_path, monkeypatch):
    """No port of another process is chosen, nor the same one twice; no directory is left behind."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        ports = taken.getsockname()[1], free_port(), free_port()
        monkeypatch.setattr(kafka_broker, "_PORTS", ports)
        for directory, given in ((None, None), (tmp_path, ports[1])):
            with Broker(directory, port=given) as broker:
                assert int(broker.bootstrap_servers.split(":")[1]) in ports[1:]
                assert broker.log_file.exists()
                place = broker.directory
            assert place.exists() == (directory is not None)


@pytest.mark.skipif(not RANGE.exists(), reason=f"{RANGE} is only on Linux")
def test_no_outgoing_connection_takes_the_port_of_a_killed_broker(broker):
    """The system does not give it to one, so that the broker can start there again."""
    assert int(broker.bootstrap_servers.split(":")[1]) < int(RANGE.read_text().split()[0])
