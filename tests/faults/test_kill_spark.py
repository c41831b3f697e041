"""SIGKILL of Spark's JVM: the driver exits with one message, and a restart continues."""

from __future__ import annotations

import random

import psutil
from graphs import RULES, expected, random_edges
from pipelines import (
    DEADLINE_SECONDS,
    await_publication,
    await_published,
    changes,
    net,
    new_case,
    no_change_twice,
    produce,
    spawn,
    terminate,
    triple,
)
from spark_jvm import joined


def test_the_driver_reports_that_spark_is_gone(broker, spark_environment, tmp_path):
    """Exit code 1, one line with the remedy, no traceback; a restart loses nothing."""
    case = new_case(broker, tmp_path, RULES)
    sent = list(random_edges(random.Random(5), 60))
    records = produce(case, (triple(*args, diff=diff) for args, diff in sent[:30]))
    run = ["-m", "streamreasoner", "run", "--config", case.file]
    log = case.directory / "driver.log"
    with log.open("wb") as output:
        driver = spawn(run, output)
        await_publication(case, driver)
        for child in psutil.Process(driver.pid).children(recursive=True):
            if "java" in child.name():
                child.kill()
        code = driver.wait(DEADLINE_SECONDS)
    messages = [line for line in log.read_text().splitlines() if line.startswith("error: ")]

    assert code == 1
    assert len(messages) == 1
    assert "Spark's Java process has died" in messages[0]
    assert "Traceback" not in log.read_text()

    records += produce(case, (triple(*args, diff=diff) for args, diff in sent[30:]))
    with joined(spark_environment), log.open("ab") as output:
        driver = spawn(run, output)
        await_published(case, records)

        assert terminate(driver) == 0
    output = changes(case)

    assert no_change_twice(output)
    assert net(output) == expected(sent)
