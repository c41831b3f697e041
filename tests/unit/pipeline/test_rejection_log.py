"""Rejected messages are logged: the first of a class at once, then summaries."""

from __future__ import annotations

import logging

import numpy as np

from streamreasoner.pipeline.observers import RejectionLog

NONE = np.empty(0)


def logged(caplog, log, *batches):
    """The log messages while these batches are published."""
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        for rejected in batches:
            log.published(0, rejected, NONE)
    return [record.getMessage().partition(".")[0] for record in caplog.records]


def test_the_first_of_a_class_is_logged_at_once(caplog):
    """Further ones wait for a summary or for the next new class."""
    log = RejectionLog("dead", every=1e9)
    assert logged(caplog, log, {}, {"not-json": 2}) == ["Rejected: 2 not-json"]
    assert logged(caplog, log, {"not-json": 5}, {}, {"not-json": 1}) == []
    assert logged(caplog, log, {"unknown-rule": 1}) == ["Rejected: 6 not-json, 1 unknown-rule"]


def test_summaries_come_when_they_are_due(caplog):
    """Even with a batch that rejects nothing; there is none without rejections."""
    log = RejectionLog("dead", every=0)
    assert logged(caplog, log, {"not-json": 2}, {}, {"not-json": 1}) == [
        "Rejected: 2 not-json",
        "Rejected: 1 not-json",
    ]
    assert "consume --topic dead" in caplog.text
