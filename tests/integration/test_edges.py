"""What the machine takes away from a pipeline is named, and nothing is lost."""

from __future__ import annotations

import shutil

import pytest
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    fact,
    net,
    new_case,
    produce,
    running,
    terminate,
)
from spark_jvm import joined

from streamreasoner.errors import StartError
from streamreasoner.service.assemble import pipeline
from streamreasoner.state import version

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"
RUN = ("-m", "streamreasoner", "run", "--config")


def test_what_a_machine_takes_away_is_named(broker, spark_environment, tmp_path, monkeypatch):
    """Temporary files that are removed are named; a newer state is refused without a broker."""
    case = new_case(broker, tmp_path, RULES)
    with running([*RUN, case.file], case) as process:
        await_published(case, produce(case, [fact("edge", "<urn:a>", "<urn:b>")]))
        shutil.rmtree(tmp_path / "state" / "tmp")
        sent = produce(case, [fact("edge", f"<urn:{n}>", "<urn:b>") for n in range(20_000)])
        assert process.wait(DEADLINE_SECONDS) == 1
    log = (tmp_path / "driver.log").read_text()
    assert "tmp has been removed while Spark had its temporary files there" in log
    with joined(spark_environment), running([*RUN, case.file], case) as process:
        await_published(case, sent)
        assert terminate(process) == 0
    assert len(net(changes(case))) == 20_001

    case.raw["kafka"]["bootstrap_servers"] = "127.0.0.1:1"
    monkeypatch.setattr(version, "FORMAT", version.FORMAT - 1)
    with (
        pytest.raises(StartError, match=r"this release reads format .* at least as new"),
        pipeline(case.config),
    ):
        pass
