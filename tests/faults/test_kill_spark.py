"""Spark's JVM ends: the driver starts it again once, then exits with one message."""

from __future__ import annotations

import random

import psutil
from graphs import RULES, expected, random_edges
from kafka import KafkaProducer
from pipelines import (
    DEADLINE_SECONDS,
    await_publication,
    await_published,
    changes,
    fact,
    net,
    new_case,
    no_change_twice,
    produce,
    spawn,
    terminate,
    triple,
)
from spark_jvm import PATIENT, joined

AGAIN = "Starting it again, to take at most"


def test_the_driver_starts_spark_again_once(broker, spark_environment, tmp_path):
    """Then exit code 1, one line with the remedy, no traceback; a restart loses nothing."""
    case = new_case(broker, tmp_path, RULES)
    sent = list(random_edges(random.Random(5), 60))
    messages = [triple(*args, diff=diff) for args, diff in sent]
    records = produce(case, messages[:20])
    run = ["-m", "streamreasoner", "run", "--config", case.file]
    log = case.directory / "driver.log"
    with log.open("wb") as output:
        driver = spawn(run, output)
        await_publication(case, driver)
        kill_java(driver)
        records += produce(case, messages[20:40])
        await_published(case, records, driver)
        kill_java(driver)
        code = driver.wait(DEADLINE_SECONDS)
    text = log.read_text()
    errors = [line for line in text.splitlines() if line.startswith("error: ")]

    assert code == 1
    assert text.count(AGAIN) == 1
    assert len(errors) == 1
    assert "Spark's Java process has died" in errors[0]
    assert "Traceback" not in text

    records += produce(case, messages[40:])
    with joined(spark_environment), log.open("ab") as output:
        driver = spawn(run, output)
        await_published(case, records, driver)

        assert terminate(driver) == 0
    output = changes(case)

    assert no_change_twice(output)
    assert net(output) == expected(sent)


def test_messages_that_do_not_fit_memory_decompressed_are_read_in_small_parts(broker, tmp_path):
    """Kafka's client bounds what it fetches only as it is compressed: 450 MB in 1 MB here."""
    size, count = 900_000, 500
    case = new_case(
        broker,
        tmp_path,
        "seen(?x) :- at(?x) .\n",
        partitions=2,
        pipeline={"max_batch_bytes": 32 << 20},
        spark={"options": {**PATIENT, "spark.driver.memory": "480m"}},
    )
    producer = KafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, compression_type="gzip", linger_ms=0
    )
    topic = case.kafka.input_topics[0]
    sent = [
        producer.send(topic, fact("at", f"<urn:{number}>").ljust(size), partition=number % 2)
        for number in range(count)
    ]
    records = [each.get(DEADLINE_SECONDS) for each in sent]
    producer.close()
    log = tmp_path / "driver.log"
    with log.open("wb") as output:
        driver = spawn(["-m", "streamreasoner", "run", "--config", case.file], output)
        await_published(case, records, driver)

        assert terminate(driver) == 0
    assert log.read_text().count(AGAIN) == 1
    output = changes(case)

    assert no_change_twice(output)
    assert net(output) == {("seen", (f"<urn:{number}>",)) for number in range(count)}


def kill_java(driver):
    """Kill the JVM of a driver."""
    for child in psutil.Process(driver.pid).children(recursive=True):
        if "java" in child.name():
            child.kill()
