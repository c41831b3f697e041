"""Both paths of JSON give the same updates, and every message goes through one of them."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_messages import arrays, lines, mutated, objects

from streamreasoner.io.formats.json import UPDATE, read_messages, read_value
from streamreasoner.io.formats.json_lines import read_lines
from streamreasoner.io.formats.json_lines import read_messages as read_messages_of_lines
from streamreasoner.io.formats.reading.format import LINE
from streamreasoner.io.formats.reading.json.kernels.messages import LINES, VALUE
from streamreasoner.io.formats.reading.json.scanned import MOST_GROUPS, scanned
from streamreasoner.io.formats.reading.json.updates import TripleMessage
from streamreasoner.io.formats.reading.messages import Messages
from streamreasoner.io.formats.reading.timestamps import EventTimes
from streamreasoner.io.formats.rejected import RejectedError
from streamreasoner.rdf.terms import to_ntriples

DEFAULT = 77
TRIPLE = rb'{"s":"<a:s>","p":"<a:p>","o":"\"x\"","diff":1}'
FACT = '{{"predicate":"p","args":{},"diff":1}}'.format
SHAPES = {
    VALUE: (read_messages, read_value, UPDATE, objects() | arrays()),
    LINES: (read_messages_of_lines, read_lines, LINE, objects() | lines()),
}
FAST = (
    TRIPLE,
    rb' { "ts" : null , "diff" : -3 , "o" : "\u00e9\ud83d\ude00" , "p" : "" , "s" : "a\/b" } ',
    b'{"s":"a","p":"b","o":"c","diff":0,"ts":"2026-01-01T00:00:00.000Z","epoch":7}',
    b'{"s":"a","p":"b","o":"\xc3\xa9","diff":1,"ts":"2026-01-01T00:00:00+01:00","epoch":null}',
    b'{"s":"a","p":"b","o":"c","diff":1000000,"ts":-1}',
    FACT("[]").encode(),
    FACT('["a", 1, -2, 1.50, 0.001, true, false]').encode(),
    b"[]",
    b"[" + TRIPLE + b", " + FACT("[1]").encode() + b"]",
)
EXACT = (
    b'{"s":"a","p":"b","o":"c"}',
    b'{"s":"a","p":"b","o":"c","diff":1,"diff":1}',
    b'{"s":"a","p":"b","o":"c","diff":1.0}',
    b'{"s":"a","p":"b","o":"c","diff":1000001}',
    b'{"s":"a","p":"b","o":"c","diff":1,"ts":"2026-01-01"}',
    b'{"s":"a","p":"b","o":"c","diff":1,"ts":9e9}',
    b'{"s":"a","p":"b","o":"c","diff":1,"epoch":0.5}',
    rb'{"s":"\ud800","p":"b","o":"c","diff":1}',
    b'{"s":"\xff","p":"b","o":"c","diff":1}',
    b'{"s":"a\tb","p":"b","o":"c","diff":1}',
    b'{"s":"a","p":"b","args":[],"diff":1}',
    rb'{"predicate":"\u0070","args":[],"diff":1}',
    *(FACT(f"[{number}]").encode() for number in ("1e3", "0.0", "-0", "9" * 19, "null", "[]")),
    TRIPLE + b"x",
    b"[" + TRIPLE + b",]",
    b"[" + TRIPLE + b",{}]",
)


def messages_of(values):
    """Messages with these values, in every second row of a batch."""
    batch = pa.table({"value": pa.array(values, pa.binary())})
    return Messages(batch, np.arange(len(values)) * 2)


def read(syntax, values):
    """The updates of a reader by predicate and arity, and its rejections."""
    rejected = {}
    found = [
        (
            rows.predicate,
            rows.messages.tolist(),
            list(zip(*(column.to_pylist() for column in rows.args), strict=True)),
            rows.diff.tolist(),
            rows.ts.milliseconds(np.full(len(rows.messages), DEFAULT)).tolist(),
            [rows.place(at) for at in range(len(rows.messages))],
        )
        for rows in SHAPES[syntax][0](messages_of(values), None, rejected)
    ]
    return found, {row: (error.reason, error.detail) for row, error in rejected.items()}


def read_exactly(syntax, values):
    """The same by the exact path alone, message by message."""
    _, read_one, part, _ = SHAPES[syntax]
    found, rejected = {}, {}
    for row, value in zip(range(0, 2 * len(values), 2), values, strict=True):
        try:
            updates = [*read_one(value)]
        except RejectedError as error:
            rejected[row] = error.reason, error.detail
            continue
        for number, update in updates:
            if isinstance(update, TripleMessage):
                key, args = (False, "triple", 3), (update.s, update.p, update.o)
            else:
                args = tuple(
                    arg if isinstance(arg, str) else to_ntriples(arg) for arg in update.args
                )
                key = True, update.predicate, len(args)
            place = f"{part} {number}: " if number else ""
            found.setdefault(key, []).append((row, args, update.diff, update.ts, place))
    return [columns(key, rows) for key, rows in sorted(found.items())], rejected


def columns(key, rows):
    """Updates of one predicate and arity, as `read` has them."""
    messages, args, diff, ts, places = zip(*rows, strict=True)
    times = EventTimes.of(ts).milliseconds(np.full(len(ts), DEFAULT)).tolist()
    return key[1], [*messages], [*args] if key[2] else [], [*diff], times, [*places]


@pytest.mark.parametrize("syntax", SHAPES)
def test_both_paths_agree(syntax):
    """Updates, their order and reasons are those of the exact path; random messages use both."""
    paths = Counter()

    @given(st.lists(mutated(SHAPES[syntax][3]), min_size=1, max_size=8))
    def agree(values):
        values = [value or b" " for value in values]
        assert read(syntax, values) == read_exactly(syntax, values)
        taken, _ = scanned(messages_of(values), syntax, "")
        paths.update(taken.tolist())

    agree()
    assert min(paths[True], paths[False]) > 0, paths


@pytest.mark.parametrize("syntax", SHAPES)
@pytest.mark.parametrize(("values", "expected"), [(FAST, True), (EXACT, False)])
def test_what_is_scanned(syntax, values, expected):
    """Plain updates in every form are; mistakes and rare forms are refused, one by one."""
    values = [value for value in values if syntax == VALUE or not value.startswith(b"[")]
    for value in values:
        taken, _ = scanned(messages_of([TRIPLE, value, TRIPLE]), syntax, "")
        assert taken.tolist() == [True, expected, True], value
    assert read(syntax, values) == read_exactly(syntax, values)


def test_messages_that_need_more_room():
    """Messages of many numbers, escapes or updates: nothing is lost or doubled."""
    numbers = FACT(json.dumps([*range(10)] * 500)).encode()
    escapes = FACT(json.dumps(["\n" * 5000, "é" * 5000])).encode()
    many = b"[" + b",".join([b'{"s":"","p":"","o":"","diff":1}'] * 500) + b"]"
    values = [TRIPLE, numbers, many, escapes, b"{", many, numbers, TRIPLE]
    taken, _ = scanned(messages_of(values), VALUE, "")
    assert taken.tolist() == [value != b"{" for value in values]
    assert read(VALUE, values) == read_exactly(VALUE, values)


def test_a_batch_of_many_predicates():
    """Facts of more predicates than the scanner keeps are read exactly, and in their order."""
    names = [f"p{number % (MOST_GROUPS + 20)}" for number in range(2 * MOST_GROUPS)]
    values = [json.dumps({"predicate": name, "args": [], "diff": 1}).encode() for name in names]
    taken, _ = scanned(messages_of(values), VALUE, "")
    assert 0 < np.count_nonzero(taken) < len(values)
    assert read(VALUE, values) == read_exactly(VALUE, values)
