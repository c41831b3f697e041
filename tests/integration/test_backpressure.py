"""More input than the pipeline can take: batches follow the target, and memory stays bounded."""

from __future__ import annotations

import random
from types import SimpleNamespace

from graphs import RULES, expected, random_edges
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
    triple,
)
from spark_jvm import MARKS

from streamreasoner.io.observer import PipelineObserver
from streamreasoner.io.spark.internals.read_limit import ReadLimit
from streamreasoner.service import assemble

pytestmark = MARKS

SEEN = "seen(?x) :- at(?x) .\n"


class Batches(PipelineObserver):
    """Records messages, bytes, seconds and the next limit of each batch."""

    def __init__(self):
        self.all, self.rows, self.size, self.limit = [], 0, 0, 0

    def batch_started(self, epoch, rows):
        """Remember the messages."""
        del epoch
        self.rows = rows

    def paced(self, size, limit):
        """Remember bytes and limit."""
        self.size, self.limit = size, limit

    def batch_finished(self, epoch, seconds):
        """Record the batch."""
        del epoch
        self.all.append((self.rows, self.size, seconds, self.limit))


def padded(count, size, first=0):
    """Messages of different facts, of this many bytes."""
    return [fact("at", f"<urn:{first + number}>").ljust(size) for number in range(count)]


def test_a_burst_is_cut_into_batches_that_grow(broker, tmp_path):
    """The first batch is small, none exceeds the limit that was set before, and all is exact."""
    case = new_case(
        broker,
        tmp_path,
        RULES,
        pipeline={"max_batch_bytes": 20_000, "max_message_bytes": 2_000, "max_term_bytes": 1_000},
    )
    edges = list(random_edges(random.Random(1), 600))
    records = produce(case, (triple(*args, diff=diff) for args, diff in edges))
    batches = Batches()
    with assemble.pipeline(case.config, batches):
        await_published(case, records)
    rows = [each[0] for each in batches.all]
    limits = [10, *(each[3] for each in batches.all)]
    assert rows[0] == 10
    assert len(set(limits)) > 1
    assert all(each <= limit for each, limit in zip(rows, limits, strict=False))
    assert all(size <= 20_000 for _, size, _, _ in batches.all)
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(edges)


def test_a_batch_that_does_not_fit_is_planned_anew(broker, tmp_path):
    """After short messages a batch of long ones exceeds all bounds: it is cut, and all is exact."""
    options = {
        "max_batch_bytes": 1 << 20,
        "max_message_bytes": 100_000,
        "target_batch_time": 3_600,  # only bytes bound the batches
    }
    case = new_case(broker, tmp_path, SEEN, partitions=1, pipeline=options)
    # Batches of 10, 40 and 160 short messages; then as many as 640 may follow.
    records = produce(case, [*padded(400, 60), *padded(300, 100_000, 400)])
    with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
        await_published(case, records, process)
        assert terminate(process) == 0
    log = (tmp_path / "driver.log").read_text()
    cut = log.count("does not fit memory")
    assert cut > 0
    assert log.count("which the last run did not finish, is larger than") == cut
    assert "Traceback" not in log
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == {("seen", (f"<urn:{number}>",)) for number in range(700)}


def test_a_spark_without_the_limit_keeps_the_first_one(spark, caplog):
    """One warning says that batches stay small, and what makes them larger."""
    limit = ReadLimit(spark, 149)
    other = SimpleNamespace(_jsq=spark._jvm.java.util.ArrayList())  # noqa: SLF001 - a real Java object
    for messages in (298, 596):
        limit.set(other, messages)
        assert limit.messages == 149
    (warning,) = caplog.messages
    assert "at most 149 messages" in warning
    assert "pipeline.max_message_bytes" in warning
