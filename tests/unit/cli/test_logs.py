"""The log of a command: lines for people or for machines, from a level on."""

from __future__ import annotations

import json
import logging
import re

import pytest

from streamreasoner.config.process import LogConfig

LEVELS = ("debug", "info", "warning", "error")
MESSAGE = 'two\nlines, "quoted" and ünïcode'


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_and_those_above_it_are_logged(own_log, capsys, level):
    """To standard error, once however often it is configured; Kafka's client only for debugging."""
    for _ in range(2):
        own_log(LogConfig(level=level, format="json"))
    for name in ("streamreasoner.any", "streamreasoner.kafka", "other"):
        for each in LEVELS:
            logging.getLogger(name).log(logging.getLevelName(each.upper()), MESSAGE)
    captured = capsys.readouterr()
    entries = [json.loads(line) for line in captured.err.splitlines()]
    expected = [("streamreasoner.any", each) for each in LEVELS[LEVELS.index(level) :]]
    expected += [("streamreasoner.kafka", each) for each in LEVELS if level == "debug"]

    assert captured.out == ""
    assert [(entry["logger"], entry["level"]) for entry in entries] == expected
    assert {entry["message"] for entry in entries} == {MESSAGE}


@pytest.mark.parametrize("kind", ["text", "json"])
def test_an_entry_has_its_time_and_its_error(own_log, capsys, kind):
    """In UTC, to the millisecond; a machine reads one line, a person the whole traceback."""
    own_log(LogConfig(level="info", format=kind))
    error = ValueError(MESSAGE)
    logging.getLogger("streamreasoner.any").error("failed %s", 3, exc_info=error)
    text = capsys.readouterr().err
    if kind == "json":
        (line,) = text.splitlines()
        entry = json.loads(line)
        when, said, trace = entry["ts"], entry["message"], entry["exception"]
    else:
        line, _, trace = text.partition("\n")
        when, _, said = line.partition(" ERROR   ")

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", when)
    assert said == "failed 3"
    assert f"ValueError: {MESSAGE}" in trace
