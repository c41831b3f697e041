"""RDF Patch, in documents and messages: additions, deletions, prefixes and transactions.

The format is that of Apache Jena, https://jena.apache.org/documentation/rdf-patch. An addition is
an update of +1, a deletion of -1. What stands between TX and TA is dropped. Headers, segments, and
prefixes that a patch adds to a data set, change no facts; the prefixes hold for the rest of the
patch.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.errors import DataError, TermError
from streamreasoner.io.formats.reading import lines
from streamreasoner.io.formats.reading.document import Document
from streamreasoner.io.formats.reading.format import Facts
from streamreasoner.io.formats.reading.line_document import CHUNK_BYTES, read_rows
from streamreasoner.io.formats.reading.line_messages import read_lines
from streamreasoner.io.formats.reading.patch_tokens import Kind, Token, Tokens
from streamreasoner.io.formats.reading.scan import by_graph
from streamreasoner.io.formats.writing.writer import Writer, spaced, statements
from streamreasoner.rdf.kernels import line_scanner
from streamreasoner.rdf.nesting import DEEPEST
from streamreasoner.rdf.term_kind import is_iri, is_literal, is_resource
from streamreasoner.rdf.terms import canonical
from streamreasoner.rdf.triple_terms import triple_term
from streamreasoner.rdf.vocabulary import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.format import EncodedUpdates
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.reading.scan import Row
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.io.formats.writing.writer import Stamp
    from streamreasoner.rdf.dictionary import Dictionary

_OPERATIONS = "H, TX (or TB), TC, TA, PA, PD, Z, A or D"
_CODES = frozenset({"H", "TX", "TB", "TC", "TA", "PA", "PD", "Z", "A", "D"})
_SIGNS = {"A": 1, "D": -1}
_MOST_TOKENS = 100 + 4 * DEEPEST
"""Of a row, so that one that never ends does not fill the memory. A triple term has 4."""
_ROLES = ("subject", "predicate", "object", "graph")
_COMPONENTS = 3
_TRIPLE_TERM = "subject predicate object )>>"
_NUMBERS = {Kind.INTEGER: XSD_INTEGER, Kind.DECIMAL: XSD_DECIMAL, Kind.DOUBLE: XSD_DOUBLE}
_CACHED_NODES = 1 << 16
_BEFORE = -1
"""The row at which a transaction began, if it was in an earlier block."""
_NOT_ALPHANUMERIC = re.compile("[^A-Za-z0-9]")
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
        self._tokens = Tokens()
        self._row: list[Token] = []
        self._began: int | None = None
        self._undone = False

    @property
    def is_open(self) -> bool:
        """Whether a row goes on in the next line."""
        return bool(self._row) or self._tokens.is_open

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
        """A patch begins without prefixes, outside of a transaction and of a row."""
        self._prefixes.clear()
        self._row.clear()
        self._tokens.reset()
        self._began = None

    def end(self) -> None:
        """See `Syntax`."""
        is_open = self.is_open
        self._row.clear()
        self._tokens.reset()
        if is_open:
            raise DataError("The last row has no end. Add the dot that ends it.")
        if self._began is not None:
            raise DataError("The last transaction has neither TC nor TA. Add one of them.")

    def read(self, line: bytes, rows: int) -> tuple[int, list[Row]]:
        """See `Syntax`."""
        new: list[Row] = []
        for token in self._tokens.of(lines.decoded(line)):
            self._row.append(token)
            if len(self._row) > _MOST_TOKENS:
                raise DataError("The row is too long. End it with a dot.")
            if token.kind is Kind.DOT:
                row, self._row = self._row, []
                rows, new = self._apply(row, rows, new)
        return rows, new

    def _apply(self, row: list[Token], rows: int, new: list[Row]) -> tuple[int, list[Row]]:
        """Apply a row; returns how many rows before this line stay, and those of this line."""
        code, rest = row[0], row[1:-1]
        match code.text if code.kind is Kind.WORD else "":
            case "A" | "D" as name:
                new.append((_SIGNS[name], self._statement(rest, row[-1])))
            case "TX" | "TB" as name:
                _check(not rest, f"{name} .", code)
                if self._began is not None:
                    raise DataError("TX within a transaction; end that one with TC or TA.")
                self._began = rows + len(new)
            case "TC":
                _check(not rest, "TC .", code)
                self._end_transaction("TC")
            case "TA":
                _check(not rest, "TA .", code)
                kept = self._end_transaction("TA")
                new = new[: max(kept - rows, 0)]
                rows = min(kept, rows)
            case "PA" | "PD" as name:
                self._change_prefix(name, rest, code)
            case "H":
                is_header = bool(rest) and rest[0].kind in {Kind.WORD, Kind.STRING}
                _check(is_header and len(self._terms(rest[1:])) == 1, "H name value .", code)
            case "Z":
                _check(not rest, "Z .", code)
            case _:
                raise DataError(
                    f"At character {code.column} the row begins with none of {_OPERATIONS}."
                )
        return rows, new

    def _end_transaction(self, name: str) -> int:
        """End the transaction; how many rows there were before it."""
        if self._began is None:
            raise DataError(f"{name} ends no transaction; begin one with TX.")
        began, self._began = self._began, None
        if began == _BEFORE:
            self._undone = name == "TA"
            return 0
        return began

    def _change_prefix(self, name: str, rest: list[Token], code: Token) -> None:
        """Add or delete a prefix; for which graph it is meant does not matter here."""
        needed = 2 if name == "PA" else 1
        terms, allowed = rest[1:needed], f'{name} "name" {"<IRI> " if needed > 1 else ""}[graph] .'
        _check(needed <= len(rest) <= needed + 1, allowed, code)
        _check(all(each.kind in {Kind.IRI, Kind.STRING} for each in terms), allowed, code)
        _check(rest[0].kind in {Kind.STRING, Kind.WORD, Kind.NAME}, allowed, code)
        prefix = rest[0].text.strip('"').removesuffix(":")
        if name == "PD":
            self._prefixes.pop(prefix, None)
        else:
            self._prefixes[prefix] = rest[1].text[1:-1]

    def _statement(self, tokens: list[Token], end: Token) -> tuple[str, ...]:
        """The terms of a row that adds or deletes."""
        terms = self._terms(tokens)
        if len(terms) < len(_ROLES) - 1:
            raise DataError(f"At character {end.column} the {_ROLES[len(terms)]} is missing.")
        if len(terms) > len(_ROLES):
            raise DataError(f"At character {terms[len(_ROLES)][1].column} a fifth term begins.")
        for (text, token), role in zip(terms, _ROLES, strict=False):
            is_predicate = role == "predicate"
            if role != "object" and not (is_iri if is_predicate else is_resource)(text):
                allowed = "an <IRI>" if is_predicate else "an <IRI> or a blank node"
                raise DataError(
                    f"At character {token.column} the {role} is {text[:100]}, not {allowed}."
                )
        return tuple(text for text, _ in terms)

    def _terms(self, tokens: list[Token]) -> list[tuple[str, Token]]:
        """Canonical terms, each with its first token."""
        terms: list[tuple[str, Token]] = []
        rest = deque(tokens)
        while rest:
            first = rest[0]
            text = self._next(rest)
            try:
                # Literals may be long and rarely repeat.
                terms.append((canonical(text) if is_literal(text) else _node(text), first))
            except TermError as error:
                raise DataError(f"At character {first.column}: {error}") from None
        return terms

    def _next(self, rest: deque[Token]) -> str:
        """The next term in N-Triples syntax; takes its tokens."""
        first = rest[0]
        # The parts of triple terms that are open, below them the term.
        parts: list[list[str]] = [[]]
        while not parts[0]:
            _check(bool(rest), _TRIPLE_TERM, first)
            token = rest.popleft()
            if token.kind is Kind.OPENING:
                parts.append([])
            elif token.kind is Kind.CLOSING and len(parts) > 1:
                inner = parts.pop()
                _check(len(inner) == _COMPONENTS, _TRIPLE_TERM, first)
                parts[-1].append(triple_term(*inner))
            else:
                parts[-1].append(self._simple(token, rest))
        return parts[0][0]

    def _simple(self, first: Token, rest: deque[Token]) -> str:
        """A term that is not a triple term, from its first token on."""
        following = rest[0].kind if rest else None
        if first.kind is Kind.STRING and following is Kind.LANGUAGE:
            return first.text + rest.popleft().text
        if first.kind is Kind.STRING and following is Kind.MARKER:
            rest.popleft()
            kind = rest[0].kind if rest else None
            _check(kind in {Kind.IRI, Kind.NAME}, '"literal"^^<datatype>', first)
            return f"{first.text}^^{self._text(rest.popleft())}"
        return self._text(first)

    def _text(self, token: Token) -> str:
        """The beginning of a term in N-Triples syntax."""
        match token.kind:
            case Kind.IRI if token.text.startswith("<_:"):
                return f"_:{_label(token.text[3:-1])}"
            case Kind.NAME:
                return self._expanded(token)
            case Kind.INTEGER | Kind.DECIMAL | Kind.DOUBLE:
                return f'"{token.text}"^^<{_NUMBERS[token.kind]}>'
            case Kind.WORD if token.text in {"true", "false"}:
                return f'"{token.text}"^^<{XSD_BOOLEAN}>'
            case Kind.STRING | Kind.IRI | Kind.NODE:
                return token.text
            case Kind.WORD if token.text in _CODES:
                raise DataError(
                    f"At character {token.column} a row begins, but the one before it has no end."
                    " Add the dot that ends it."
                )
            case _:
                raise DataError(f"At character {token.column} {token.text!r} is not a term.")

    def _expanded(self, token: Token) -> str:
        """The IRI of a name with a prefix."""
        prefix, _, local = token.text.partition(":")
        if prefix not in self._prefixes:
            raise DataError(
                f"The prefix {prefix}: of {token.text} is unknown; add it with PA before."
            )
        return f"<{self._prefixes[prefix]}" + _ESCAPED.sub(r"\1", local) + ">"


def _label(label: str) -> str:
    """A label of Jena. One with a colon is `Bb0X3A1` for `b0:1`, as Jena writes it in N-Triples."""
    if ":" not in label:
        return label
    doubled = label.replace("X", "XX")
    return "B" + _NOT_ALPHANUMERIC.sub(
        lambda found: "".join(f"X{byte:02X}" for byte in found[0].encode()), doubled
    )


def _check(is_right: bool, allowed: str, token: Token) -> None:  # noqa: FBT001 - a condition
    if not is_right:
        raise DataError(f"{token.text} is not followed by what belongs to it: {allowed}")


_node = lru_cache(_CACHED_NODES)(canonical)
