"""The bytes of a document are the same, however they are packed and read."""

from __future__ import annotations

import gzip
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading.document import ChunkStream, opened, reading


@given(st.lists(st.binary(max_size=9)), st.integers(1, 12))
def test_chunks_are_read_in_order(chunks, size):
    """Whatever the sizes of chunks and reads, no byte is lost or repeated; the end stays."""
    stream = ChunkStream(iter(chunks))
    read = list(iter(lambda: stream.read(size), b""))

    assert b"".join(read) == b"".join(chunks)
    assert stream.read(size) == b""


@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)]
)
def test_a_packed_file_has_the_bytes_of_a_plain_one(tmp_path, suffix, pack):
    """The suffix says how; errors call the file by its path."""
    path = tmp_path / f"facts.nt{suffix}"
    path.write_bytes(pack(b"some bytes"))
    stream, name = opened(path, "unused")

    with stream:
        assert stream.read() == b"some bytes"
    assert name == str(path)


@pytest.mark.parametrize("error", [EOFError("cut"), lzma.LZMAError("cut"), OSError("cut")])
def test_what_goes_wrong_names_the_document(error):
    """Each library's error becomes one that a person can use."""
    with (
        pytest.raises(DataError, match=r"^facts\.nt: cannot be read \(cut\)\.$"),
        reading("facts.nt"),
    ):
        raise error
