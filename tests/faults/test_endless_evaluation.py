"""A message whose evaluation does not end: real processes hang on it, or are killed, and go on."""

from __future__ import annotations

import signal
import time

import pytest
from counting import RULES, expected
from pipelines import (
    DEADLINE_SECONDS,
    changes,
    committed,
    fact,
    net,
    new_case,
    no_change_twice,
    produce,
    published,
    running,
    terminate,
)
from thorough import THOROUGH

from streamreasoner.io.spark.watchdog import EXIT_CODE

ENDLESS = 10**9
GOOD = (1, 2, 3)
PATIENCE_SECONDS = 15
REFUSED = 1


def times_ready(case):
    """How many of the processes so far were ready to evaluate, by their log."""
    return (case.directory / "driver.log").read_text().count(" Reading ")


def run_once(case, ends, kill):
    """Run a pipeline until it has published its input or ends; returns how it ended."""
    with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
        ready_before, ready_since = times_ready(case), None
        began = time.monotonic()
        while published(case) != ends and process.poll() is None:
            now = time.monotonic()
            assert now < began + DEADLINE_SECONDS
            if ready_since is None and times_ready(case) > ready_before:
                ready_since = now
            # A process that is killed earlier has not begun the batch, and blames no message.
            if kill and ready_since is not None and now > ready_since + PATIENCE_SECONDS:
                process.kill()
            time.sleep(0.5)
        return process.wait() if process.poll() is not None else terminate(process)


@pytest.mark.skipif(not THOROUGH, reason="takes minutes; part of `make test-thorough`")
@pytest.mark.parametrize("kill", [False, True], ids=["hangs", "is killed"])
def test_a_message_that_ends_every_process(broker, tmp_path, kill):
    """It goes to the dead-letter topic after a few restarts, and all others are processed."""
    case = new_case(
        broker,
        tmp_path,
        RULES,
        partitions=1,
        rules={"recursion_limit": 2 * ENDLESS},
        pipeline={"batch_timeout": 600 if kill else PATIENCE_SECONDS},
    )
    records = produce(case, [fact("ask", number) for number in (*GOOD[:2], ENDLESS, *GOOD[2:])])

    codes = []
    while 0 not in codes:
        codes.append(run_once(case, {0: len(records)}, kill))
        assert len(codes) < 20
        if codes[-1] == REFUSED and not kill:
            # On a busy machine even an epoch without messages may take longer. Do as it is advised.
            assert "a larger pipeline.batch_timeout" in (case.directory / "driver.log").read_text()
            case.raw["pipeline"]["batch_timeout"] *= 2

    ended = {-signal.SIGKILL} if kill else {EXIT_CODE, REFUSED}
    assert ended & {*codes}
    assert {*codes} <= ended | {0}
    [letter] = committed(case, case.kafka.dead_letter_topic)
    assert letter.value == fact("ask", ENDLESS)
    assert dict(letter.headers)["class"] == b"epoch-failed"
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(GOOD)
