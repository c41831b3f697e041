"""Changes as JSON, in a form that the codec reads."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.engine.blocks import Blocks
from streamreasoner.engine.updates import Changes
from streamreasoner.io.codec.encode import ChangeEncoder, decode_changes, encode_updates
from streamreasoner.io.codec.violations import encode_violations
from streamreasoner.io.formats.registry import JSON
from streamreasoner.io.formats.writing.writer import Writer
from streamreasoner.program.checked import check_text
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import to_ntriples

TS = 1767225600123
terms = st.text(max_size=8).map(to_ntriples)


def changes_of(predicate, rows, dictionary):
    """Changes of one predicate, all +1."""
    ids = [[dictionary.intern(term) for term in row] for row in rows]
    arity = len(rows[0])
    return Changes(
        predicate,
        np.array(ids, np.int32).reshape(len(rows), arity),
        np.ones(len(rows), np.int8),
    )


@given(st.lists(st.tuples(terms, terms, terms), min_size=1, max_size=5), st.text(min_size=1))
def test_json_holds_the_terms(rows, predicate):
    """The JSON decodes to the terms and predicates, whatever characters they contain."""
    dictionary = Dictionary()
    for name, read in (
        ("triple", lambda fields: (fields["s"], fields["p"], fields["o"])),
        (predicate, lambda fields: (fields.get("predicate"), *fields.get("args", ()))),
    ):
        if name == "triple" and predicate == "triple":
            continue
        [decoded] = decode_changes([changes_of(name, rows, dictionary)], dictionary)
        [outgoing] = ChangeEncoder().encode(decoded, TS, 7)
        ordered = sorted(rows, key=lambda row: [dictionary.intern(term) for term in row])
        expected = ordered if name == "triple" else [(name, *row) for row in ordered]
        messages = [json.loads(value) for value in outgoing.values]
        assert [read(message) for message in messages] == expected
        assert [message["diff"] for message in messages] == [1] * len(rows)
        assert {message["ts"] for message in messages} == {"2026-01-01T00:00:00.123Z"}
        assert {message["epoch"] for message in messages} == {7}
        assert outgoing.keys == [row[0].encode() for row in ordered]


@given(st.lists(terms, min_size=1, max_size=5, unique=True), st.text(max_size=8))
def test_a_violation_has_a_text(rows, words):
    """It is a change with the text of its constraint, whatever characters that contains."""
    literal = to_ntriples(words.replace("{", "("))
    rules = f"@message late(?x) {literal} . !late(?x) :- order(?x) . !quiet() :- order(_) ."
    constraints = check_text(rules).constraints
    column, signs = pa.array(rows, pa.large_string()), np.ones(len(rows), np.int8)
    [outgoing] = encode_violations(("late", [column], signs), constraints, TS, 7)
    [quiet] = encode_violations(("quiet", [], signs[:1]), constraints, TS, 7)

    assert [json.loads(value) for value in outgoing.values] == [
        {
            "predicate": "late",
            "args": [term],
            "diff": 1,
            "ts": "2026-01-01T00:00:00.123Z",
            "epoch": 7,
            "message": words.replace("{", "("),
        }
        for term in rows
    ]
    assert outgoing.keys == [term.encode() for term in rows]
    assert json.loads(quiet.values[0])["message"] == "quiet()"


def test_a_fact_without_arguments_has_no_key():
    """`rain` has an empty list of arguments and goes to any partition."""
    [outgoing] = ChangeEncoder().encode(("rain", [], np.array([-1], np.int8)), 0, 1)
    assert outgoing.keys == [None]
    assert json.loads(outgoing.values[0]) == {
        "predicate": "rain", "args": [], "diff": -1, "ts": "1970-01-01T00:00:00.000Z", "epoch": 1,
    }  # fmt: skip


@pytest.mark.parametrize("diff", [1, -1, 12])
def test_updates_are_input(diff):
    """`produce` sends updates of triples with the chosen diff."""
    columns = [
        pa.array([one], pa.large_string()) for one in ("<http://e/s>", "<http://e/p>", '"x"')
    ]
    [outgoing] = encode_updates(JSON, "triple", columns, np.array([diff]))
    assert json.loads(outgoing.values[0]) == {
        "s": "<http://e/s>", "p": "<http://e/p>", "o": '"x"', "diff": diff,
    }  # fmt: skip


def joined(texts, writer):
    """The messages of texts that are far from the limit of bytes, one at a time."""
    for start in range(0, len(texts), writer.most):
        some = [text.encode() for text in texts[start : start + writer.most]]
        yield writer.opening + writer.between.join(some) + writer.closing


@given(
    st.lists(st.text(max_size=4), max_size=9),
    st.integers(0, 3),
    st.integers(1, 4),
    st.tuples(*[st.binary(max_size=2)] * 3),
)
def test_messages_have_as_many_texts_as_they_may(texts, first, most, around):
    """One or several in each, whatever is around and between them, also in a slice of an array."""
    opening, between, closing = around
    kind = Writer(None, opening=opening, between=between, closing=closing, most=most)
    column = pa.array(texts, pa.large_string()).slice(first)
    assert list(kind.messages(column)) == list(joined(texts[first:], kind))


def test_order_does_not_depend_on_the_engine():
    """Changes are sorted by predicate and ids, whatever order the engine returns."""
    dictionary = Dictionary()
    dictionary.encode(pa.array(["<a:0>", "<a:1>", "<a:2>"], pa.large_string()))
    rows = np.array([[2, 1], [1, 2], [1, 1]], np.int32)
    signs = np.array([1, -1, 1], np.int8)
    one, two = Changes("b", rows, signs), Changes("a", rows[::-1], signs[::-1])
    for order in ([one, two], [two, one]):
        decoded = decode_changes(order, dictionary)
        assert [predicate for predicate, _, _ in decoded] == ["a", "b"]
        for _, columns, multiplicity in decoded:
            assert columns[0].to_pylist() == ["<a:1>", "<a:1>", "<a:2>"]
            assert columns[1].to_pylist() == ["<a:1>", "<a:2>", "<a:1>"]
            assert multiplicity.tolist() == [1, -1, 1]


def test_blocks_are_decoded_on_iteration():
    """Blocks are decoded one at a time, on every iteration."""
    dictionary = Dictionary()
    one, two = (changes_of(name, [(term,)], dictionary) for name, term in ("bx", "ay"))
    decoded = decode_changes(Blocks(lambda: iter([one, two])), dictionary)
    for _ in range(2):
        assert [predicate for predicate, _, _ in decoded] == ["b", "a"]
