"""SIGKILL of a pipeline while another process stands by: it goes on, and output is exactly-once."""

from __future__ import annotations

import random
from contextlib import ExitStack
from functools import partial

from crashes import changing, check_output
from graphs import RULES
from leaders import Process
from pipelines import await_publication, await_published, new_case, terminate
from thorough import THOROUGH

TAKEOVERS = 100 if THOROUGH else 1


def test_another_process_takes_over(broker, tmp_path):
    """Whenever it is killed, the one that stands by goes on; nothing is lost or published twice."""
    case, rng = new_case(broker, tmp_path, RULES), random.Random(4)
    with ExitStack() as stack:
        start = partial(Process.started, case, stack)
        with changing(case, rng) as (sent, records):
            leader = start()
            leader.await_ready("ok: the query is running")
            for _ in range(TAKEOVERS):
                standby = start()
                standby.await_ready(f"standing by for process {leader.running.pid}, at epoch ")
                assert standby.get("/healthz").startswith("ok: standing by")
                assert "\nstreamreasoner_standby 1.0" in standby.get("/metrics")
                # The moment of the kill is random; nothing waits for it.
                leader.pause(rng.uniform(0.0, 1.5))
                leader.end()
                leader = standby
                await_publication(case, leader.running)
                leader.await_ready("ok: the query is running")
                assert "\nstreamreasoner_standby 0.0" in leader.get("/metrics")
        standby = start()
        standby.await_ready("standing by")
        await_published(case, records, leader.running)
        assert terminate(standby.running) == 0
        assert terminate(leader.running) == 0
    assert "A term has another id" not in (case.directory / "driver.log").read_text()
    check_output(case, sent)
