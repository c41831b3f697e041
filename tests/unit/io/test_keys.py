"""Messages of topics with keys: what the engine gets of them, and what is rejected."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.rejected import Reason
from streamreasoner.plan.operands import Column, Pattern, Value
from streamreasoner.plan.program_plan import InputSources
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.vocabulary import XSD

APPENDED = datetime(2026, 3, 1, tzinfo=UTC)
MILLISECONDS = int(APPENDED.timestamp() * 1000)
ARITIES = {"edge": 2, "seen": 1, "triple": 3}
A, B = "<http://example.org/a>", "<http://example.org/b>"


def decoded(*rows, expiring=()):
    """A batch of (topic, key, value[, headers]), decoded; its dictionary."""
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = [
        [{"key": name, "value": value} for name, value in row[3]] if len(row) > 3 else None
        for row in rows
    ]
    batch = pa.table(
        {
            "topic": pa.array([row[0] for row in rows], pa.string()),
            "key": pa.array([row[1] for row in rows], pa.binary()),
            "value": pa.array([row[2] for row in rows], pa.binary()),
            "timestamp": pa.array([APPENDED] * len(rows), pa.timestamp("us", "UTC")),
            "headers": pa.array(headers, header),
        }
    )
    options = InputOptions(
        max_message_bytes=1000,
        max_term_bytes=100,
        sources=InputSources(("set",), ("keyed",)),
    )
    dictionary = Dictionary()
    return Codec(dictionary, ARITIES, options, (), expiring).decode(batch), dictionary


def values(*facts, diff=1):
    """A JSON value with facts of one or more predicates."""
    return json.dumps([{"predicate": name, "args": args, "diff": diff} for name, *args in facts])


def updates(result, dictionary):
    """Updates as (predicate, source, terms, message, part)."""
    return {
        (
            each.predicate,
            each.source,
            tuple(dictionary.decode(args).to_pylist()),
            order >> 32,
            order % 2**32,
        )
        for each in result.updates
        for args, order in zip(each.args, each.order.tolist(), strict=True)
    }


def test_each_message_says_its_key_and_its_facts_begin_with_it():
    """Without facts it has its key only; other topics are as they were."""
    result, dictionary = decoded(
        ("keyed", b"k", values(("edge", A, B), ("seen", A)).encode()),
        ("bag", b"k", values(("edge", A, B)).encode()),
        ("set", b"k", values(("edge", A, B)).encode()),
        ("keyed", b"gone", None),
        ("keyed", b"\xff\x00", b"[]"),
    )
    assert result.rejected == ()
    assert updates(result, dictionary) == {
        ("upsert@keyed", "keyed", ('"k"',), 0, 0),
        ("upsert@keyed@edge", "keyed", ('"k"', A, B), 0, 1),
        ("upsert@keyed@seen", "keyed", ('"k"', A), 0, 2),
        ("edge", "", (A, B), 1, 1),
        ("edge", "set", (A, B), 2, 1),
        ("upsert@keyed", "keyed", ('"gone"',), 3, 0),
        ("upsert@keyed", "keyed", (f'"FF00"^^<{XSD}hexBinary>',), 4, 0),
    }


def test_keys_are_equal_if_their_bytes_are():
    """Keys that are not text have terms too, and no text has the term of another key."""
    keys = [b"a", b'"a"', b"\xff", b"FF", b"a\x00", "\u00e9\n".encode(), b"\xe9"]
    result, dictionary = decoded(*(("keyed", key, None) for key in keys))
    assert result.rejected == ()
    [each] = result.updates
    assert len(set(each.args[:, 0].tolist())) == len(keys)
    assert dictionary.decode(each.args[:3, 0]).to_pylist() == [
        '"a"',
        r'"\"a\""',
        f'"FF"^^<{XSD}hexBinary>',
    ]


def test_a_tombstone_has_the_time_of_its_message():
    """It moves event time and the clock; a message with facts does so by their times."""
    early = json.dumps({"predicate": "seen", "args": [A], "diff": 1, "ts": 1000}).encode()
    result, _ = decoded(("keyed", b"k", early))
    assert (result.event_time, result.clock) == (1000, 1000)
    result, _ = decoded(("keyed", b"k", early), ("keyed", b"k", None))
    assert (result.event_time, result.clock) == (MILLISECONDS, MILLISECONDS)
    result, _ = decoded(("keyed", b"k", None, [("ts", b"5000")]))
    assert result.event_time == 5000


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ((None, values(("seen", A))), Reason.NO_KEY),
        ((b"", values(("seen", A))), Reason.NO_KEY),
        ((None, None), Reason.NO_KEY),
        ((b"k", ""), Reason.NOT_JSON),
        ((b"k" * 99, values(("seen", A))), Reason.OVERSIZED_TERM),
        ((b"k", values(("seen", A), diff=-1)), Reason.RETRACTION),
        ((b"k", values(("edge", A, A))), Reason.EXPIRING),
        ((b"k", values(("edge", A, A), ("seen", "<no term"))), Reason.INVALID_IRI),
        ((b"k", values(("nothing", A))), Reason.UNKNOWN_PREDICATE),
    ],
)
def test_rejected_messages_replace_nothing(row, reason):
    """The engine does not hear of a message that is rejected; others are taken."""
    key, value = row
    value = value if value is None else value.encode()
    pattern = Pattern("edge", (Column("x"), Value(A)))
    good = ("keyed", b"good", values(("edge", A, B)).encode())
    result, dictionary = decoded(("keyed", key, value), good, expiring=[pattern])
    assert [(each.row, each.reason) for each in result.rejected] == [(0, reason)]
    assert updates(result, dictionary) == {
        ("upsert@keyed", "keyed", ('"good"',), 1, 0),
        ("upsert@keyed@edge", "keyed", ('"good"', A, B), 1, 1),
    }
