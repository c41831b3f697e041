"""Messages of every format: each is taken as a whole, or rejected with its first mistake."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.registry import MESSAGES, NQUADS, of_name
from streamreasoner.io.formats.rejected import Reason
from streamreasoner.rdf.dictionary import Dictionary

APPENDED = datetime(2026, 3, 1, tzinfo=UTC)
OPTIONS = InputOptions(max_message_bytes=1000, max_term_bytes=100)
ARITIES = {"quad": 4, "edge": 2}
A, B, C, G = (f"<http://e/{name}>" for name in "abcg")
TRIPLE = ("triple", (A, B, C))
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"


def batch(messages, topic="in"):
    """Messages of a value and headers, as the source returns them."""
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = [
        [{"key": key, "value": value.encode()} for key, value in pairs.items()] or None
        for _, pairs in messages
    ]
    values = [value if isinstance(value, bytes) else value.encode() for value, _ in messages]
    return pa.table(
        {
            "topic": [topic] * len(messages),
            "partition": [2] * len(messages),
            "offset": [*range(len(messages))],
            "value": pa.array(values, pa.binary()),
            "timestamp": pa.array([APPENDED] * len(messages), pa.timestamp("us", "UTC")),
            "headers": pa.array(headers, header),
        }
    )


def decoded(*messages, options=OPTIONS, topic="in"):
    """The sum of updates by fact, and the rejections as (row, reason, detail)."""
    dictionary = Dictionary()
    result = Codec(dictionary, ARITIES, options).decode(batch(messages, topic))
    updates = Counter()
    for each in result.updates:
        for args, diff in zip(each.args, each.multiplicity, strict=True):
            updates[each.predicate, tuple(dictionary.decode(args).to_pylist())] += int(diff)
    return updates, [(one.row, one.reason, one.detail) for one in result.rejected]


def of_type(name, **headers):
    """The headers of a message of a format."""
    return {"content-type": of_name(name).content_types[0], **headers}


LINE = f"{A} {B} {C} ."
JSON_TRIPLE = {"s": A, "p": B, "o": C, "diff": 1}
GOOD = {
    "an object": (json.dumps(JSON_TRIPLE), {}, {TRIPLE: 1}),
    "an array": (
        json.dumps([JSON_TRIPLE, {"predicate": "edge", "args": [1, A], "diff": -2}]),
        of_type("json"),
        {TRIPLE: 1, ("edge", (f'"1"^^{INTEGER}', A)): -2},
    ),
    "an empty array": ("[]", {}, {}),
    "JSON lines": (
        f"{json.dumps(JSON_TRIPLE)}\n\n{json.dumps(JSON_TRIPLE)}\n",
        of_type("json-lines"),
        {TRIPLE: 2},
    ),
    "N-Triples": (f"{LINE}\n# twice\r{LINE}", of_type("ntriples", diff="-3"), {TRIPLE: -6}),
    "N-Quads": (
        f"{LINE}\n{A} {B} {C} {G} .\n",
        of_type("nquads", diff="+2"),
        {TRIPLE: 2, ("quad", (A, B, C, G)): 2},
    ),
    "a patch": (
        (
            f'H id <urn:x> .\nTX .\nPA "e" "http://e/" .\nA e:a e:b "e:c"^^e:d .\nTC .\nD {LINE}\n'
            f"TX .\nA e:a e:b e:c .\nD {A} <http://e/b> <_:x> e:g .\nTA .\nPD e: .\nA {LINE[:-2]}."
        ),
        of_type("rdf-patch", diff="9"),
        {("triple", (A, B, '"e:c"^^<http://e/d>')): 1, TRIPLE: 0},
    ),
    "a patch with blank nodes": (
        f"A <_:x> {B} _:y .\nD _:x {B} <_:y> _:x .",
        {"content-type": "text/rdf-patch"},
        {("triple", ("_:x", B, "_:y")): 1, ("quad", ("_:x", B, "_:y", "_:x")): -1},
    ),
    "Turtle": (
        "@prefix e: <http://e/> . e:a e:b e:c, _:x .",
        of_type("turtle", diff="-1"),
        {TRIPLE: -1, ("triple", (A, B, "_:x")): -1},
    ),
    "TriG": (
        f"{A} {B} {C} . {G} {{ {A} {B} [] }}",
        of_type("trig"),
        {TRIPLE: 1, ("quad", (A, B, "_:message-in-2-0-1", G)): 1},
    ),
    "JSON-LD": (
        json.dumps({"@id": "http://e/a", "http://e/b": {"http://e/b": {"@id": "http://e/c"}}}),
        of_type("json-ld"),
        {("triple", (A, B, "_:message-in-2-0-1")): 1, ("triple", ("_:message-in-2-0-1", B, C)): 1},
    ),
}
BAD = {
    "an array with a bad update": (
        json.dumps([JSON_TRIPLE, {**JSON_TRIPLE, "diff": "1"}]),
        {},
        Reason.WRONG_TYPE,
        "Update 2: diff is ",
    ),
    "an array with a bad term": (
        json.dumps([JSON_TRIPLE, {**JSON_TRIPLE, "o": "c"}]),
        {},
        Reason.NOT_A_TERM,
        "Update 2: ",
    ),
    "an array of something else": ("[1]", {}, Reason.NOT_AN_OBJECT, "Update 1: "),
    "an open array": ("[", {}, Reason.NOT_JSON, "The value is not JSON"),
    "a bad line of JSON": (
        f"{json.dumps(JSON_TRIPLE)}\n\n{{}}",
        of_type("json-lines"),
        Reason.MISSING_FIELD,
        "Line 3: The field s is missing",
    ),
    "a bad line": (f"{LINE}\n{A} {B}", of_type("ntriples"), Reason.MALFORMED_LINE, "Line 2: At"),
    "a graph in N-Triples": (
        f"{A} {B} {C} {G} .",
        of_type("ntriples"),
        Reason.MALFORMED_LINE,
        "Line 1: At character",
    ),
    "NUL": (
        f'{LINE}\n{A} {B} "\\u0000" .',
        of_type("nquads"),
        Reason.MALFORMED_LINE,
        "Line 2: A term contains the character NUL.",
    ),
    "not UTF-8": (b"\xff", of_type("ntriples"), Reason.MALFORMED_LINE, "Line 1: Byte 1"),
    "a long term": (
        f'{LINE}\n{A} {B} "{"x" * 99}" .',
        of_type("ntriples"),
        Reason.OVERSIZED_TERM,
        "Line 2: A term has 101 bytes; the maximum is 100.",
    ),
    "a long term in JSON": (
        json.dumps([JSON_TRIPLE, {**JSON_TRIPLE, "o": f'"{"x" * 99}"'}]),
        {},
        Reason.OVERSIZED_TERM,
        "Update 2: A term has 101 bytes; the maximum is 100.",
    ),
    "diff 0": (LINE, of_type("ntriples", diff="0"), Reason.DIFF_ZERO, "The header diff"),
    "diff as a word": (LINE, of_type("nquads", diff="one"), Reason.WRONG_TYPE, "The header diff"),
    "diff out of range": (
        "[] a [] .".replace("a", A),
        of_type("turtle", diff="-1000001"),
        Reason.DIFF_OUT_OF_RANGE,
        "The header diff",
    ),
    "an open transaction": (
        f"TX .\nA {LINE}",
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "The last transaction has neither TC nor TA",
    ),
    "a transaction in another": (
        "TX .\nTX .",
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "Line 2: TX within a transaction",
    ),
    "no transaction": (
        "TC .",
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "Line 1: TC ends no transaction",
    ),
    "an unknown operation": (
        f"X {LINE}",
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "Line 1: The operation X is none of",
    ),
    "an unknown prefix": (
        f'PA "e" <http://e/> .\nPD "e" .\nA {A} {B} e:c .',
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "Line 3: The prefix e: of e:c is unknown",
    ),
    "a prefix without a dot": (
        'PA "e" <http://e/>',
        of_type("rdf-patch"),
        Reason.MALFORMED_LINE,
        "Line 1: PA is not followed by",
    ),
    "an open statement": (
        f"{A} {B}",
        of_type("turtle"),
        Reason.MALFORMED_DOCUMENT,
        "Parser error at line 1",
    ),
    "a remote context": (
        '{"@context": "http://e/c", "http://e/b": 1}',
        of_type("json-ld"),
        Reason.MALFORMED_DOCUMENT,
        "No LoadDocumentCallback",
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_message_of_many_updates(name):
    """Every format gives triples of the default graph, quads of others, and its multiplicities."""
    value, headers, expected = GOOD[name]
    updates, rejected = decoded((value, headers))
    assert rejected == []
    assert updates == expected


@pytest.mark.parametrize("name", BAD)
def test_a_message_with_a_mistake_changes_nothing(name):
    """Messages before and after it are read."""
    value, headers, reason, begin = BAD[name]
    good = (LINE, of_type("nquads"))
    updates, [(row, found, detail)] = decoded(good, (value, headers), good)
    assert (row, found) == (1, reason)
    assert detail.startswith(begin), detail
    assert updates == {TRIPLE: 2}


@given(st.permutations([*GOOD.values(), *BAD.values()]))
def test_messages_of_all_formats_in_one_batch(messages):
    """Each is read as it is alone, but for labels that depend on its offset."""
    _, rejected = decoded(*((value, headers) for value, headers, *_ in messages))
    for row, reason, detail in rejected:
        value, headers, *expected = messages[row]
        [(_, alone, why)] = decoded((value, headers))[1]
        assert (reason, detail) == (alone, why)
        assert len(expected) == 2
    assert len(rejected) == len(BAD)


def test_the_topic_has_a_format():
    """A content type comes first, then the format of the topic, then that of the input."""
    options = InputOptions(
        max_message_bytes=1000,
        max_term_bytes=100,
        default=NQUADS,
        of_topics={"turtles": of_name("turtle")},
    )
    for topic, value, headers in (
        ("quads", LINE, {}),
        ("turtles", json.dumps(JSON_TRIPLE), of_type("json")),
        ("turtles", f"@prefix e: <http://e/> . {LINE}", {}),
    ):
        assert decoded((value, headers), options=options, topic=topic) == ({TRIPLE: 1}, [])


def test_nodes_without_a_label_are_the_same_in_a_replay():
    """Their labels come from topic, partition and offset; written labels are kept."""
    message = (f"_:b {B} [ {B} 1 ], [] .", of_type("turtle"))
    first, second = decoded(message, message), decoded(message, message)
    assert first == second
    labels = {term for _, terms in first[0] for term in terms if term.startswith("_:")}
    assert labels == {"_:b", *(f"_:message-in-2-{at}-{n}" for at in (0, 1) for n in (1, 2))}


def test_the_header_ts_is_the_time_of_updates_without_one():
    """A `ts` of an update comes first, and a message whose header is no time is rejected."""
    time = "1970-01-01T00:00:01.234Z"
    for value, ts, expected in (
        (LINE, time, 1234),
        (LINE, "-5", -5),
        (json.dumps(JSON_TRIPLE), time, 1234),
        (json.dumps({**JSON_TRIPLE, "ts": 7}), time, 7),
    ):
        name = "json" if value.startswith("{") else "nquads"
        table = batch([(value, of_type(name, ts=ts)), (value, of_type(name, ts="today"))])
        decoded = Codec(Dictionary(), ARITIES, OPTIONS).decode(table)
        assert decoded.event_time == expected
        [rejected] = decoded.rejected
        assert (rejected.row, rejected.reason) == (1, Reason.BAD_TIMESTAMP)
        assert rejected.detail.startswith("The header ts is 'today'; it must be ISO 8601")


def test_every_format_has_a_message():
    """The examples above leave none out."""
    named = {headers.get("content-type", "application/json") for _, headers, _ in GOOD.values()}
    assert {name for each in MESSAGES for name in each.content_types} - named == {
        *of_name("json-lines").content_types[1:]
    }
