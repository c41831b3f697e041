"""A search of files for terms, byte by byte. Invariant: what is compressed is decoded too.

An IRI is found with or without its brackets, a literal also with the escapes of JSON; none is found
as the beginning of another term, such as `_:b1` in `_:b10`. Parquet files are searched as they are
on the disk and, column by column, as readers see them.
"""

from __future__ import annotations

import json
import mmap
import re
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamreasoner.rdf.term_kind import is_blank_node, is_iri, is_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

_END = rb"(?![^\x00-\x20<>\"{}|^`\\])"
"""What may follow an IRI: no character of an IRI."""


_LABEL = r"0-9A-Za-z_\-\x80-\xff"
_NOT_AFTER_LABEL = rf"\.*(?:[^.{_LABEL}]|$)"
"""What may follow a blank node, by bytes; a label may have dots inside."""
_NOT_AFTER_TAG = "(?:[^0-9A-Za-z-]|$)"
_NOT_AFTER_TEXT = r"(?:[^@^]|$)"
_TAGGED = re.compile(r'"@[A-Za-z0-9-]+\Z')


class Occurrence(NamedTuple):
    """A file that holds a term."""

    path: Path
    term: str


def occurrences(folders: Iterable[Path], terms: Sequence[str]) -> Iterator[Occurrence]:
    """The files below some folders that hold one of some terms.

    Raises:
        OSError: A file cannot be read.
    """
    files = sorted({file for folder in folders for file in folder.rglob("*") if file.is_file()})
    patterns = [(term, re.compile(_pattern(term))) for term in terms]
    for path in files:
        found = set(_in_bytes(path, patterns))
        if path.suffix == ".parquet":
            found |= set(_in_columns(path, terms))
        yield from (Occurrence(path, term) for term in terms if term in found)


def _pattern(term: str) -> bytes:
    if is_iri(term):
        return re.escape(term[1:-1].encode()) + _END
    forms = {term, json.dumps(term)[1:-1], json.dumps(term, ensure_ascii=False)[1:-1]}
    found = b"|".join(re.escape(form.encode()) for form in sorted(forms))
    return b"(?:%b)%b" % (found, _after(term).encode())


def _after(term: str) -> str:
    """A pattern of what may follow a term that is not the beginning of another one."""
    if is_blank_node(term):
        return _NOT_AFTER_LABEL
    if not is_literal(term):
        return ""
    if _TAGGED.search(term):
        return _NOT_AFTER_TAG
    return _NOT_AFTER_TEXT if term.endswith('"') else ""


def _in_bytes(path: Path, patterns: Sequence[tuple[str, re.Pattern[bytes]]]) -> Iterator[str]:
    if not path.stat().st_size:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield from [term for term, pattern in patterns if pattern.search(data)]


def _in_columns(path: Path, terms: Sequence[str]) -> Iterator[str]:
    try:
        file = pq.ParquetFile(path)
        for batch in file.iter_batches():
            for texts in map(_texts, batch.columns):
                yield from (term for term in terms for each in texts if _holds(each, term))
    except pa.ArrowException:
        # The rest of a write that was interrupted; its bytes have been searched.
        return


def _holds(texts: pa.Array, term: str) -> bool:
    pattern = f"{re.escape(term)}{_after(term)}".replace(r"\xff", r"\x{10ffff}")
    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())


def _texts(column: pa.Array) -> list[pa.Array]:
    """All strings of a column, however deeply nested."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        return [column]
    if pa.types.is_struct(kind):
        return [each for field in column.flatten() for each in _texts(field)]
    if pa.types.is_map(kind):
        return [*_texts(column.keys), *_texts(column.items)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _texts(column.flatten())
    return []
