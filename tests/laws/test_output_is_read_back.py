"""What a format writes, the codec reads as the same updates of the same terms."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2

from streamreasoner.errors import TermError
from streamreasoner.format_names import WRITTEN
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.codec.encode import ANY_PARTITION, ChangeEncoder
from streamreasoner.io.codec.partitions import partitions_of
from streamreasoner.io.formats.registry import message_writer, of_name
from streamreasoner.io.formats.writing import writer
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.term_kind import TermKind
from streamreasoner.rdf.terms import Term, canonical

NAMES = {1: "flag", 2: "edge", 3: "triple", 4: "quad"}
ARITIES = {name: arity for arity, name in NAMES.items()}
OPTIONS = InputOptions(max_message_bytes=1_000_000, max_term_bytes=100_000)
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
XSD = "http://www.w3.org/2001/XMLSchema#"

ODD = '\\\\"\n\r\t\b\f\0\x01\x7f\x85\u2028\ufeff\ufffe\U0001f600é .#<>@^_:'
TEXT = st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"]), max_size=6)


def is_valid(iri):
    """Whether messages may have an IRI."""
    with suppress(TermError):
        return bool(canonical(iri))
    return False


OF_IRIS = [each for each in f"{ODD.replace('#', '')}a/?'()*;,&=+$!~" if is_valid(f"<u:{each}>")]
# Two valid parts may not be valid together: `//::` is an authority with a wrong port.
IRIS = st.text(st.sampled_from(OF_IRIS), max_size=4).map("<u:{}#f>".format).filter(is_valid)
RESOURCES = IRIS | st.sampled_from(["_:b", "_:0.x-·", "_:é_"])
LITERALS = st.one_of(
    TEXT.map(lambda text: str(Term(TermKind.LITERAL, text, datatype=f"{XSD}string"))),
    TEXT.map(lambda text: str(Term(TermKind.LITERAL, text, datatype=f"{XSD}integer"))),
    st.builds(
        lambda text, tag: str(Term(TermKind.LITERAL, text, language=tag)),
        TEXT,
        st.sampled_from(["en", "de-ch-1996"]),
    ),
    st.builds(
        lambda text, tag: str(Term(TermKind.LITERAL, text, language="ar-eg", direction=tag)),
        TEXT,
        st.sampled_from(["ltr", "rtl"]),
    ),
)
TERMS = st.recursive(
    RESOURCES | LITERALS,
    lambda inner: st.tuples(RESOURCES, IRIS, inner).map("<<( {0[0]} {0[1]} {0[2]} )>>".format),
    max_leaves=3,
)
FACTS = st.one_of(
    st.tuples(RESOURCES, IRIS, TERMS),
    st.tuples(RESOURCES, IRIS, TERMS, RESOURCES),
    st.tuples(TERMS, TERMS, TERMS),
    st.tuples(TERMS, TERMS),
)
CHANGES = st.dictionaries(FACTS, st.sampled_from([1, -1]), max_size=12)


def is_rdf(fact):
    """Whether a fact of `FACTS` is a triple or quad of RDF."""
    if len(fact) == 2 or fact[0].startswith(('"', "<<(")):
        return False
    return fact[1].startswith("<") and not fact[1].startswith("<<(")


def encoded(changes, name, partitions=3):
    """What a pipeline publishes of changes: (value, headers, partition) for each message."""
    groups = defaultdict(list)
    for fact, sign in changes.items():
        groups[NAMES[len(fact)]].append((fact, sign))
    encoder = ChangeEncoder(of_name(name), partitions)
    for predicate, group in sorted(groups.items()):
        columns = [
            pa.array(column, pa.large_string())
            for column in zip(*(fact for fact, _ in group), strict=True)
        ]
        diff = np.array([sign for _, sign in group], np.int8)
        for sent in encoder.encode((predicate, columns, diff), 1767225600123, 7):
            assert len(sent.values) == len(sent.keys)
            for value in sent.values:
                yield value, sent.headers, sent.partition


def read(messages):
    """The sum of the updates in messages, by fact; none of the messages is rejected."""
    batch = pa.table(
        {
            "value": pa.array([value for value, _, _ in messages], pa.binary()),
            "timestamp": pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * len(messages)),
            "headers": pa.array(
                [
                    [{"key": key, "value": value} for key, value in headers]
                    for _, headers, _ in messages
                ],
                HEADERS,
            ),
        }
    )
    dictionary = Dictionary()
    decoded = Codec(dictionary, ARITIES, OPTIONS).decode(batch)
    assert decoded.rejected == ()
    updates = Counter()
    for each in decoded.updates:
        for ids, diff in zip(each.args, each.multiplicity.tolist(), strict=True):
            updates[tuple(dictionary.decode(ids).to_pylist())] += diff
    return updates


@given(changes=CHANGES)
def test_what_is_written_is_read_as_written(changes):
    """In every format. Facts that it cannot say are messages in JSON, one each."""
    for name in WRITTEN:
        check(name, changes)


def check(name, changes):
    """Write changes in a format, and read them."""
    readable = {fact: changes[fact] for fact in changes if is_rdf(fact) or len(fact) == 2}
    known = message_writer(of_name(name)).predicates
    said = {
        fact: sign
        for fact, sign in changes.items()
        if known is None or (NAMES[len(fact)] in known and is_rdf(fact))
    }
    content_type = of_name(name).content_types[0].encode()
    messages = list(encoded(changes, name))
    in_format = [each for each in messages if dict(each[1])["content-type"] == content_type]
    if name == "json":
        assert len(in_format) == len(changes)
    else:
        assert len(messages) - len(in_format) == len(changes) - len(said)
        if said.keys() <= readable.keys():
            assert read(in_format) == said
    if len(readable) == len(changes):
        assert read(messages) == changes


@given(changes=CHANGES, partitions=st.integers(1, 5))
def test_a_subject_stays_in_its_partition(changes, partitions):
    """That which Kafka's clients choose for the subject as a key."""
    for value, headers, partition in encoded(changes, "rdf-patch", partitions):
        if dict(headers)["content-type"] == b"application/json":
            assert partition == ANY_PARTITION
            continue
        for fact in read([(value, headers, partition)]):
            assert partition == (murmur2(fact[0].encode()) & 0x7FFFFFFF) % partitions


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(1, 7))
def test_partitions_are_those_of_kafka(keys, count):
    """For keys of any bytes and lengths, also in a slice of an array."""
    column = pa.array([b"before", *keys], pa.large_binary()).slice(1)
    assert partitions_of(column, count).tolist() == [
        (murmur2(key) & 0x7FFFFFFF) % count for key in keys
    ]


@pytest.mark.parametrize("name", WRITTEN[1:])
def test_messages_are_bounded(name):
    """By updates and by bytes; only a longer fact is longer, and it is alone."""
    sizes = [1] * 2500 + [400_000] * 3 + [2_000_000] + [1] * 2
    changes = {
        ("<u:s>", "<u:p>", f'"{number}{"x" * size}"'): 1 for number, size in enumerate(sizes)
    }
    messages = list(encoded(changes, name))
    lines = [value.count(b"<u:p>") for value, _, _ in messages]
    assert sum(lines) == len(changes)
    assert max(lines) == writer.MOST_UPDATES
    assert all(
        len(value) <= writer.MOST_BYTES or count == 1
        for (value, _, _), count in zip(messages, lines, strict=True)
    )
    assert len(messages) == 6
