"""The codec: every row of a batch is one update or one rejection."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.rejected import Reason
from streamreasoner.plan.program_plan import InputSources
from streamreasoner.rdf.dictionary import Dictionary

INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
APPENDED = datetime(2026, 3, 1, tzinfo=UTC)
APPENDED_MS = int(APPENDED.timestamp() * 1000)
GOOD = {"s": "<http://e/s>", "p": "<http://e/p>", "o": "<http://e/o>", "diff": 1}


def batch(values, headers=None):
    """A batch as the source returns it."""
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    encoded = [
        value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        for value in values
    ]
    return pa.table(
        {
            "value": pa.array(encoded, pa.binary()),
            "timestamp": pa.array([APPENDED] * len(values), pa.timestamp("us", "UTC")),
            "headers": pa.array(headers or [None] * len(values), header),
        }
    )


class Decoding:
    """Decodes with its own dictionary and returns terms."""

    def __init__(self, arities=None, limit=1000):
        self.dictionary = Dictionary()
        options = InputOptions(max_message_bytes=limit, max_term_bytes=limit)
        self.codec = Codec(self.dictionary, arities or {"edge": 2, "flag": 0}, options)

    def __call__(self, *values, headers=None):
        """Updates as (predicate, terms, diff) and rejections as (row, reason)."""
        decoded = self.codec.decode(batch(values, headers))
        updates = [
            (one.predicate, tuple(self.dictionary.decode(args).to_pylist()), int(diff))
            for one in decoded.updates
            for args, diff in zip(one.args, one.multiplicity, strict=True)
        ]
        return updates, [(one.row, one.reason) for one in decoded.rejected]

    def event_time(self, *values):
        """The event time of a batch."""
        return self.codec.decode(batch(values)).event_time


def test_both_shapes():
    """Triples and facts decode alike; JSON numbers and booleans become typed literals."""
    updates, rejected = Decoding()(
        GOOD,
        {"predicate": "edge", "args": [3, True], "diff": -2},
        {"predicate": "flag", "args": [], "diff": 1},
    )
    assert rejected == []
    assert updates == [
        ("triple", ("<http://e/s>", "<http://e/p>", "<http://e/o>"), 1),
        ("edge", (f'"3"^^<{INTEGER}>', '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'), -2),
        ("flag", (), 1),
    ]


def test_a_violation_is_not_asserted():
    """An update of a constraint is rejected, with its whole message."""
    options = InputOptions(max_message_bytes=1000, max_term_bytes=1000)
    codec = Codec(Dictionary(), {"late": 1, "flag": 0}, options, {"late"})
    flag = {"predicate": "flag", "args": [], "diff": 1}
    late = {"predicate": "late", "args": ["<http://e/o>"], "diff": -1}
    decoded = codec.decode(batch([flag, late, [flag, late]]))

    assert [one.predicate for one in decoded.updates] == ["flag"]
    assert [(one.row, one.reason) for one in decoded.rejected] == [
        (1, Reason.CONSTRAINT),
        (2, Reason.CONSTRAINT),
    ]
    assert "late is a constraint: its violations are only derived." in decoded.rejected[0].detail


def test_a_triple_may_be_written_as_a_fact():
    """`triple` is a predicate like any other, with the same rules for subject and predicate."""
    good = {"predicate": "triple", "args": ["<http://e/s>", "<http://e/p>", 1.5], "diff": 1}
    bad = {"predicate": "triple", "args": [1, "<http://e/p>", 1], "diff": 1}
    updates, rejected = Decoding()(good, bad)
    double = '"1.5E0"^^<http://www.w3.org/2001/XMLSchema#double>'
    assert updates == [("triple", ("<http://e/s>", "<http://e/p>", double), 1)]
    assert rejected == [(1, Reason.SUBJECT_KIND)]


def test_quads_are_checked_like_triples():
    """A quad's subject and graph are not literals, and its predicate is an IRI."""

    def quad(*args):
        return {"predicate": "quad", "args": args, "diff": 1}

    s, p, g = "<http://e/s>", "<http://e/p>", "_:g"
    updates, rejected = Decoding({"quad": 4})(
        quad(s, p, 1, g),
        quad(1, p, s, g),
        quad(s, g, s, g),
        quad(s, p, s, "g"),
        quad(s, p, s),
        quad(s, p, s, '"g"'),
    )
    assert updates == [("quad", (s, p, f'"1"^^<{INTEGER}>', g), 1)]
    assert rejected == [
        (1, Reason.SUBJECT_KIND),
        (2, Reason.PREDICATE_KIND),
        (3, Reason.NOT_A_TERM),
        (4, Reason.WRONG_ARITY),
        (5, Reason.GRAPH_KIND),
    ]


