"""The documents that a path names, and their facts. Invariant: what is not read has a reason.

A path is a file of a known format, compressed or not, a Delta table, a ZIP archive, a folder, or
`-` for standard input. Of archives and folders, files of other formats are skipped, which
`skipped` tells; `.xml` is often something other than RDF, and skipped there if it is.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.errors import DataError
from streamreasoner.io.files.archive import Member, members
from streamreasoner.io.formats import registry
from streamreasoner.io.formats.reading.compression import ARCHIVE, SUFFIXES
from streamreasoner.io.formats.reading.document import Document, open_bytes, reading
from streamreasoner.rdf.vocabulary import RDF

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamreasoner.io.formats.reading.document import Source
    from streamreasoner.io.formats.reading.format import Facts, Format
    from streamreasoner.io.formats.reading.lines import BadLine
    from streamreasoner.rdf.dictionary import Dictionary

STANDARD_INPUT = Path("-")
_READ_BYTES = 1 << 20
_SNIFFED_BYTES = 1 << 16
_OFTEN_OTHER = ".xml"
_HINTS = {
    **dict.fromkeys(
        (".owx", ".ofn", ".omn", ".obo", ".krss"),
        "Convert it to RDF, for example with ROBOT: robot convert --input FILE --output FILE.ttl",
    ),
    **dict.fromkeys(
        (".json", ".jsonl", ".ndjson"),
        "JSON-LD has the suffix .jsonld, and messages of updates are sent with `produce`",
    ),
    **dict.fromkeys(
        (".dl", ".rq", ".srl"), "Rules are the first argument; facts of rule files need no other"
    ),
    ".n3": "If it is Turtle, give it the suffix .ttl, or say --from turtle",
}

_XML = re.compile(rb"\s*<(?:[?!]|[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?[\s/>])")
_TURTLE = re.compile(rb"\s*(?:@|#|<|\[|_:|(?:prefix|base)\s)", re.IGNORECASE)
_OWL_SYNTAX = re.compile(rb"\s*(?:Prefix|Ontology)\s*[(:]")

_File: TypeAlias = "Path | Member"


@dataclass(frozen=True, slots=True)
class Reading:
    """How paths are read.

    Attributes:
        format: The format of all files, whatever their names; None for that of their suffixes.
        header: Whether CSV files begin with a header line.
        base: The IRI that relative ones are resolved against; None for the address of each file.
        bad_lines: See `Document`.
    """

    format: Format | None = None
    header: bool = False
    base: str | None = None
    bad_lines: list[BadLine] | None = None


AS_NAMED = Reading()
"""How files are read of which no more is said."""


def named_format(name: str | None) -> Format | None:
    """The format of documents with a name.

    Raises:
        DataError: There is none.
    """
    if name is None:
        return None
    by_name = {each.name: each for each in registry.DOCUMENTS}
    if name not in by_name:
        raise DataError(f"The format {name!r} is not known; use {', '.join(by_name)}.")
    return by_name[name]


def load(path: str | Path, dictionary: Dictionary, how: Reading = AS_NAMED) -> Iterator[Facts]:
    """Facts of a path in blocks; a file is never completely in memory, unless it is JSON-LD.

    Args:
        path: What to read.
        dictionary: Encodes the terms; new ones are added.
        how: How to read it.

    Raises:
        DataError: The suffix is unknown, a file cannot be read, or its content is malformed;
            the message includes file and line.
        EngineError: The dictionary is full.
    """
    for format_, document in documents(Path(path), how):
        yield from registry.read_facts(format_, document, dictionary)


def documents(path: Path, how: Reading = AS_NAMED) -> Iterator[tuple[Format, Document]]:
    """The documents of a path, and their formats.

    Raises:
        DataError: There is none, or its format is not known.
    """
    if path == STANDARD_INPUT:
        if how.format is None:
            raise DataError("Standard input has no name that tells its format; say it with --from.")
        chunks = iter(partial(sys.stdin.buffer.read, _READ_BYTES), b"")
        yield how.format, _document(chunks, "standard input", how)
    elif path.is_dir() and registry.is_table(path):
        yield registry.DELTA, _document(path, str(path), how)
    elif path.is_dir() or path.suffix == ARCHIVE:
        found = [each for each in _files(path) if _is_read(each, how)]
        if not found:
            raise DataError(f"{path}: has no file of a known format. {_known()}")
        for each in found:
            yield from documents(each, how) if isinstance(each, Path) else [_member(each, how)]
    else:
        yield how.format or _format(path), _document(path, str(path), how)


def skipped(paths: Iterable[Path], how: Reading = AS_NAMED) -> list[str]:
    """The files of folders and archives that are not read.

    Raises:
        DataError: An archive cannot be read.
    """
    containers = (path for path in paths if is_container(path))
    found: list[str] = []
    for path in containers:
        for each in _files(path):
            if not _is_read(each, how):
                found.append(_name(each))
            elif isinstance(each, Path):
                found += skipped([each], how)
    return found


def expanded(path: Path, how: Reading = AS_NAMED) -> list[Path]:
    """The files that are read of a folder, or the path itself."""
    if not path.is_dir() or not is_container(path):
        return [path]
    return [each for each in _files(path) if isinstance(each, Path) and _is_read(each, how)]


def is_container(path: Path) -> bool:
    """Whether a path has several files."""
    return path.suffix == ARCHIVE if not path.is_dir() else not registry.is_table(path)


def declared_prefixes(paths: Iterable[str | Path]) -> dict[str, str]:
    """Prefixes that files declare before their first triple; the first file wins."""
    prefixes: dict[str, str] = {}
    for path in map(Path, paths):
        for file in expanded(path) if path.exists() else ():
            prefixes = {**registry.declared_prefixes(file), **prefixes}
    return prefixes


def _document(source: Source, name: str, how: Reading) -> Document:
    return Document(source, name, how.bad_lines, how.header, how.base)


def _member(member: Member, how: Reading) -> tuple[Format, Document]:
    format_ = how.format or _format(member)
    address = f"{member.archive.absolute().as_uri()}/{member.path.as_posix()}"
    named = how if how.base is not None else replace(how, base=address)
    return format_, _document(member.chunks(), member.name, named)


def _files(path: Path) -> list[_File]:
    """The files of a folder, at any depth, or of an archive, sorted."""
    if not path.is_dir():
        return [*members(path)]
    found: list[_File] = []
    for each in sorted(path.iterdir()):
        if each.name.startswith("."):
            continue
        is_folder = each.is_dir() and not registry.is_table(each)
        found += _files(each) if is_folder else [each]
    return found


def _is_read(file: _File, how: Reading) -> bool:
    """Whether a file of a folder or archive is read."""
    if isinstance(file, Path) and (file.suffix == ARCHIVE or registry.is_table(file)):
        return True
    path = file if isinstance(file, Path) else file.path
    if how.format is not None:
        return True
    if registry.of_suffix(path) not in registry.DOCUMENTS:
        return False
    return _OFTEN_OTHER not in path.suffixes or _is_rdf(file)


def _is_rdf(file: _File) -> bool:
    """Whether XML names the namespace of RDF near its beginning, in any encoding."""
    return RDF.encode() in _head(file)


def _head(file: _File) -> bytes:
    """The beginning of a file, without what encodings add to ASCII."""
    if isinstance(file, Path):
        with open_bytes(file) as stream, reading(str(file)):
            head = stream.read(_SNIFFED_BYTES) or b""
    else:
        head = next(file.chunks(), b"")[:_SNIFFED_BYTES]
    return head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe")


def _name(file: _File) -> str:
    return str(file) if isinstance(file, Path) else file.name


def _format(file: _File) -> Format:
    """The format of a file by its name, and where names mislead, by its beginning."""
    path = file if isinstance(file, Path) else file.path
    found = registry.of_suffix(path)
    if found is registry.RDF_XML and _is_there(file):
        return _ontology_format(file)
    if found in registry.DOCUMENTS and found is not None:
        return found
    if not _is_there(file):
        raise DataError(f"{path}: cannot be opened (No such file or directory).")
    hint = _HINTS.get(path.suffix.lower())
    advice = "" if hint is None else f" {hint}."
    raise DataError(f"{path}: the suffix is not that of a known format. {_known()}{advice}")


def _is_there(file: _File) -> bool:
    return not isinstance(file, Path) or file.exists()


def _ontology_format(file: _File) -> Format:
    """The format of a file with a suffix of RDF/XML: many such ontologies are in Turtle."""
    head = _head(file)
    if _OWL_SYNTAX.match(head):
        raise DataError(f"{_name(file)}: is in a syntax of OWL that is not RDF. {_HINTS['.ofn']}.")
    is_turtle = not _XML.match(head) and _TURTLE.match(head)
    return registry.TURTLE if is_turtle else registry.RDF_XML


def _known() -> str:
    known = ", ".join(suffix for each in registry.DOCUMENTS for suffix in each.suffixes)
    compressed = ", ".join((*SUFFIXES, ARCHIVE))
    return (
        f"Known are {known}, each also compressed ({compressed}); --from names the format of files"
        " with other names."
    )
