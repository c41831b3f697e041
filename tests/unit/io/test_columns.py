"""Parquet files and Delta tables are read as the same triples and quads as lines of N-Quads."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamreasoner.errors import DataError
from streamreasoner.io.files.documents import load
from streamreasoner.rdf.dictionary import Dictionary

NODES = st.sampled_from(["<http://e/a>", "_:b", "<http://e/é>"])
IRIS = st.sampled_from(["<http://e/p>", "<http://e/q>"])
OBJECTS = st.one_of(NODES, st.sampled_from(['"x"', '"\\u00e9"@EN', '"1"^^<http://e/t>']))
ROWS = st.lists(st.tuples(NODES, IRIS, OBJECTS, st.one_of(st.none(), NODES)), max_size=12)


def facts(path):
    """The facts of a file or table, in any order."""
    dictionary, found = Dictionary(), []
    for each in load(path, dictionary):
        rows = dictionary.decode(each.args).to_pylist()
        arity = each.args.shape[1]
        found += [(each.predicate, *rows[at : at + arity]) for at in range(0, len(rows), arity)]
    return sorted(found)


def table(rows, names="spog"):
    """Columns of texts."""
    columns = [*zip(*rows, strict=True)] or [[] for _ in names]
    return pa.table([pa.array(column, pa.string()) for column in columns], list(names))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.sampled_from([None, ["p"], ["g", "p"]]))
def test_columns_are_read_as_lines(tmp_path_factory, rows, partitions):
    """Of one file, and of a Delta table of several commits, with values in its log or not."""
    folder = tmp_path_factory.mktemp("columns")
    lines = (" ".join([*filter(None, row), "."]) for row in rows)
    (folder / "facts.nq").write_text("\n".join(lines), encoding="utf-8")
    pq.write_table(table(rows), folder / "facts.parquet", row_group_size=5)
    for part in (rows[:4], rows[4:]):
        write_deltalake(folder / "delta", table(part), mode="append", partition_by=partitions)
    expected = facts(folder / "facts.nq")

    assert facts(folder / "facts.parquet") == expected
    assert facts(folder / "delta") == expected


def test_the_newest_version_of_a_table_counts(tmp_path):
    """What was deleted or overwritten is not read, before a checkpoint of the log and after it."""
    first = [("<http://e/a>", "<http://e/p>", "<http://e/b>", None)]
    write_deltalake(tmp_path, table([*first, ("<http://e/c>", "<http://e/p>", '"x"', None)]))
    DeltaTable(tmp_path).delete("s = '<http://e/c>'")
    assert facts(tmp_path) == [("triple", *first[0][:3])]
    DeltaTable(tmp_path).create_checkpoint()
    write_deltalake(tmp_path, table(first), mode="append")
    assert facts(tmp_path) == [("triple", *first[0][:3])]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"s": ["<a:>"], "p": ["<a:>"]}, "has no column o; its columns are s, p"),
        ({"s": [1], "p": ["<a:>"], "o": ["<a:>"]}, "row 1: the subject: "),
        ({"s": [b"\xff"], "p": ["<a:>"], "o": ["<a:>"]}, "the column s has the type binary"),
        ({"s": ["<a:>"] * 2, "p": ["<a:>", None], "o": ["<a:>"] * 2}, "row 2: the predicate: it"),
        ({"s": ["a"], "p": ["<a:>"], "o": ["<a:>"]}, "row 1: the subject: "),
        ({"s": ['"a"'], "p": ["<a:>"], "o": ["<a:>"]}, "row 1: the subject is a literal"),
        ({"s": ["<a:>"], "p": ["_:a"], "o": ["<a:>"]}, "row 1: the predicate is not an IRI"),
        (
            {"s": ["<a:>"], "p": ["<a:>"], "o": ["<a:>"], "g": ['"a"']},
            "row 1: the graph is a literal",
        ),
    ],
)
def test_a_row_that_is_no_fact_is_refused(tmp_path, columns, words):
    """With the number of its row, and what is wrong."""
    pq.write_table(pa.table(columns), tmp_path / "facts.parquet")
    with pytest.raises(DataError, match=re.escape(words)):
        facts(tmp_path / "facts.parquet")


def test_what_cannot_be_read_is_refused(tmp_path):
    """A file that is not Parquet, and features of Delta that a reader must know."""
    (tmp_path / "facts.parquet").write_text("no")
    with pytest.raises(DataError, match=r"facts.parquet: cannot be read"):
        facts(tmp_path / "facts.parquet")
    with pytest.raises(DataError, match=r"missing.parquet: cannot be opened"):
        facts(tmp_path / "missing.parquet")
    rows = [("<http://e/a>", "<http://e/p>", "<http://e/b>", None)]
    properties = {"delta.enableDeletionVectors": "true"}
    write_deltalake(tmp_path / "delta", table(rows), configuration=properties)
    with pytest.raises(
        DataError,
        match=r"this Delta table cannot be read\. .*deletionVectors.* Drop these features with that"
        r" program \(ALTER TABLE \.\.\. DROP FEATURE\), or write a copy without them\.$",
    ):
        facts(tmp_path / "delta")
