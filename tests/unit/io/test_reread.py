"""The client that reads what Spark cannot read gives the same columns."""

from __future__ import annotations

import pytest

from streamreasoner import config
from streamreasoner.io.kafka.reread import reread
from streamreasoner.io.spark.source import COLUMNS


@pytest.fixture
def kafka(tmp_path):
    """A cluster that does not answer."""
    raw = {
        "kafka": {"bootstrap_servers": "127.0.0.1:1", "input_topics": ["in"], "output_topic": "o"},
        "rules": {"program": "rho-df"},
        "state": {"directory": "state"},
    }
    return config.parse(raw, {}, tmp_path).kafka


def test_a_range_without_messages_has_the_columns_of_the_source(kafka):
    """Nothing is asked of Kafka for an empty range, and the batch fits the pipeline."""
    batch = reread(kafka, "group", {"in": {"0": [5, 5], "1": [0, 0]}})

    assert tuple(batch.column_names) == COLUMNS
    assert len(batch) == 0
