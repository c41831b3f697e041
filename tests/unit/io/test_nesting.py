"""Texts that nest too deeply are refused before pyoxigraph reads them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import DataError, ProgramError
from streamreasoner.io.codec.decode import NO_LIMITS, Codec
from streamreasoner.io.files.documents import load
from streamreasoner.io.formats.rejected import Reason
from streamreasoner.program.checked import check_source
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.nesting import DEEPEST, JSON, TRIPLE_TERMS, Nesting

LEVELS = 20_000
"""Half of them are enough to end a process."""


def nested(opening, closing, levels):
    """A value in that many brackets."""
    return opening * levels + b"1" + closing * levels


JSON_LD = b'{"http://e/b":', b"}"
TERMS = b"<<( <http://e/a> <http://e/b> ", b" )>>"
BEGIN, END = b"<http://e/a> <http://e/b> ", b" ."
TEXTS = {
    "objects.jsonld": nested(*JSON_LD, LEVELS),
    "lists.jsonld": nested(b'{"@list":[', b"]}", LEVELS).join((b'{"http://e/b":', b"}")),
    "graphs.jsonld": b'{"@graph":' * LEVELS + b"{}" + b"}" * LEVELS,
    "terms.ttl": BEGIN + nested(*TERMS, LEVELS) + END,
    "terms.trig": BEGIN + nested(*TERMS, LEVELS) + END,
}
TYPES = {"jsonld": b"application/ld+json", "ttl": b"text/turtle", "trig": b"application/trig"}


def decoded(value, content_type):
    """One message, decoded."""
    headers = [[{"key": "content-type", "value": content_type}]]
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    columns = {
        "topic": ["in"],
        "partition": [0],
        "offset": [0],
        "value": pa.array([value], pa.binary()),
        "timestamp": [datetime(2026, 1, 1, tzinfo=UTC)],
        "headers": pa.array(headers, kind),
    }
    return Codec(Dictionary(), None, NO_LIMITS).decode(pa.table(columns))


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_nested_too_deeply_is_refused(name, tmp_path):
    """In files and in messages."""
    path = tmp_path / name
    path.write_bytes(TEXTS[name])
    with pytest.raises(DataError, match=f"{name}: .*annot be read: it is nested more than 500"):
        list(load(path, Dictionary()))
    [rejected] = decoded(TEXTS[name], TYPES[path.suffix[1:]]).rejected
    assert rejected.reason is Reason.MALFORMED_DOCUMENT
    assert "nested more than 500 levels deep" in rejected.detail


def test_shapes_that_are_nested_too_deeply_are_refused():
    """With a diagnostic."""
    with pytest.raises(ProgramError, match="SR224 this is not Turtle: it is nested more than 500"):
        check_source(TEXTS["terms.ttl"].decode(), "shapes.ttl")


def test_as_many_levels_as_are_allowed_are_read():
    """The innermost value is in the last of them."""
    result = decoded(nested(*JSON_LD, DEEPEST), TYPES["jsonld"])
    assert sum(len(each.args) for each in result.updates) == DEEPEST
    assert decoded(nested(*JSON_LD, DEEPEST + 1), TYPES["jsonld"]).rejected


def test_a_message_may_have_many_nodes_without_a_label():
    """Their labels are not searched for in the text one by one, which took minutes."""
    count = 100_000
    result = decoded(BEGIN + b"(" + b"1 " * count + b")" + END, TYPES["ttl"])
    assert sum(len(each.args) for each in result.updates) == 2 * count + 1


VALUES = st.recursive(
    st.none() | st.text(st.sampled_from('[]{}"\\a')),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.sampled_from('[}"\\'), max_size=2), inner, max_size=2)
    ),
    max_leaves=6,
)
CUTS = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def depth(value):
    """How deep a value nests."""
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(depth, inner), default=0)


def fits(tokens, text, cuts):
    """Whether a text that comes in chunks is shallow enough."""
    nesting, position = Nesting(tokens), 0
    while position < len(text):
        size = cuts[position % len(cuts)]
        if nesting.is_too_deep(text[position : position + size]):
            return False
        position += size
    return True


@given(VALUES, st.integers(DEEPEST - 4, DEEPEST + 1), CUTS)
def test_the_depth_is_that_of_the_json(value, around, cuts):
    """Brackets in strings are none, however the text is cut."""
    text = b"[" * around + json.dumps(value).encode() + b"]" * around
    assert fits(JSON, text, cuts) == (around + depth(value) <= DEEPEST)


@given(st.integers(DEEPEST - 2, DEEPEST + 2), CUTS)
def test_the_depth_is_that_of_the_triple_terms(levels, cuts):
    """However the text is cut."""
    text = nested(*TERMS, 3) + nested(*TERMS, levels)
    assert fits(TRIPLE_TERMS, text, cuts) == (levels <= DEEPEST)
