"""Delta tables of terms: what is appended is found, by a new process too, or the table is new."""

from __future__ import annotations

import shutil
import zlib
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from spark_backend import MARKS

from streamreasoner.backends.spark.tables.delta_table import DeltaTable
from streamreasoner.backends.spark.tables.term_table import TermTable

pytestmark = MARKS

TERMS = [f"<http://example.org/ä'{number}>" for number in range(7)]
COUNTS = (2, 5)
"""The number of terms after each commit."""


@pytest.fixture(scope="module")
def written(spark, tmp_path_factory):
    """The folder of a table to which terms were appended twice."""
    folder = tmp_path_factory.mktemp("terms") / "table"
    table, before = TermTable(spark, f"file:{folder}"), 0
    for count in COUNTS:
        table.append(frame(spark, TERMS[:count], before), count, TERMS[count - 1])
        before = count
    return folder


def frame(spark, terms, first=0):
    """Terms with their ids."""
    ids = pa.array(range(first, len(terms)), pa.int64())
    return spark.createDataFrame(pa.table({"id": ids, "term": terms[first:]}))


def test_a_version_has_the_terms_until_then_twice(spark, written):
    """Once to find them by id, and once by term; the last version is the default."""
    table = DeltaTable(spark, f"file:{written}")
    for version, count in ((0, 2), (None, 5)):
        rows = [(row.id, row.term) for row in table.read(version).collect()]

        assert Counter(rows) == dict.fromkeys(enumerate(TERMS[:count]), 2)


def test_the_last_notes_tell_count_and_last_term(spark, written, tmp_path):
    """The latest is first; a table that does not exist has none."""
    table = DeltaTable(spark, f"file:{written}")
    notes = [
        (version, f"{count} {zlib.crc32(TERMS[count - 1].encode())}")
        for version, count in enumerate(COUNTS)
    ]
    table.check()

    assert table.notes(9) == notes[::-1]
    assert table.notes(1) == notes[1:]
    assert DeltaTable(spark, f"file:{tmp_path}/none").notes(9) == []


def test_a_new_process_finds_what_is_in_the_table(spark, written):
    """Ids of terms and terms of ids in the order asked for; unknown terms have no id."""
    table = TermTable(spark, f"file:{written}")
    table.open(frame(spark, TERMS), len(TERMS))

    assert table.count == 5
    assert table.find([TERMS[3], TERMS[6], TERMS[0], TERMS[3]]).tolist() == [3, -1, 0, 3]
    assert table.terms(np.array([4, 0, 3])).to_pylist() == [TERMS[4], TERMS[0], TERMS[3]]
    assert table.find([]).tolist() == table.terms(np.array([], np.int64)).to_pylist() == []
    assert {row.id: row.term for row in table.frame().collect()} == dict(enumerate(TERMS[:5]))


@pytest.mark.parametrize("terms", [TERMS[:4], [*TERMS[:4], "<urn:other>", TERMS[5]]])
def test_a_table_that_is_no_prefix_of_the_terms_is_cleared(spark, written, tmp_path, terms):
    """It is of another state: it has more terms, or another one."""
    shutil.copytree(written, tmp_path / "copy")
    table = TermTable(spark, f"file:{tmp_path}/copy")
    table.open(frame(spark, terms), len(terms))

    assert table.count == 0
    assert table.find(TERMS[:2]).tolist() == [-1, -1]
    assert table.frame().collect() == []
    assert not (tmp_path / "copy").exists()
