"""Texts that nest too deeply are refused before pyoxigraph reads them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import DataError, ProgramError, TermError
from streamreasoner.io.codec.decode import NO_LIMITS, Codec
from streamreasoner.io.files.documents import load
from streamreasoner.io.formats.rejected import Reason
from streamreasoner.program.checked import check_source
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.nesting import DEEPEST, JSON, TRIPLE_TERMS, Nesting
from streamreasoner.rdf.terms import Term
from streamreasoner.values.builtins import apply

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


def term(levels):
    """A triple term of that many levels, in canonical form."""
    return "<<( <a:s> <a:p> " * levels + '"x"' + " )>>" * levels


MESSAGES = {
    "application/n-triples": "<a:s> <a:p> {} .",
    "application/n-quads": "<a:s> <a:p> {} <a:g> .",
    "application/rdf-patch": "A <a:s> <a:p> {} .",
    "application/json": '{{"s": "<a:s>", "p": "<a:p>", "o": {}, "diff": 1}}',
    "text/turtle": "<a:s> <a:p> {} .",
}


@pytest.mark.parametrize("content_type", MESSAGES)
def test_terms_that_are_nested_too_deeply_are_rejected(content_type):
    """At once, however deep; in each format, as they could not be written as Turtle."""
    for levels, is_accepted in ((DEEPEST, True), (DEEPEST + 1, False), (LEVELS, False)):
        text = term(levels)
        value = MESSAGES[content_type].format(json.dumps(text) if "json" in content_type else text)
        result = decoded(value.encode(), content_type.encode())
        assert [len(each.args) for each in result.updates] == [1] * is_accepted
        assert len(result.rejected) == (not is_accepted)


@pytest.mark.parametrize("content_type", MESSAGES)
def test_a_content_type_may_have_a_version(content_type):
    """It changes nothing, as no other parameter does."""
    value = MESSAGES[content_type].format(
        json.dumps(term(2)) if "json" in content_type else term(2)
    )
    for parameters in ("; version=1.2", ';version="1.2-basic"; charset=utf-8'):
        result = decoded(value.encode(), f"{content_type}{parameters}".encode())
        assert [len(each.args) for each in result.updates] == [1]


def test_what_is_written_around_the_deepest_term_is_too_deep():
    """A reifier of Turtle adds a level, and so does a function, which has no value then."""
    value = f"<< <a:s> <a:p> {term(DEEPEST)} >> <a:p> 1 ."
    [rejected] = decoded(value.encode(), b"text/turtle").rejected
    assert "triple terms are nested more than 500 levels deep" in rejected.detail
    assert apply("triple", ["<a:s>", "<a:p>", term(DEEPEST - 1)]) == term(DEEPEST)
    assert apply("triple", ["<a:s>", "<a:p>", term(DEEPEST)]) is None


def test_a_file_with_a_term_that_is_nested_too_deeply_is_refused(tmp_path):
    """With the line; as a value of Python with the reason."""
    path = tmp_path / "a.nt"
    path.write_text(f"<a:s> <a:p> <a:o> .\n<a:s> <a:p> {term(LEVELS)} .\n")
    with pytest.raises(DataError, match=r"a\.nt:2: .*more than 500 levels deep"):
        list(load(path, Dictionary()))
    with pytest.raises(TermError, match="more than 500 levels deep"):
        Term.parse(term(LEVELS))


SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> .
<a:S> a sh:NodeShape ; sh:targetClass <a:C> ; """


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXTS["terms.ttl"].decode(), "SR224 this is not Turtle: it is nested more than 500"),
        *(
            (
                f"{SHAPES}{before}{opening * 2000}{inner}{closing * 2000}{after} .",
                "SR223 shapes, ",
            )
            for before, opening, inner, closing, after in (
                ("sh:not ", "[ sh:not ", "[ sh:class <a:D> ]", " ]", ""),
                ("sh:and ", "( [ sh:and ", "( [ sh:class <a:D> ] )", " ] )", ""),
                ("sh:property [ sh:path ", "( <a:q> ", "<a:p>", " )", " ; sh:minCount 1 ]"),
            )
        ),
    ],
)
def test_shapes_that_are_nested_too_deeply_are_refused(text, message):
    """With a diagnostic, whatever nests."""
    with pytest.raises(ProgramError, match=message):
        check_source(text, "shapes.ttl")


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
