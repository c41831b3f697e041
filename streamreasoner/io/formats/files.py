"""Load facts from files. Invariant: facts of a predicate come in the order of the file.

The suffix selects the format:

- `.nt`: N-Triples, as facts of `triple`;
- `.nq`: N-Quads, as facts of `quad`; a line without a graph belongs to the default graph, whose
  triples are facts of `triple`;
- `.ttl`: Turtle, streamed through pyoxigraph, which makes no network access;
- `.csv`: RFC 4180, without a header line unless `header` is set; the file name up to its first dot
  is the predicate, each record a fact, each cell an argument (see `cell_term`).

A further suffix `.gz` or `.xz` means compressed. Blank node labels are kept as written, so the same
label in two files is the same node; Turtle's anonymous nodes get fresh random labels.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from lzma import LZMAError
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyoxigraph

from streamreasoner.errors import DataError, TermError
from streamreasoner.io.formats import nquads, ntriples
from streamreasoner.rdf.terms import Term, TermKind, canonical
from streamreasoner.rdf.vocabulary import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER, XSD_STRING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from streamreasoner.io.formats.lines import BadLine
    from streamreasoner.rdf.dictionary import Dictionary

TRIPLE = "triple"
QUAD = "quad"
SUFFIXES = (".nt", ".nq", ".ttl", ".csv")
_COMPRESSED = (".gz", ".xz")
_BATCH = 1 << 16
_GRAPH = 3
_CACHED_CELLS = 1 << 16

_PREFIX_NAME = re.compile(r"(?:[^\W\d_](?:[\w.\-]*[\w\-])?)?")
_INTEGER_CELL = re.compile(r"[+-]?[0-9]+")
_DECIMAL_CELL = re.compile(r"[+-]?[0-9]*\.[0-9]+")
_DOUBLE_CELL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+")


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Encoded facts of one predicate; a fact that a file contains twice is asserted twice.

    Attributes:
        predicate: Name of the predicate.
        args: Term ids, int32 of shape (n, arity), n > 0.
    """

    predicate: str
    args: NDArray[np.int32]


def load(
    path: str | Path,
    dictionary: Dictionary,
    *,
    bad_lines: list[BadLine] | None = None,
    header: bool = False,
) -> Iterator[Facts]:
    """Facts of a file in blocks; the file is never completely in memory.

    Args:
        path: A file with a known suffix.
        dictionary: Encodes the terms; new ones are added.
        bad_lines: Collects bad lines of N-Triples and N-Quads; when None, the first one raises.
            Turtle and CSV always raise, because what follows an error cannot be trusted.
        header: Whether the first record of a CSV file is a header, not a fact.

    Raises:
        DataError: The suffix is unknown, the file cannot be read, or its content is malformed;
            the message includes file and line.
        EngineError: The dictionary is full.
    """
    path = Path(path)
    inner = path.with_suffix("") if path.suffix in _COMPRESSED else path
    match inner.suffix:
        case ".nt":
            for block in ntriples.read(path, dictionary, bad_lines=bad_lines):
                yield Facts(TRIPLE, block)
        case ".nq":
            for block in nquads.read(path, dictionary, bad_lines=bad_lines):
                named = block.shape[1] == nquads.QUAD_ARITY
                yield Facts(QUAD if named else TRIPLE, block)
        case ".ttl":
            yield from _turtle(path, dictionary)
        case ".csv":
            yield from _csv(path, inner.name.split(".")[0], dictionary, header=header)
        case _:
            raise DataError(
                f"{path}: the suffix is not that of a known format; use {', '.join(SUFFIXES)},"
                f" optionally followed by {' or '.join(_COMPRESSED)}."
            )


@lru_cache(maxsize=_CACHED_CELLS)
def cell_term(cell: str) -> str:
    """Canonical term of a CSV cell.

    A cell in N-Triples syntax is that term. Digits are an xsd:integer, digits with a point an
    xsd:decimal, digits with an exponent an xsd:double, with the cell's text as lexical form.
    Anything else, including white space and the empty cell, is a plain string.
    """
    if cell.startswith(("<", "_:", '"')):
        try:
            return canonical(cell)
        except TermError:
            return str(Term(TermKind.LITERAL, cell, datatype=XSD_STRING))
    datatype = XSD_STRING
    if _INTEGER_CELL.fullmatch(cell):
        datatype = XSD_INTEGER
    elif _DECIMAL_CELL.fullmatch(cell):
        datatype = XSD_DECIMAL
    elif _DOUBLE_CELL.fullmatch(cell):
        datatype = XSD_DOUBLE
    return str(Term(TermKind.LITERAL, cell, datatype=datatype))


