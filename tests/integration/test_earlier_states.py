"""A state of an earlier release continues on real Kafka and Spark where that release stopped."""

from __future__ import annotations

import json
import tarfile

import pytest
from oracle import derived, evaluate, total
from pipelines import await_published, changes, fact, net, produce
from states.write_state import ADDED, RULES, STATES, configuration, make_topics, updates
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.program import check_text
from streamreasoner.service.assemble import pipeline

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("joined_jvm"),
]


def unpack(archive, broker, directory, backend, app_id=None):
    """The pipeline of an archived state, on topics as the earlier release left them.

    Messages have the same offsets. The topics have other ids than those of the earlier broker, so
    the record of ids is dropped.
    """
    with tarfile.open(STATES / f"{archive}.tar.xz") as file:
        file.extractall(directory, filter="data")
    case = configuration(broker.bootstrap_servers, directory, app_id or archive, backend)
    case.config.state.topics.unlink(missing_ok=True)
    record = json.loads((directory / "record.json").read_text())
    make_topics(case)
    for topic, value in record["sent"]:
        produce(case, [value.encode()], topic)
    produce(
        case,
        [(value.encode(), None, key.encode()) for key, value in record["markers"]],
        case.kafka.progress_topic,
    )
    produce(
        case,
        [fact(name, *args, diff=diff, epoch=0) for name, args, diff in record["changes"]],
        case.kafka.output_topic,
    )
    return case


def continue_from(case):
    """Retract and add more; what was published, before and after, is what was derived."""
    before = net(changes(case))
    first, second = updates()
    more = [(*first[6][:-1], -1), (*first[-1][:-1], -1), ("start", '"d"', 1)]
    with pipeline(case.config):
        sent = produce(case, [fact(*args, diff=diff) for *args, diff in more])
        await_published(case, sent)

    epochs = [
        [(name, tuple(args), diff) for name, *args, diff in rows] for rows in (first, second, more)
    ]
    assert before == derived(evaluate(check_text(RULES + ADDED), total(epochs[:2])))
    assert net(changes(case)) == derived(evaluate(check_text(RULES + ADDED), total(epochs)))


def test_a_migrated_pipeline_continues(broker, tmp_path):
    """Refused, migrated, started: retractions of what the earlier release derived are exact."""
    case = unpack("66d5e30", broker, tmp_path, "columnar", "state")

    with pytest.raises(Exception, match="streamreasoner migrate"), pipeline(case.config):
        pass
    said = CliRunner().invoke(app, ["migrate", "--config", str(case.file)])
    assert "from format 0 to 2" in said.output
    continue_from(case)


def test_a_state_of_format_1_continues(broker, tmp_path):
    """Migrated, the state of a release without triple terms continues: retractions are exact."""
    continue_from(migrated(unpack("state-845dc16", broker, tmp_path, "columnar")))


def test_a_state_of_these_numbers_continues_as_it_is(broker, tmp_path):
    """A state of the last release with the same format and semantics needs no migration."""
    continue_from(unpack("state-7c4c301", broker, tmp_path, "columnar"))


@pytest.mark.parametrize("archive", ["state-7c4c301", "state-90df589", "state-845dc16"])
def test_a_state_that_spark_tables_had_is_in_memory(broker, tmp_path, archive):
    """The backend that kept it in tables of its own was removed: what it has left is deleted."""
    case = unpack(f"{archive}-spark", broker, tmp_path, "auto")
    if archive != "state-7c4c301":
        migrated(case)
    former, record = case.config.state.former_copies[0], case.config.state.directory / "backend"
    assert former.exists()
    assert record.read_text() == "spark"
    continue_from(case)

    assert not former.exists()
    assert record.read_text() == "columnar"


def migrated(case):
    """The pipeline after `streamreasoner migrate`, which a start asks for."""
    with pytest.raises(Exception, match="streamreasoner migrate"), pipeline(case.config):
        pass
    said = CliRunner().invoke(app, ["migrate", "--config", str(case.file)])
    assert "from format 1 to 2" in said.output
    return case
