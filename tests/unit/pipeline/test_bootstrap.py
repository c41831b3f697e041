"""The pieces of a first load, its record, and the checkpoint that it leaves to Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.config import parse
from streamreasoner.errors import ConfigError, DataError, StateError
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.io.spark.planting import PlantedCheckpoint
from streamreasoner.pipeline import recovery
from streamreasoner.pipeline.bootstrap.load import check_request
from streamreasoner.pipeline.bootstrap.pieces import Block, Pieces
from streamreasoner.pipeline.bootstrap.record import Bootstrap, BootstrapFile, Request, Source
from streamreasoner.rdf.dictionary import Dictionary

STARTS = {"control": {"0": 3}, "in": {"0": 17, "1": 0}}
TERMS = st.sampled_from([f"<urn:{letter}>" for letter in "abcdefg"])
BLOCKS = st.lists(
    st.tuples(
        st.sampled_from([("p", 0), ("q", 1), ("triple", 3)]),
        st.lists(st.tuples(TERMS, TERMS, TERMS, st.sampled_from([1, -1, 5])), min_size=1),
        st.booleans(),
    ),
    max_size=6,
)


@given(BLOCKS, st.integers(1, 9))
def test_pieces_are_the_facts_in_their_order(tmp_path_factory, blocks, most):
    """Whatever the blocks and their dictionaries are; a piece has the wanted number, or fewer."""
    dictionary, written, expected = Dictionary(), [], []
    for (predicate, arity), rows, other in blocks:
        dictionary = Dictionary() if other else dictionary
        terms = pa.array([row[i] for row in rows for i in range(arity)], pa.large_string())
        args = dictionary.encode(terms).reshape(len(rows), arity)
        diff = np.array([row[3] for row in rows], np.int64)
        written.append(Block(predicate, args, diff, dictionary, "file"))
        expected += [(predicate, row[:arity], row[3]) for row in rows]
    pieces, found = Pieces(tmp_path_factory.mktemp("pieces") / "bootstrap"), []
    digests, facts = pieces.write(written, most, 100)
    state = Dictionary()
    for number, digest in enumerate(digests):
        taken = pieces.read(number, digest, state, 7, "topic")
        assert 0 < sum(len(each.args) for each in taken) <= most
        places = np.concatenate([each.order for each in taken])
        assert (np.diff(places) > 0).all()
        for each in taken:
            assert (each.times == 7).all()
            assert each.source == "topic"
            for row, diff in zip(each.args, each.multiplicity, strict=True):
                found.append((each.predicate, tuple(state.decode(row).to_pylist()), int(diff)))
    assert found == expected
    assert facts == len(expected)
    if not any(other for *_, other in blocks[1:]):
        assert len(digests) == -(-len(expected) // most)
    if digests:
        with pytest.raises(StateError, match=r"0.facts or 0.terms is missing or damaged"):
            pieces.read(0, "0" * 64, state, None, "")


def test_a_term_that_is_too_long_leaves_no_piece(tmp_path):
    """The message has its length, the source and the key."""
    dictionary = Dictionary()
    args = dictionary.encode(pa.array(["<urn:long>"], pa.large_string())).reshape(1, 1)
    block = Block("p", args, np.ones(1, np.int64), dictionary, "facts.nt")
    with pytest.raises(DataError, match=r"facts.nt: a term has 10 bytes; pipeline.max_term_bytes"):
        Pieces(tmp_path / "bootstrap").write([block], 5, 9)
    assert not (tmp_path / "bootstrap").exists()


def test_a_planted_checkpoint_is_read_as_that_of_spark(tmp_path):
    """Each batch is planned, then committed, and reads nothing from where the input begins."""
    planted, empty = PlantedCheckpoint(tmp_path, STARTS, 1), Checkpoint.read(tmp_path)
    recovery.check_new(tmp_path / "tables", empty)
    planted.begin()
    assert Checkpoint.read(tmp_path).begun
    with pytest.raises(StateError, match="There is a state already"):
        recovery.check_new(tmp_path / "tables", Checkpoint.read(tmp_path))
    for batch in range(3):
        planted.plan(batch)
        planned = Checkpoint.read(tmp_path)
        assert (planned.replayed, planned.next) == (batch, batch)
        nothing = {
            topic: {number: [offset, offset] for number, offset in numbers.items()}
            for topic, numbers in STARTS.items()
        }
        assert planned.range(batch) == nothing
        planted.commit(batch)
        assert Checkpoint.read(tmp_path).committed == batch


def test_a_bootstrap_goes_on_with_the_same_request_only(tmp_path):
    """What differs is named; a file that cannot be read is not a bootstrap."""
    file = BootstrapFile(tmp_path)
    request = Request((Source("a.nt", 5, "f" * 64), Source("table")), "latest", 10)
    assert file.interrupted(request) is None
    begun = Bootstrap(request, 1, STARTS, ("a" * 64, "b" * 64), 20)
    file.write(begun)
    assert file.interrupted(request) == begun
    other = Request((Source("a.nt", 5, "e" * 64), Source("table")), "latest", 10, topic="in")
    with pytest.raises(
        StateError, match=r"sources: a.nt \(5 .* ffff.* not .*; topic: none, not in"
    ):
        file.interrupted(other)
    file.write(begun.finished())
    with pytest.raises(StateError, match="has been loaded already"):
        file.interrupted(request)
    (tmp_path / "bootstrap.json").write_text("{}")
    with pytest.raises(StateError, match="cannot be read"):
        file.read()


@pytest.mark.parametrize(
    ("sections", "options", "words"),
    [
        ({}, {"topic": "x"}, "--topic x is not one of kafka.input_topics: in, more"),
        ({"input": {"semantics_by_topic": {"in": "upsert"}}}, {"topic": "in"}, "have no keys"),
        ({"input": {"semantics": "set"}}, {}, "could retract .* --topic in"),
        ({"input": {"semantics": "upsert"}}, {}, "could retract .* Send the facts to a topic"),
        ({"output": {"envelope": "upsert"}}, {"publish": False}, "--no-publish: the topic out"),
        ({}, {"ts": 70_001}, "--ts is in the future"),
    ],
)
def test_a_request_that_cannot_be_right_is_refused(tmp_path, sections, options, words):
    """The message names the option; the same request without it fits."""
    kafka = {"bootstrap_servers": "host:1", "input_topics": ["in", "more"], "output_topic": "out"}
    rest = {"rules": {"program": "rdfs"}, "state": {"directory": "state"}}
    config = parse({"kafka": kafka, **rest, **sections}, {}, tmp_path)
    with pytest.raises(ConfigError, match=words):
        check_request(Request((), "earliest", 1, **options), config, 10_000)
    plain = parse({"kafka": kafka, **rest}, {}, tmp_path)
    check_request(Request((), "earliest", 1), plain, 10_000)