def _turtle(path: Path, dictionary: Dictionary) -> Iterator[Facts]:
    count = 0
    with ntriples.open_bytes(path) as stream:
        try:
            parser = pyoxigraph.parse(cast("IO[bytes]", stream), format=pyoxigraph.RdfFormat.TURTLE)
            while quads := list(islice(parser, _BATCH)):
                terms = [
                    str(term)
                    for quad in quads
                    for term in (quad.subject, quad.predicate, quad.object)
                ]
                ids = dictionary.encode_validated(pa.array(terms, type=pa.large_string()))
                bad = np.flatnonzero(ids < 0)
                if len(bad):
                    number = count + int(bad[0]) // nquads.TRIPLE_ARITY + 1
                    reason = _reason(terms[bad[0]])
                    raise DataError(f"{path}: triple {number} of the file is not RDF 1.1: {reason}")
                count += len(quads)
                yield Facts(TRIPLE, ids.reshape(-1, nquads.TRIPLE_ARITY))
        except SyntaxError as error:
            raise DataError(f"{path}:{error.lineno}: {error.msg}.") from None
        except (OSError, EOFError, zlib.error, LZMAError) as error:
            raise DataError(f"{path}: cannot be read ({error}).") from None


def _reason(text: str) -> str:
    try:
        canonical(text)
    except TermError as error:
        return str(error)
    raise AssertionError(f"{text!r} was rejected by the dictionary but is a term")


def suffix(path: Path) -> str:
    """The suffix that selects the format of a file, without that of a compression."""
    return (path.with_suffix("") if path.suffix in _COMPRESSED else path).suffix


def declared_prefixes(paths: Iterable[str | Path]) -> dict[str, str]:
    """Prefixes that Turtle files declare before their first triple; the first file wins.

    A file that cannot be read declares none; reading its facts reports why.
    """
    prefixes: dict[str, str] = {}
    for path in map(Path, paths):
        if suffix(path) != ".ttl":
            continue
        unreadable = suppress(OSError, EOFError, SyntaxError, zlib.error, LZMAError, DataError)
        with unreadable, ntriples.open_bytes(path) as stream:
            parser = pyoxigraph.parse(cast("IO[bytes]", stream), format=pyoxigraph.RdfFormat.TURTLE)
            next(parser, None)
            usable = {k: v for k, v in parser.prefixes.items() if _PREFIX_NAME.fullmatch(k)}
            prefixes = {**usable, **prefixes}
    return prefixes


def _csv(path: Path, predicate: str, dictionary: Dictionary, *, header: bool) -> Iterator[Facts]:
    with ntriples.open_bytes(path) as stream:
        text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8-sig", newline="")
        records = csv.reader(text, strict=True)
        arity = 0
        terms: list[str] = []
        lines: list[int] = []
        try:
            for record in records:
                if not record:
                    continue
                if header:
                    header = False
                    continue
                arity = arity or len(record)
                if len(record) != arity:
                    raise DataError(
                        f"{path}:{records.line_num}: the record has {len(record)} cells, but the"
                        f" first one has {arity}; all facts of a predicate have one arity."
                    )
                terms.extend(map(cell_term, record))
                lines.append(records.line_num)
                if len(lines) == _BATCH:
                    yield _facts(path, predicate, dictionary, terms, lines)
                    terms, lines = [], []
        except csv.Error as error:
            raise DataError(f"{path}:{records.line_num}: not RFC 4180 ({error}).") from None
        except UnicodeDecodeError as error:
            raise DataError(f"{path}:{records.line_num + 1}: not UTF-8 ({error.reason}).") from None
        except (OSError, EOFError, zlib.error, LZMAError) as error:
            raise DataError(f"{path}: cannot be read ({error}).") from None
    if lines:
        yield _facts(path, predicate, dictionary, terms, lines)


def _facts(
    path: Path, predicate: str, dictionary: Dictionary, terms: list[str], lines: list[int]
) -> Facts:
    args = dictionary.encode(pa.array(terms, type=pa.large_string())).reshape(len(lines), -1)
    if predicate in {TRIPLE, QUAD}:
        _check_rdf(path, predicate, dictionary, args, lines)
    return Facts(predicate, args)


def _check_rdf(
    path: Path, predicate: str, dictionary: Dictionary, args: NDArray[np.int32], lines: list[int]
) -> None:
    """Check that no literal is a subject or a graph, and that every predicate is an IRI."""
    arity = nquads.TRIPLE_ARITY if predicate == TRIPLE else nquads.QUAD_ARITY
    if args.shape[1] != arity:
        raise DataError(f"{path}:{lines[0]}: a {predicate} has {arity} cells, not {args.shape[1]}.")
    wrong = dictionary.is_literal(args[:, 0]) | ~dictionary.is_iri(args[:, 1])
    graph = ""
    if predicate == QUAD:
        wrong |= dictionary.is_literal(args[:, _GRAPH])
        graph = ", its graph an <IRI> or a _:blankNode"
    bad = np.flatnonzero(wrong)
    if len(bad):
        raise DataError(
            f"{path}:{lines[bad[0]]}: the subject of a {predicate} is an <IRI> or a _:blankNode,"
            f" its predicate an <IRI>{graph}."
        )