def test_terms_are_canonicalised():
    """Two spellings of a term are one term."""
    updates, _ = Decoding()(
        {**GOOD, "o": r'"\u00e9"@EN'},
        {**GOOD, "o": '"é"@en'},
        {**GOOD, "o": f'"x"^^<{INTEGER[:-7]}string>'},
    )
    assert [args[2] for _, args, _ in updates] == ['"é"@en', '"é"@en', '"x"']


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({**GOOD, "s": "_:"}, Reason.INVALID_BLANK_NODE),
        ({**GOOD, "p": "<p>"}, Reason.INVALID_IRI),
        ({**GOOD, "o": '"x'}, Reason.INVALID_LITERAL),
        ({**GOOD, "o": "x"}, Reason.NOT_A_TERM),
        ({**GOOD, "diff": 0}, Reason.DIFF_ZERO),
        ({**GOOD, "ts": "today"}, Reason.BAD_TIMESTAMP),
        (b"x" * 1001, Reason.OVERSIZED),
        ({"predicate": "nope", "args": [], "diff": 1}, Reason.UNKNOWN_PREDICATE),
    ],
)
def test_a_bad_row_does_not_affect_others(value, reason):
    """The rows around a rejected one are updates."""
    updates, rejected = Decoding()(GOOD, value, {**GOOD, "diff": 7})
    assert [diff for *_, diff in updates] == [1, 7]
    assert rejected == [(1, reason)]


def test_nul_is_a_character_of_literals():
    """However it is written: as itself, or with the escapes of N-Triples and of JSON."""
    texts = ('"a\0"', r'"a\u0000"', r'"a\U00000000"', r'"a\\u0000"')
    escaped = rb'{"s":"<a:s>","p":"<a:p>","o":"\"a\\\u0075\u0030000\"","diff":1}'
    updates, rejected = Decoding()(*({**GOOD, "o": text} for text in texts), escaped)
    assert rejected == []
    nul = r'"a\u0000"'
    assert [args[2] for _, args, _ in updates] == [nul, nul, nul, r'"a\\u0000"', nul]


def test_nul_is_in_literals_only():
    """In an IRI and in a label it is a mistake."""
    terms = ("<http://e/\0>", r"<http://e/\u0000>", "_:a\0")
    _, rejected = Decoding()(*({**GOOD, "o": term} for term in terms))
    iri, label = Reason.INVALID_IRI, Reason.INVALID_BLANK_NODE
    assert rejected == [(0, iri), (1, iri), (2, label)]


def test_a_number_of_any_length_is_read_or_rejected():
    """Python refuses to print integers of over 4300 digits; the codec handles them."""
    message = b'{"predicate":"edge","args":["<http://e/a>",%s],"diff":1}'
    updates, rejected = Decoding(limit=10_000)(
        message % (b"1" * 4000), message % (b"1" * 5000), message % b"1e999", message % b"-0"
    )
    assert [row for row, _ in rejected] == [1, 2]
    assert {reason for _, reason in rejected} == {Reason.NUMBER_OUT_OF_RANGE}
    assert [args[1] for _, args, _ in updates] == [
        f'"{"1" * 4000}"^^<{INTEGER}>',
        f'"0"^^<{INTEGER}>',
    ]


def test_content_types():
    """No content type, or JSON with any parameter and case, is read; others are rejected."""
    headers = [
        [{"key": "Content-Type", "value": value}]
        for value in (
            b"application/json",
            b"Application/JSON; charset=utf-8",
            b"text/plain",
            b"\xff",
            None,
        )
    ]
    _, rejected = Decoding()(*[GOOD] * 6, headers=[*headers, None])
    assert rejected == [(row, Reason.CONTENT_TYPE) for row in (2, 3, 4)]


