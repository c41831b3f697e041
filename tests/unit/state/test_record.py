"""The stored forms of an epoch's record, as text: other releases read and write them too."""

from __future__ import annotations

import json

import pytest

from streamreasoner.state.record import (
    EpochRecord,
    SlotRecord,
    TableRecord,
)
from streamreasoner.state.version import StateVersion

OFFSETS = {"control": {"0": [0, 1]}, "in": {"0": [0, 12], "1": [3, 3]}}

MARKER = (
    b'{"batch":7,"offsets":{"control":{"0":[0,1]},"in":{"0":[0,12],"1":[3,3]}},'
    b'"program_hash":"4ff5","format":1,"semantics":2}'
)
FIRST_MARKER = MARKER.replace(b',"format":1,"semantics":2', b"")

FIRST_EPOCH = (
    '{"epoch": 0, "previous": null, "latest": {}, "offsets": {"in": {"0": [0, 12]}}, '
    '"program": null}'
)
CHANGED_PROGRAM = (
    '{"epoch": 7, "previous": 5, "latest": {"terms": 3, "programs": 7}, '
    '"offsets": {"control": {"0": [0, 1]}, "in": {"0": [0, 12], "1": [3, 3]}}, "program": "4ff5"}'
)
UNSEALED = CHANGED_PROGRAM.replace(
    '"latest": {"terms": 3, "programs": 7}', '"requires": ["changes", "programs"]'
)


def test_a_marker_is_that_of_all_releases_with_version_numbers():
    """Its text is read, and written again, byte for byte."""
    record = EpochRecord(7, OFFSETS, "4ff5", 1, 2)

    assert EpochRecord.from_marker(MARKER) == record
    assert record.to_marker() == MARKER
    assert record.version == StateVersion(1, 2)


def test_a_marker_of_a_topic_of_facts_has_its_partitions():
    """They are all that it adds."""
    record = EpochRecord(7, OFFSETS, "4ff5", 1, 2, layout=3)

    assert record.to_marker() == MARKER.removesuffix(b"}") + b',"layout":3}'
    assert EpochRecord.from_marker(record.to_marker()) == record


def test_records_of_slots_have_watermarks():
    """They are all that slots of event time add, in a marker and in a table."""
    slots = SlotRecord(1000, {"in": {"0": 7}})
    added = '"slots": {"granularity": 1000, "watermarks": {"in": {"0": 7}}}}'
    marker = EpochRecord(7, OFFSETS, "4ff5", 1, 2, slots=slots)
    table = TableRecord(7, 5, {"terms": 3, "programs": 7}, OFFSETS, "4ff5", slots=slots)

    assert marker.to_marker() == MARKER.removesuffix(b"}") + f", {added}".replace(" ", "").encode()
    assert EpochRecord.from_marker(marker.to_marker()) == marker
    assert table.to_json() == CHANGED_PROGRAM.removesuffix("}") + f", {added}"
    assert TableRecord.from_json(table.to_json()) == table


def test_a_marker_without_version_numbers_has_the_oldest():
    """The first releases wrote none."""
    record = EpochRecord.from_marker(FIRST_MARKER)

    assert record == EpochRecord(7, OFFSETS, "4ff5", 0, 1)
    assert record.version == StateVersion()


@pytest.mark.parametrize(
    ("text", "record"),
    [
        (FIRST_EPOCH, TableRecord(0, None, {}, {"in": {"0": [0, 12]}}, None)),
        (CHANGED_PROGRAM, TableRecord(7, 5, {"terms": 3, "programs": 7}, OFFSETS, "4ff5")),
    ],
    ids=["first epoch", "changed program"],
)
def test_a_tables_record_is_that_of_all_releases_with_seals(text, record):
    """Its text is read, and written again, byte for byte."""
    assert TableRecord.from_json(text) == record
    assert record.to_json() == text


def test_a_record_of_an_unsealed_commit_names_the_tables_of_its_epoch():
    """The first releases named only the tables with rows of the epoch itself."""
    latest = {"changes": 7, "programs": 7}

    assert TableRecord.from_json(UNSEALED) == TableRecord(7, 5, latest, OFFSETS, "4ff5")


def test_keys_of_later_releases_are_ignored():
    """A later release may add a key without raising the format."""
    later = {"time": 1767225600000}
    marker = json.dumps({**json.loads(MARKER), **later}).encode()
    text = json.dumps({**json.loads(CHANGED_PROGRAM), **later})

    assert EpochRecord.from_marker(marker) == EpochRecord.from_marker(MARKER)
    assert TableRecord.from_json(text) == TableRecord.from_json(CHANGED_PROGRAM)
