"""Messages of any format as lines of one, as `consume --format` prints them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import DataError
from streamreasoner.io.codec.decode import NO_LIMITS
from streamreasoner.io.codec.encode import Received
from streamreasoner.io.codec.to_lines import Lines
from streamreasoner.io.formats.registry import of_name

A, B, C, G = (f"<u:{name}>" for name in "abcg")


def received(offset, value, name, **headers):
    """A message of a topic."""
    found = [("content-type", of_name(name).content_types[0].encode())]
    found += [(key, text.encode()) for key, text in headers.items()]
    return Received(value.encode(), None, found, "out", 1, offset, 1767225600000)


def lines(name, messages):
    """The lines of messages, and the places and reasons of those without any."""
    reports = []
    values = Lines(of_name(name), NO_LIMITS).of(
        messages, lambda message, rejected: reports.append((message.place, rejected.reason.value))
    )
    return b"\n".join(values).decode().split("\n"), reports


TIME = "2026-01-01T00:00:00.123Z"
STAMPED = f'"diff":-1,"ts":"{TIME}","epoch":7}}'
MESSAGES = [
    received(0, f"{A} {B} {C} .\n{A} {B} {C} {G} .", "nquads", diff="-1", epoch="7", ts=TIME),
    received(1, json.dumps({"s": A, "p": B, "o": '"\n"', "diff": 1}), "json", epoch="8"),
    received(2, "?", "json"),
    received(3, f"TX .\nA {A} {B} {C} .\nD {B} {B} {C} .\nTC .", "rdf-patch"),
]


def test_updates_keep_their_signs_and_stamps():
    """A change is printed as a pipeline with this format publishes it."""
    expected = {
        "json": [
            f'{{"s":"{A}","p":"{B}","o":"{C}",{STAMPED}',
            f'{{"predicate":"quad","args":["{A}","{B}","{C}","{G}"],{STAMPED}',
        ],
        "rdf-patch": ["TX .", f"D {A} {B} {C} .", f"D {A} {B} {C} {G} .", "TC ."],
    }
    for name, found in expected.items():
        assert lines(name, MESSAGES[:1]) == (found, [])
    [patch], reports = lines("json", [MESSAGES[2]])
    assert (patch, reports) == ("", [("out/1/2", "not-json")])


def test_a_tombstone_is_a_retraction_of_its_key():
    """In the place and with the epoch of the message; other messages without a value have none."""
    term = r'"\"x\n"'
    key = json.dumps(["edge", A, term]).encode()
    headers = [("content-type", b"application/n-quads"), ("epoch", b"7"), ("ts", TIME.encode())]
    gone = Received(None, key, headers, "out", 1, 3, 1767225600000)
    other = Received(None, b"7", headers, "out", 1, 4, 1767225600000)
    update = {"predicate": "edge", "args": [A, term], "diff": -1, "ts": TIME, "epoch": 7}
    [written], reports = lines("json", [gone, other])
    assert json.loads(written) == update
    assert reports == [("out/1/4", "empty-value")]


def test_updates_are_in_the_order_of_the_topic():
    """Whatever their predicates."""
    facts = [("b", []), ("a", [1]), ("quad", [A, B, C, G]), ("a", [2]), ("triple", [A, B, C])]
    values = [json.dumps({"predicate": name, "args": args, "diff": 1}) for name, args in facts]
    found, _ = lines("json", [received(n, value, "json") for n, value in enumerate(values)])
    names = [json.loads(line).get("predicate", "triple") for line in found]
    assert names == [name for name, _ in facts]


@given(st.lists(st.tuples(st.sampled_from("AD"), st.sampled_from([A, B]), st.integers(0, 1))))
def test_changes_of_a_fact_stay_in_order(changes):
    """Whether they come in one message or in several, of one epoch or of several."""
    messages = [
        received(offset, f"{sign} {subject} {B} {C} .", "rdf-patch", epoch=str(epoch))
        for offset, (sign, subject, epoch) in enumerate(changes)
    ]
    found, _ = lines("json-lines", messages)
    updates = [json.loads(line) for line in found if line]
    for subject in (A, B):
        of_subject = [(1 if sign == "A" else -1, e) for sign, s, e in changes if s == subject]
        assert [(u["diff"], u["epoch"]) for u in updates if u["s"] == subject] == of_subject


def test_what_lines_cannot_say_ends_them():
    """After the lines before it, with the place of the message."""
    good = [received(n, f"{A} {B} <u:{n}> .", "nquads") for n in range(3)]
    for bad, message in (
        (received(3, f"D {A} {B} {C} .", "rdf-patch"), "out/1/3: an update has the multiplicity"),
        (
            received(3, '{"predicate": "edge", "args": [1], "diff": 1}', "json"),
            "out/1/3: edge.* cannot be written in nquads",
        ),
        (
            received(3, json.dumps({"predicate": "e", "args": [], "diff": 1}), "json"),
            "out/1/3: e",
        ),
    ):
        written = Lines(of_name("nquads"), NO_LIMITS).of([*good, bad], report=None)
        assert next(written).count(b"\n") == 2
        with pytest.raises(DataError, match=message):
            next(written)
