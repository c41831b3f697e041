"""Files of every format: read alike at once and in chunks, sent as messages, or refused.

An input is a line with the name of the file, where `header:` before it means that CSV has one, and
its content.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from fuzz.messages import table
from fuzz.target import ACCEPTED
from unit.io.test_message_formats import GOOD, LINE

from streamreasoner.errors import DataError
from streamreasoner.io.codec.decode import NO_LIMITS, Codec
from streamreasoner.io.codec.from_files import Sending, messages_of
from streamreasoner.io.files.documents import Reading, documents, load
from streamreasoner.io.formats.reading.compression import SUFFIXES
from streamreasoner.io.formats.reading.document import Document
from streamreasoner.io.formats.registry import DOCUMENTS, MESSAGES, of_suffix, read_facts
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamreasoner.io.formats.reading.format import Facts

_SUFFIXES = tuple(suffix for each in DOCUMENTS for suffix in each.suffixes)
_NAMES = tuple(
    f"edge{suffix}" for suffix in (*_SUFFIXES, ".jsonl", ".nt.gz", ".csv.xz", ".ttl.bz2", ".nq.zst")
)
_HEADER = b"header:"
_CHUNK = 7
_UNLABELLED = re.compile("_:[a-f][0-9a-f]{20,}")
"""The random label of a node without one."""
_VARYING = re.compile(r".*edge\S*|\d+|'[^']*'|\"[^\"]*\"|<[^>]*>|[^\x20-\x7e]+")


class Files:
    """Documents that are loaded, and sources that are sent; see `Target`."""

    batch = 50

    def __init__(self) -> None:
        of_type = {name: each for each in MESSAGES for name in each.content_types}
        self.seeds = []
        for value, headers, _ in GOOD.values():
            format_ = of_type.get(headers.get("content-type", "application/json"))
            if value is not None and format_ is not None and format_.suffixes:
                content = value if isinstance(value, bytes) else value.encode()
                self.seeds.append(f"edge{format_.suffixes[0]}\n".encode() + content)
        self.seeds += [
            b'edge.jsonl\n{"predicate":"edge","args":[1,"<http://e/a>"],"diff":2}\n\n{"s":"<a:a>"}',
            b"header:edge.csv\nfrom,to\n1,<http://e/a>\n",
            b'edge.csv\n1.5,"a ""b"""\r\n_:x,1e3\r\n',
            b"edge.nt.gz\n" + gzip.compress(LINE.encode()),
            b"edge.ttl.bz2\n" + bz2.compress(LINE.encode()),
            b"edge.nq.zst\n" + pa.compress(LINE.encode(), codec="zstd", asbytes=True),
            b"edge.csv.xz\n" + lzma.compress(b"1,2\n3,4\n"),
            b"edge.nt\n" + f"{LINE}\n{LINE[:-9]}\n{LINE}".encode(),
        ]
        self.tokens = [f"{name}\n".encode() for name in _NAMES]
        self.tokens += [
            b"TX .\n",
            b"TA .\n",
            b"A ",
            b"D ",
            b'PA "" <http://e/> .\n',
            b"\xef\xbb\xbf",
        ]

    def check(self, inputs: Sequence[bytes]) -> list[str]:
        """See `Target`."""
        with tempfile.TemporaryDirectory(prefix="fuzz-files-") as folder:
            parts = (data.partition(b"\n") for data in inputs)
            return [self._outcome(Path(folder), first, content) for first, _, content in parts]

    def _outcome(self, folder: Path, first: bytes, content: bytes) -> str:
        name = first.removeprefix(_HEADER).decode("utf-8", "replace")
        path = folder / (name if name in _NAMES else _NAMES[len(name) % len(_NAMES)])
        header = first.startswith(_HEADER)
        path.write_bytes(content)
        format_ = of_suffix(path)
        sent = outcome(lambda: sent_facts(path, Sending(header=header)))
        if format_ not in DOCUMENTS:
            return self._shown(path, sent)
        loaded = outcome(
            lambda: facts(
                dictionary := Dictionary(), load(path, dictionary, Reading(header=header))
            )
        )
        assert same(loaded, sent), (loaded, sent)
        bad_lines: list[object] = []
        read = outcome(
            lambda: facts(
                dictionary := Dictionary(),
                load(path, dictionary, Reading(header=header, bad_lines=bad_lines)),
            )
        )
        assert bad_lines or same(read, loaded), (read, loaded)
        if path.suffix not in SUFFIXES and not isinstance(loaded, str):
            # The beginning of an ontology may tell another format than its name.
            [(format_, named)] = documents(path)
            chunks = (content[at : at + _CHUNK] for at in range(0, len(content), _CHUNK))
            document = Document(chunks, str(path), header=header, base=named.base_iri)
            again = outcome(
                lambda: facts(dictionary := Dictionary(), read_facts(format_, document, dictionary))
            )
            assert same(again, loaded), (again, loaded)
        return self._shown(path, loaded)

    def _shown(self, path: Path, found: Counter[object] | str) -> str:
        if isinstance(found, str):
            return f"{path.name}: {_VARYING.sub('', found)[:80]}"
        return f"{ACCEPTED}{path.name} {min(len(found), 3)}"


def outcome(read: object) -> Counter[object] | str:
    """The facts, or why there are none."""
    try:
        return read()
    except DataError as error:
        str(error).encode()
        return str(error)


def same(one: Counter[object] | str, other: Counter[object] | str) -> bool:
    """Whether both are refused, or both are the same facts but for labels that are random."""
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str)
    return unlabelled(one) == unlabelled(other)


def unlabelled(found: Counter[object]) -> Counter[str]:
    """Facts without the labels that are random."""
    texts: Counter[str] = Counter()
    for fact, diff in found.items():
        texts[_UNLABELLED.sub("_:", repr(fact))] += diff
    return texts


def facts(dictionary: Dictionary, blocks: Iterable[Facts]) -> Counter[object]:
    """The sum of facts."""
    sums: Counter[object] = Counter()
    for block in blocks:
        for ids, diff in zip(block.args, block.diff.tolist(), strict=True):
            sums[block.predicate, tuple(dictionary.decode(ids).to_pylist())] += diff
    return sums


def sent_facts(path: Path, sending: Sending) -> Counter[object]:
    """What the messages that are made of a file say, of which none is rejected."""
    rows = [
        {"topic": "in", "key": each.key, "value": each.value, "headers": of_message(each.headers)}
        for each in messages_of(path, sending)
    ]
    sums: Counter[object] = Counter()
    dictionary = Dictionary()
    decoded = Codec(dictionary, None, NO_LIMITS).decode(table(rows))
    if path.suffix == ".jsonl":
        # Its lines are sent as they are.
        for each in decoded.rejected:
            raise DataError(each.detail)
    assert decoded.rejected == (), (path, decoded.rejected)
    for each in decoded.updates:
        for ids, diff in zip(each.args, each.multiplicity.tolist(), strict=True):
            sums[each.predicate, tuple(dictionary.decode(ids).to_pylist())] += diff
    return sums


def of_message(headers: Iterable[tuple[str, bytes]]) -> list[dict[str, object]]:
    """Headers as the source has them."""
    return [{"key": key, "value": value} for key, value in headers]
