"""Two pods with one state in an object store: the one that is overtaken changes nothing more."""

from __future__ import annotations

import random
import shutil
import signal
from dataclasses import replace

from crashes import DRIVER
from graphs import RULES, expected, random_edges
from object_store import object_store
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    eventually,
    net,
    new_case,
    no_change_twice,
    produce,
    running,
    terminate,
    triple,
)


def test_a_pod_that_is_overtaken_changes_nothing(broker, tmp_path):
    """It stalls before it uploads an epoch; another one, on an empty disk, takes over meanwhile."""
    with object_store() as store:
        case = new_case(
            broker,
            tmp_path,
            RULES,
            pipeline={"max_offsets_per_trigger": 10},
            state={"object_store": store.folder()},
        )
        other = replace(case, directory=tmp_path / "other")
        other.directory.mkdir()
        shutil.copy(case.directory / "rules.dl", other.directory)
        sent = list(random_edges(random.Random(2), 100))
        records = produce(case, (triple(*args, diff=diff) for args, diff in sent))
        log = case.directory / "driver.log"
        with running([DRIVER, case.file, "stall", 3], case) as first:
            eventually(lambda: log.exists() and "STALLED" in log.read_text(), expected=True)
            with running(["-m", "streamreasoner", "run", "--config", other.file], other) as second:
                await_published(other, records, second)
                first.send_signal(signal.SIGCONT)
                assert first.wait(DEADLINE_SECONDS) == 1
                assert terminate(second) == 0
        assert "Another process has written to the state" in log.read_text()
        output = changes(case)
        assert no_change_twice(output)
        assert net(output) == expected(sent)
