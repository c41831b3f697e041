"""The clock of the machine jumps by hours, back and forth: nothing stops or expires early.

`clock.c` makes the clock of the driver wrong, and in the thorough profile that of its JVM, while
the broker has the right one. Without a C compiler it is the clock that Python asks for.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from crashes import DRIVER
from graphs import RULES, expected, random_edges
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    committed,
    eventually,
    fact,
    net,
    new_case,
    no_change_twice,
    produce,
    recreate,
    running,
    terminate,
    triple,
)
from thorough import THOROUGH

HOUR = 3_600
JUMPS = (0, 5, -7, 26, 0, -3, 1) if THOROUGH else (0, 5, -7, 0)
PRESENCE = """
@expires seen/2 after "PT15M" .
occupied(?room) :- seen(_, ?room) .
"""
ANN, HALL = "<http://example.org/ann>", "<http://example.org/hall>"


def ticks(case):
    """The ticks so far."""
    return committed(case, case.config.rules.control_topic)


@pytest.fixture
def wrong_clock(request, tmp_path, monkeypatch):
    """The file that says how many seconds the clock of a driver is wrong, and its point."""
    if not THOROUGH:
        request.getfixturevalue("joined_jvm")
    clock, library = tmp_path / "clock", tmp_path / "clock.so"
    clock.write_text("0")
    monkeypatch.setenv("WRONG_CLOCK", str(clock))
    if (compiler := shutil.which("cc")) is None:
        return clock, "clock"
    source = Path(__file__).with_name("clock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    return clock, "none"


@pytest.mark.skipif(not THOROUGH, reason="a refusal alone; part of `make test-thorough`")
def test_a_wrong_clock_is_named(broker, tmp_path, wrong_clock):
    """Topics with the times of producers refuse what the pipeline publishes, and it says why."""
    clock, point = wrong_clock
    case = new_case(broker, tmp_path, RULES, partitions=1)
    recreate(case, case.kafka.output_topic)
    recreate(case, case.kafka.progress_topic)
    if point != "none":
        pytest.skip("needs a C compiler: the clock of Python stamps no message")
    [(args, _)] = random_edges(random.Random(8), 1)
    with running([DRIVER, case.file, point, 0], case) as process:
        await_published(case, produce(case, [triple(*args, diff=1)]))
        clock.write_text(str(5 * HOUR))
        produce(case, [triple(*reversed(args), diff=1)])
        assert process.wait(DEADLINE_SECONDS) == 1
    assert "clock of this machine is an hour or more ahead" in (tmp_path / "driver.log").read_text()


def test_the_clock_jumps(broker, tmp_path, wrong_clock):
    """Input after each jump is published once, ticks go on, and what is present stays so."""
    rng, (clock, point) = random.Random(8), wrong_clock
    case = new_case(
        broker,
        tmp_path,
        RULES + PRESENCE,
        rules={"control_topic": f"control-{uuid.uuid4().hex[:12]}"},
        time={"idle_advance": "PT1S"},
    )
    sent = []
    with running([DRIVER, case.file, point, 0], case) as process:
        now = int(time.time() * 1000)
        await_published(case, produce(case, [fact("seen", ANN, HALL, ts=now)]))
        for hours in JUMPS:
            clock.write_text(str(hours * HOUR))
            edges = list(random_edges(rng, 20))
            records = produce(case, (triple(*args, diff=diff) for args, diff in edges))
            await_published(case, records)
            sent += edges
            before = len(ticks(case))
            eventually(lambda: len(ticks(case)) > before, expected=True)  # noqa: B023
        assert process.poll() is None
        assert terminate(process) == 0
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(sent) | {("occupied", (HALL,))}
