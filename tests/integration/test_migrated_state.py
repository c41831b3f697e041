"""A migrated state continues on real Kafka and Spark where the earlier release stopped."""

from __future__ import annotations

import json
import tarfile

import pytest
from oracle import derived, evaluate, total
from pipelines import await_published, changes, fact, net, produce
from states.test_versions import ARCHIVE
from states.write_state import ADDED, CONTROL, RULES, configuration, updates
from typer.testing import CliRunner

from streamreasoner.analysis import check_text
from streamreasoner.app import pipeline
from streamreasoner.cli import app
from streamreasoner.streaming.topics import create_topics

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("joined_jvm"),
]


def restore_topics(case, record):
    """Topics as the earlier release left them; its messages have the same offsets."""
    create_topics(case.kafka, 1, 1, CONTROL)
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


def test_a_migrated_pipeline_continues(broker, tmp_path):
    """Refused, migrated, started: retractions of what the earlier release derived are exact."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    case = configuration(broker.bootstrap_servers, tmp_path)
    restore_topics(case, json.loads((tmp_path / "record.json").read_text()))
    before = net(changes(case))

    with pytest.raises(Exception, match="streamreasoner migrate"), pipeline(case.config):
        pass
    said = CliRunner().invoke(app, ["migrate", "--config", str(case.file)])
    assert "from format 0 to 1" in said.output
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
