"""Files that the driver reads itself."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

from streamreasoner.backends.spark.files import UnreadableFileError, explained, local_path
from streamreasoner.backends.spark.queries.columns import schema
from streamreasoner.backends.spark.tables import table_files
from streamreasoner.errors import StateError

FORM = schema(("a0", "a1", "iteration", "multiplicity"))


@pytest.fixture
def place(tmp_path):
    """A file of two epochs, without the column `a1`, in a folder with an odd name."""
    path = tmp_path / "a b?c#d%20.parquet"
    data = {"a0": [1, 2], "iteration": [0, 3], "multiplicity": [1, -1], "epoch": [4, 5]}
    pq.write_table(pa.table(data), path, write_page_checksum=True, compression="none")
    return f"file:{path}"


@pytest.mark.parametrize(("before", "rows"), [(6, 2), (5, 1), (4, 0)])
def test_rows_of_later_epochs_are_left_out_and_missing_columns_are_zero(place, before, rows):
    """An epoch that the trace may not have yet is not read."""
    table = table_files.read([place, place], FORM, before)

    assert table.schema == FORM
    expected = [{"a0": 1, "a1": 0, "iteration": 0, "multiplicity": 1}]
    expected += [{"a0": 2, "a1": 0, "iteration": 3, "multiplicity": -1}]
    assert table.to_pylist() == expected[:rows] * 2


def test_damage_is_noticed_and_the_file_is_named(place):
    """A flipped bit of a page fails the read."""
    with Path(local_path(place)).open("r+b") as file:
        meta = pq.read_metadata(local_path(place)).row_group(0).column(0)
        file.seek(meta.data_page_offset + meta.total_compressed_size - 1)
        file.write(b"\x55")

    with pytest.raises(UnreadableFileError, match=r"a b\?c#d%20\.parquet"):
        table_files.read([place], FORM, 9)


@pytest.mark.parametrize(
    ("cause", "raised"),
    [
        ("java.io.FileNotFoundException: a.parquet", StateError),
        ("java.lang.OutOfMemoryError: Java heap space", PySparkException),
    ],
)
def test_only_what_is_about_files_is_explained_by_them(cause, raised):
    """A call that reads a file may fail for another reason, which no deletion of files removes."""

    class Reader:
        """Reads files of a place."""

        place = "file:/a"

        @explained
        def read(self):
            """A call that fails."""
            raise PySparkException(f"An error occurred while calling o1.parquet.\n: {cause}")

    with pytest.raises(raised, match=cause):
        Reader().read()


def test_places_are_paths():
    """Hadoop writes a place with one slash or three."""
    assert local_path("file:/a/b") == local_path("file:///a/b") == "/a/b"
