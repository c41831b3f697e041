"""The registry of formats, and a format whose messages hold three updates each."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from streamreasoner.format_names import FORMATS
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats import registry
from streamreasoner.io.formats.reading.format import Format, UpdateRows
from streamreasoner.io.formats.reading.timestamps import EventTimes
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import to_ntriples

THREE = Format("three", (".three",), ("text/three",), __name__)
JSON_ONLY = InputOptions(max_message_bytes=1000, max_term_bytes=1000, formats=(registry.JSON,))
THREE_ONLY = replace(JSON_ONLY, default=THREE, formats=(THREE,))
ARITIES = {"edge": 2, "flag": 0}
GOOD = ["edge", ["<http://e/a>", 1], 1, None]
FLAG = ["flag", [], -2, 5]
OTHER = ["triple", ["<http://e/a>", "<http://e/p>", '"x"'], 3, "2026-01-01T00:00:00Z"]
BAD = [
    ["edge", ["<http://e/new>"], 1, None],
    ["edge", ["<http://e/new>", "x"], 1, None],
    ["edge", ['"a\0"', "<http://e/new>"], 1, None],
    ["flag", [], 0, None],
    ["flag", [], 1, "today"],
    ["none", [], 1, None],
    ["triple", [1, "<http://e/p>", 1], 1, None],
]
UPDATES = st.sampled_from([GOOD, FLAG, OTHER]) | st.sampled_from(BAD)
MESSAGES = st.lists(st.tuples(UPDATES, UPDATES, UPDATES) | st.just(()), max_size=6)


def read_messages(messages, dictionary, rejected):
    """Messages of three updates: predicate, arguments, multiplicity and time."""
    del dictionary
    groups = {}
    for row, value in zip(messages.rows.tolist(), messages.values(), strict=True):
        updates = json.loads(value)
        if len(updates) != 3:
            rejected[row] = RejectedError(Reason.WRONG_TYPE, "There are not three updates.")
        for number, (predicate, args, diff, ts) in enumerate(updates, start=1):
            groups.setdefault((predicate, len(args)), []).append((row, args, diff, ts, number))
    for (predicate, _), group in sorted(groups.items()):
        rows, args, diff, ts, numbers = zip(*group, strict=True)
        texts = [
            [arg if isinstance(arg, str) else to_ntriples(arg) for arg in each] for each in args
        ]
        yield UpdateRows(
            predicate,
            np.array(rows),
            [*zip(*texts, strict=True)],
            np.array(diff),
            EventTimes.of(ts),
            "Part",
            np.array(numbers),
        )


def table(values, content_type=None):
    """A batch as the source returns it."""
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = content_type and [{"key": "content-type", "value": content_type}]
    return pa.table(
        {
            "value": pa.array([json.dumps(value).encode() for value in values], pa.binary()),
            "timestamp": pa.array([datetime(2026, 3, 1, tzinfo=UTC)] * len(values)),
            "headers": pa.array([headers] * len(values), header),
        },
        schema=pa.schema(
            {"value": pa.binary(), "timestamp": pa.timestamp("us", "UTC"), "headers": header}
        ),
    )


def updates_of(decoded, dictionary):
    """Updates with terms and event times, in no order."""
    return Counter(
        (one.predicate, tuple(dictionary.decode(args).to_pylist()), int(diff), int(ts))
        for one in decoded.updates
        for args, diff, ts in zip(one.args, one.multiplicity, one.times, strict=True)
    )


@cache
def alone(text):
    """What the codec makes of an update that is a message of its own: updates, and a reason."""
    dictionary = Dictionary()
    fields = dict(zip(("predicate", "args", "diff", "ts"), json.loads(text), strict=True))
    decoded = Codec(dictionary, ARITIES, JSON_ONLY).decode(table([fields]))
    return updates_of(decoded, dictionary), [(one.reason, one.detail) for one in decoded.rejected]


@given(MESSAGES)
@example([(GOOD, FLAG, bad) for bad in BAD])
@example([(OTHER, bad, GOOD) for bad in BAD])
def test_a_message_of_many_updates_is_taken_or_rejected_as_a_whole(messages):
    """It gives what its updates give as messages; a bad one rejects it, with its place."""
    dictionary = Dictionary()
    decoded = Codec(dictionary, ARITIES, THREE_ONLY).decode(table(messages, b"Text/Three; v=1"))
    rejected = {one.row: (one.reason, one.detail) for one in decoded.rejected}
    expected = Counter()
    for row, message in enumerate(messages):
        results = [alone(json.dumps(update)) for update in message]
        reasons = [
            (reason, f"Part {number}: {detail}")
            for number, (_, refused) in enumerate(results, start=1)
            for reason, detail in refused
        ]
        if message and not reasons:
            assert row not in rejected
            expected += sum((updates for updates, _ in results), Counter())
        else:
            assert rejected[row] in (
                reasons or [(Reason.WRONG_TYPE, "There are not three updates.")]
            )
    assert updates_of(decoded, dictionary) == expected


def test_messages_of_another_format_are_rejected():
    """The content type has to be that of a format that is read."""
    three, json_ = (Codec(Dictionary(), ARITIES, each) for each in (THREE_ONLY, JSON_ONLY))
    [one] = three.decode(table([[GOOD] * 3], b"application/json")).rejected
    [two] = json_.decode(table([[GOOD] * 3], b"text/three")).rejected
    assert one.detail == "The content type is 'application/json'; it must be one of text/three."
    assert two.detail == "The content type is 'text/three'; it must be one of application/json."


def test_a_name_belongs_to_one_format():
    """Names, suffixes and content types select a format, so no two formats share one."""
    formats = {*registry.DOCUMENTS, *registry.MESSAGES}
    for names in (
        [each.name for each in formats],
        [name for each in formats for name in each.content_types],
        [suffix for each in formats for suffix in each.suffixes],
    ):
        assert len(names) == len({*names}) > 0


def test_the_configuration_knows_the_formats_of_messages():
    """`input.format` takes the names of the registry."""
    assert [each.name for each in registry.MESSAGES] == [*FORMATS]
    assert [registry.of_name(name) for name in FORMATS] == [*registry.MESSAGES]
