"""Other threads read the lag at any time."""

from __future__ import annotations

from pathlib import Path

from streamreasoner.config import parse
from streamreasoner.io.kafka.lag import Lag


def test_a_closed_lag_sends_no_request():
    """A scrape during shutdown returns nothing and does not read the position."""
    raw = {
        "kafka": {
            "bootstrap_servers": "127.0.0.1:1",
            "input_topics": ["in"],
            "output_topic": "out",
        },
        "rules": {"program": "rho-df"},
        "state": {"directory": "state"},
    }
    kafka = parse(raw, {}, Path("/")).kafka
    asked = []

    def position():
        asked.append(1)
        return {"in": {"0": [0, 1]}}

    lag = Lag(kafka, "app", position)
    assert lag() == {}
    lag.close()
    assert lag() == {}
    assert asked == [1]