def test_event_time_is_the_latest_of_accepted_rows():
    """Rejected rows are ignored; rows without a time use Kafka's timestamp."""
    decode = Decoding()
    early, late = "2025-01-01T00:00:00Z", "2027-01-01T00:00:00.123456789+01:00"
    assert decode.event_time({**GOOD, "ts": early}) == 1735689600000
    assert decode.event_time({**GOOD, "ts": early}, {**GOOD, "ts": late}) == 1798758000123
    assert decode.event_time({**GOOD, "ts": 5}, {**GOOD, "ts": late, "diff": 0}) == 5
    assert decode.event_time(GOOD, {**GOOD, "ts": early}) == APPENDED_MS
    assert decode.event_time({**GOOD, "diff": 0}) is None
    assert decode.event_time() is None


def test_an_empty_batch_has_no_updates():
    """Spark runs batches without rows when only transaction markers arrived."""
    assert Decoding()() == ([], [])


values = st.one_of(
    # An empty list is a message without updates, which a pipeline sends itself.
    st.binary(max_size=40).filter(lambda value: value.split() not in ([b"[]"], [b"[", b"]"])),
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "s": st.sampled_from(["<http://e/s>", "_:b", '"x"', "<s>", 1]),
            "p": st.sampled_from(["<http://e/p>", "_:b", "<p>", None]),
            "o": st.sampled_from(["<http://e/o>", '"x"@en', '"x', True]),
            "predicate": st.sampled_from(["edge", "flag", "triple", "nope", 1]),
            "args": st.lists(
                st.sampled_from(["<http://e/a>", 1, 1.5, True, None, "a"]), max_size=3
            ),
            "diff": st.sampled_from([1, -1, 5, 0, 10**7, 1.0, "1", True]),
            "ts": st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01", 5, None, 10**17, 1.5]),
            "extra": st.just(1),
        },
    ),
)


@given(st.lists(values, max_size=12))
def test_every_row_counts_once(rows):
    """Each row is one update or one rejection, alone or among others."""
    together, rejected = Decoding()(*rows)
    assert len(together) + len(rejected) == len(rows)
    alone = [Decoding()(row) for row in rows]
    assert sorted(together) == sorted(update for updates, _ in alone for update in updates)
    assert dict(rejected) == {
        row: reason for row, (_, refused) in enumerate(alone) for _, reason in refused
    }


@given(st.lists(values, max_size=12))
def test_the_same_batch_gives_the_same_ids(rows):
    """A replay of a batch on the same dictionary, or on a new one, gives the same ids."""
    decode, other = Decoding(), Decoding()
    first = decode.codec.decode(batch(rows)).updates
    for again in (
        decode.codec.decode(batch(rows)).updates,
        other.codec.decode(batch(rows)).updates,
    ):
        assert [one.predicate for one in first] == [one.predicate for one in again]
        for one, two in zip(first, again, strict=True):
            np.testing.assert_array_equal(one.args, two.args)
            np.testing.assert_array_equal(one.multiplicity, two.multiplicity)


def test_updates_of_a_source_have_the_order_of_its_log():
    """Whatever their format and predicate; updates of other topics have no source."""
    lines = b'<urn:a> <urn:p> "1" .\n<urn:a> <urn:p> "2" .\n'
    rows = [
        (
            "set",
            json.dumps([GOOD, {"predicate": "edge", "args": [1, 2], "diff": 1}, GOOD]).encode(),
            None,
        ),
        ("set", lines, b"application/n-triples"),
        ("bag", json.dumps(GOOD).encode(), None),
        ("set", json.dumps({**GOOD, "diff": -1}).encode(), None),
    ]
    headers = [
        None if kind is None else [{"key": "content-type", "value": kind}] for *_, kind in rows
    ]
    table = batch([value for _, value, _ in rows], headers)
    table = table.append_column("topic", pa.array([topic for topic, *_ in rows]))
    options = InputOptions(
        max_message_bytes=1000, max_term_bytes=1000, sources=InputSources(("set",))
    )
    decoded = Codec(Dictionary(), {"edge": 2, "triple": 3}, options).decode(table)
    assert decoded.rejected == ()
    found = {
        (each.predicate, each.source, sign, (order >> 32, order % 2**32))
        for each in decoded.updates
        for sign, order in zip(each.multiplicity.tolist(), each.order.tolist(), strict=True)
    }
    assert found == {
        ("triple", "set", 1, (0, 1)),
        ("edge", "set", 1, (0, 2)),
        ("triple", "set", 1, (0, 3)),
        ("triple", "set", 1, (1, 1)),
        ("triple", "set", 1, (1, 2)),
        ("triple", "", 1, (2, 0)),
        ("triple", "set", -1, (3, 0)),
    }
