"""RDF Patch, in documents and messages: additions, deletions, prefixes and transactions.

The format is that of Apache Jena, https://afs.github.io/rdf-delta/rdf-patch.html. An addition is an
update of +1, a deletion of -1. What stands between TX and TA is dropped. Headers, and prefixes that
a patch adds to a data set, change no facts; the prefixes hold for the rest of the patch.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading import lines
from streamreasoner.io.formats.reading.document import Document
from streamreasoner.io.formats.reading.format import Facts
from streamreasoner.io.formats.reading.line_document import CHUNK_BYTES, read_rows
from streamreasoner.io.formats.reading.line_messages import read_lines
from streamreasoner.io.formats.reading.scan import by_graph
from streamreasoner.io.formats.writing.writer import Writer, spaced, statements
from streamreasoner.rdf.kernels import line_scanner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.format import EncodedUpdates
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.reading.scan import Row
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.io.formats.writing.writer import Stamp
    from streamreasoner.rdf.dictionary import Dictionary

_OPERATION = re.compile(r"[ \t]*([A-Z]+)(?![^ \t.])[ \t]*")
_OPERATIONS = "H, TX, TC, TA, PA, PD, A or D"
_SIGNS = {"A": 1, "D": -1}
_END = re.compile(r"\.[ \t]*(?:#.*)?")
_HEADER = re.compile(rf"[^ \t]+[ \t]+[^ \t].*?[ \t]*{_END.pattern}")
_NAME = r'(?:"(?P<quoted_name>[^"\\:]*):?"|(?P<name>[^ \t"<>:]*):)'
_ADDED_PREFIX = re.compile(
    rf'{_NAME}[ \t]*(?:"(?P<quoted>[^"\\]*)"|<(?P<iri>[^>]*)>)[ \t]*{_END.pattern}'
)
_DELETED_PREFIX = re.compile(rf"{_NAME}[ \t]*{_END.pattern}")
# What a line of terms is made of; names with a prefix and blank nodes as IRIs are rewritten.
_TOKEN = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|<_:(?P<node>[^>]*)>|<[^>]*>|_:[^ \t<"]*'
    r'|(?P<prefix>[^ \t"<>@^:.#][^ \t"<>@^:]*|):(?P<local>[^ \t"<>]*?)(?=\.*(?:[ \t]|$))'
)
_BEFORE = -1
"""The row at which a transaction began, if it was in an earlier block."""
_ESCAPED = re.compile(r"\\(.)")
_ADDITION, _DELETION = (pa.scalar(name, pa.large_string()) for name in _SIGNS)


def read_facts(
    document: Document, dictionary: Dictionary, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[Facts]:
    """Triples and quads of a patch, with their signs; memory holds one of its transactions.

    Args:
        document: The patch; bad lines always raise, because what follows one cannot be trusted.
        dictionary: Encodes the terms; new ones are added.
        chunk_bytes: Bytes of text in memory at a time; grows to fit a longer line.

    Raises:
        DataError: The document cannot be read, or is malformed; has its name and the line.
        EngineError: The dictionary is full.
    """
    source, patch = document.source, RdfPatch()
    name = str(source) if isinstance(source, str | Path) else document.name
    # Rows of the open transaction, from earlier blocks.
    held: list[NDArray[np.int32]] = []
    for rows in read_rows(Document(source, name), dictionary, patch, chunk_bytes):
        if patch.undone_before():
            held.clear()
        if patch.open_before:
            held.append(rows.copy())
            continue
        end = patch.end_block(len(rows))
        for complete in (*held, rows[:end]):
            yield from _facts(complete)
        held = [rows[end:].copy()]
    if patch.undone_before():
        held.clear()
    try:
        patch.end()
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    for complete in held:
        yield from _facts(complete)


def _facts(rows: NDArray[np.int32]) -> Iterator[Facts]:
    for predicate, arity, chosen in by_graph(rows):
        signs = rows[chosen, line_scanner.SIGN].astype(np.int64)
        yield Facts(predicate, rows[chosen, :arity], signs)


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> Iterator[EncodedUpdates]:
    """Triples and quads of messages; see `MessageReader`."""
    return read_lines(messages, dictionary, rejected, RdfPatch())


def write_texts(
    predicate: str,
    columns: Sequence[pa.Array],
    diff: NDArray[np.integer],
    stamp: Stamp | None = None,
) -> pa.Array:
    """An addition or deletion for each update; see `Texts`."""
    wrong = diff[np.abs(diff) != 1]
    if len(wrong):
        raise DataError(
            f"A patch adds or deletes a fact once, but a multiplicity is {wrong[0]}. Use 1 or -1,"
            " or another format."
        )
    operations = pc.if_else(pa.array(diff > 0), _ADDITION, _DELETION)
    return spaced(operations, statements(predicate, columns, diff, stamp))


WRITER = Writer(write_texts, signed=True, opening=b"TX .\n", closing=b"\nTC .\n")


class RdfPatch:
    """Lines of a patch, in one text or in blocks of rows; rows are undone by TA."""

    scanned = line_scanner.GRAPHS | line_scanner.SIGNS

    def __init__(self) -> None:
        self._prefixes: dict[str, str] = {}
        self._began: int | None = None
        self._undone = False

    @property
    def open_before(self) -> bool:
        """Whether the transaction is open that an earlier block began."""
        return self._began == _BEFORE

    def undone_before(self) -> bool:
        """Whether TA has ended such a transaction, since the last call."""
        undone, self._undone = self._undone, False
        return undone

    def end_block(self, rows: int) -> int:
        """End a block of that many rows; how many of them belong to no open transaction."""
        if self._began is None:
            return rows
        began, self._began = self._began, _BEFORE
        return began

    def begin(self) -> None:
        """A patch begins without prefixes, outside of a transaction."""
        self._prefixes.clear()
        self._began = None

    def end(self) -> None:
        """See `Syntax`."""
        if self._began is not None:
            raise DataError("The last transaction has neither TC nor TA. Add one of them.")

    def read(self, line: bytes, rows: int) -> tuple[int, list[Row]]:
        """See `Syntax`."""
        new: list[Row] = []
        for text in lines.parts(line):
            operation = _OPERATION.match(text)
            if operation is None:
                raise DataError(f"The line begins with none of {_OPERATIONS}.")
            name, rest = operation[1], text[operation.end() :]
            match name:
                case "A" | "D":
                    # Blanks in place of the operation, so that characters are counted from it.
                    terms = " " * operation.end() + self._expanded(rest)
                    new += [(_SIGNS[name], quad) for quad in lines.quads(terms.encode())]
                case "TX":
                    self._begin_transaction(rest, rows + len(new))
                case "TC":
                    self._end_transaction(name, rest)
                case "TA":
                    kept = self._end_transaction(name, rest)
                    new = new[: max(kept - rows, 0)]
                    rows = min(kept, rows)
                case "PA":
                    added = _matched(_ADDED_PREFIX, name, rest, 'PA "name" <IRI> .')
                    self._prefixes[_name(added)] = added["quoted"] or added["iri"] or ""
                case "PD":
                    deleted = _matched(_DELETED_PREFIX, name, rest, 'PD "name" .')
                    self._prefixes.pop(_name(deleted), None)
                case "H":
                    _matched(_HEADER, name, rest, "H name value .")
                case _:
                    raise DataError(f"The operation {name} is none of {_OPERATIONS}.")
        return rows, new

    def _begin_transaction(self, rest: str, rows: int) -> None:
        _matched(_END, "TX", rest, "TX .")
        if self._began is not None:
            raise DataError("TX within a transaction; end that one with TC or TA.")
        self._began = rows

    def _end_transaction(self, name: str, rest: str) -> int:
        """End the transaction; how many rows there were before it."""
        _matched(_END, name, rest, f"{name} .")
        if self._began is None:
            raise DataError(f"{name} ends no transaction; begin one with TX.")
        began, self._began = self._began, None
        if began == _BEFORE:
            self._undone = name == "TA"
            return 0
        return began

    def _expanded(self, text: str) -> str:
        """The terms of a line in the syntax of N-Quads."""
        return _TOKEN.sub(self._expanded_token, text)

    def _expanded_token(self, token: re.Match[str]) -> str:
        if token["node"] is not None:
            return f"_:{token['node']}"
        if token["prefix"] is None:
            return token[0]
        if token["prefix"] not in self._prefixes:
            raise DataError(
                f"The prefix {token['prefix']}: of {token[0]} is unknown; add it with PA before."
            )
        local = _ESCAPED.sub(r"\1", token["local"])
        return f"<{self._prefixes[token['prefix']]}{local}>"


def _matched(pattern: re.Pattern[str], name: str, rest: str, allowed: str) -> re.Match[str]:
    found = pattern.fullmatch(rest)
    if found is None:
        raise DataError(f"{name} is not followed by what belongs to it: {allowed}")
    return found


def _name(prefix: re.Match[str]) -> str:
    return prefix["quoted_name"] or prefix["name"] or ""
