"""A dictionary in a Delta table agrees with one in memory."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from spark_backend import MARKS

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.tables import distributed_dictionary as distributed
from streamreasoner.backends.spark.tables.distributed_dictionary import DistributedDictionary
from streamreasoner.errors import OutOfIdsError, StateError
from streamreasoner.rdf.dictionary import Dictionary

pytestmark = MARKS

TERMS = [f"<http://example.org/ä'{number}>" for number in range(60)]


def column(terms):
    """A column of terms."""
    return pa.array(terms, pa.large_string())


def stored(spark, dictionary, path):
    """Write the terms of a dictionary in memory as a pipeline does."""
    texts = dictionary.terms(0, len(dictionary)).cast(pa.string())
    rows = pa.table({"id": pa.array(range(len(dictionary)), pa.int64()), "term": texts})
    spark.createDataFrame(rows).write.format("delta").mode("overwrite").save(str(path))
    return path


def test_ids_are_those_of_a_dictionary_in_memory(spark, tmp_path, monkeypatch):
    """Terms keep their ids when they move to the table and are evicted from the driver."""
    monkeypatch.setattr(distributed, "NEWEST", 8)
    monkeypatch.setattr(distributed, "REMEMBERED", 4)
    generator = random.Random(7)
    memory, table = Dictionary(), DistributedDictionary(spark, f"file:{tmp_path}/index")
    for _ in range(5):
        terms = generator.choices(TERMS, k=12)
        assert table.encode(column(terms)).tolist() == memory.encode(column(terms)).tolist()
        assert len(table) == len(memory)
        table.settle(column(terms[:1]))
        ids = [generator.randrange(len(memory)) for _ in range(9)]
        assert table.decode(ids).to_pylist() == memory.decode(ids).to_pylist()
        term = generator.choice(TERMS)
        assert table.find(term) == memory.find(term)
    invalid = table.encode_validated(pa.array([TERMS[0], None, "no term"]))
    assert invalid.tolist() == [memory.intern(TERMS[0]), -1, -1]
    frame = {row.id: row.term for row in table.frame().collect()}
    assert frame == dict(enumerate(memory.terms(0, len(memory)).to_pylist()))


def test_terms_that_are_kept_need_no_table(spark, tmp_path, monkeypatch):
    """Evicting terms keeps some in the driver, so the next epoch does not look them up."""
    monkeypatch.setattr(distributed, "REMEMBERED", 4)
    # 8 KiB are the memory of 8 terms.
    table = DistributedDictionary(spark, f"file:{tmp_path}/index", memory=8 * 1024)
    looked_up = []
    find = distributed.TermTable.find
    monkeypatch.setattr(
        distributed.TermTable,
        "find",
        lambda self, terms: looked_up.extend(terms) or find(self, terms),
    )
    table.encode(column(TERMS[:20]))
    kept = column([TERMS[9], TERMS[3], TERMS[9]])
    for _ in range(2):  # the terms of an epoch are moved after the one that follows
        table.settle(kept)
    looked_up.clear()

    assert table.encode(kept).tolist() == [9, 3, 9]
    assert table.decode([3, 9]).to_pylist() == [TERMS[3], TERMS[9]]
    assert not looked_up
    assert table.encode(column(TERMS[:20])).tolist() == list(range(20))
    assert set(looked_up) == set(TERMS[:20]) - {TERMS[3], TERMS[9]}


def test_ids_run_out_after_as_many_terms_as_in_memory(spark, tmp_path, monkeypatch):
    """The last id is used, and no term gets one after it."""
    monkeypatch.setattr(distributed, "MAX_TERMS", 4)
    table = DistributedDictionary(spark, f"file:{tmp_path}/index")
    assert table.encode(column(TERMS[:4])).tolist() == [0, 1, 2, 3]
    assert table.ids.ratio == 1
    with pytest.raises(OutOfIdsError, match="no id is left after 4 terms"):
        table.intern(TERMS[4])


def test_a_new_process_takes_up_what_is_stored(spark, tmp_path, monkeypatch):
    """Terms that the table has, those it lacks, and none that were never stored."""
    monkeypatch.setattr(distributed, "NEWEST", 8)
    place = f"file:{tmp_path}/index"
    memory = Dictionary()
    for known in (20, 24, 50):
        memory.encode(column(TERMS[:known]))
        path = stored(spark, memory, tmp_path / "terms")
        table = DistributedDictionary(spark, place)
        table.resume(path)
        assert len(table) == known
        assert table.encode(column(TERMS)).tolist()[:known] == list(range(known))
        table.settle(column([]))

    other = Dictionary()
    other.encode(column(reversed(TERMS)))
    table = DistributedDictionary(spark, place)
    table.resume(stored(spark, other, tmp_path / "terms"))
    assert table.decode([0, 59]).to_pylist() == [TERMS[59], TERMS[0]]


def test_ids_with_a_gap_are_refused(spark, tmp_path):
    """A table that lacks a term is refused."""
    rows = pa.table({"id": pa.array([0, 2], pa.int64()), "term": ["<a:a>", "<a:b>"]})
    path = tmp_path / "terms"
    spark.createDataFrame(rows).write.format("delta").save(str(path))
    with pytest.raises(StateError, match="are not 0 to 1 without gap"):
        DistributedDictionary(spark, f"file:{tmp_path}/index").resume(path)


def test_a_state_that_is_void_is_discarded(spark, tmp_path):
    """What an erasure has marked is deleted once, before the state is opened."""
    place, void = tmp_path / "spark", tmp_path / "void"
    (place / "terms").mkdir(parents=True)
    files.discard(spark, f"file:{place}", void)
    assert place.exists()

    void.touch()
    files.discard(spark, f"file:{place}", void)
    assert not place.exists()
    assert not void.exists()
    files.discard(spark, f"file:{place}", void)
