"""The formats, by name and suffix. Invariant: a format's library is imported when it is used.

The suffix selects the format of a file:

- `.nt`: N-Triples, as facts of `triple`;
- `.nq`: N-Quads, as facts of `quad`; a line without a graph belongs to the default graph, whose
  triples are facts of `triple`;
- `.ttl`, `.trig`, `.jsonld`, and `.rdf`, `.owl`, `.xml`: Turtle, TriG, JSON-LD and RDF/XML, through
  pyoxigraph, without network access;
- `.csv`: RFC 4180, without a header line unless there is said to be one; the file name up to its
  first dot is the predicate, each record a fact, each cell an argument;
- `.rdfp`: RDF Patch, whose additions and deletions are updates of triples and quads; all others
  assert each fact once;
- `.parquet`, and folders with a `_delta_log`: Parquet and Delta, with the columns `s`, `p`, `o`,
  and `g` for the graph, in N-Triples syntax.

A further suffix `.gz`, `.xz`, `.bz2` or `.zst` means compressed; `io.files` has more on archives
and folders. Blank node labels are kept as written, so the same label in two files is the same
node; nodes without a label get random ones.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from streamreasoner.format_names import FORMATS, FormatName
from streamreasoner.io.formats.reading.compression import SUFFIXES
from streamreasoner.io.formats.reading.format import Format

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path, PurePath

    from pyoxigraph import RdfFormat

    from streamreasoner.io.formats.reading.document import Document
    from streamreasoner.io.formats.reading.format import FactReader, Facts, MessageReader
    from streamreasoner.io.formats.writing.writer import Writer
    from streamreasoner.rdf.dictionary import Dictionary

_HERE = __name__.rpartition(".")[0]
NTRIPLES = Format(FormatName.NTRIPLES, (".nt",), ("application/n-triples",), f"{_HERE}.ntriples")
NQUADS = Format(FormatName.NQUADS, (".nq",), ("application/n-quads",), f"{_HERE}.nquads")
TURTLE = Format(FormatName.TURTLE, (".ttl",), ("text/turtle",), f"{_HERE}.turtle")
TRIG = Format(FormatName.TRIG, (".trig",), ("application/trig",), f"{_HERE}.trig")
JSON_LD = Format(FormatName.JSON_LD, (".jsonld",), ("application/ld+json",), f"{_HERE}.json_ld")
RDF_XML = Format(
    FormatName.RDF_XML, (".rdf", ".owl", ".xml"), ("application/rdf+xml",), f"{_HERE}.rdf_xml"
)
CSV = Format(FormatName.CSV, (".csv",), ("text/csv",), f"{_HERE}.csv")
RDF_PATCH = Format(
    FormatName.RDF_PATCH,
    (".rdfp",),
    ("application/rdf-patch", "text/rdf-patch"),
    f"{_HERE}.rdf_patch",
)
JSON = Format(FormatName.JSON, (".json",), ("application/json",), f"{_HERE}.json")
JSON_LINES = Format(
    FormatName.JSON_LINES,
    (".jsonl", ".ndjson"),
    ("application/jsonl", "application/x-ndjson", "application/jsonlines"),
    f"{_HERE}.json_lines",
)
PARQUET = Format(FormatName.PARQUET, (".parquet",), (), f"{_HERE}.columns.parquet")
DELTA = Format(FormatName.DELTA, (), (), f"{_HERE}.columns.delta")
JSON_ROWS = Format(FormatName.JSON_ROWS, (), (), f"{_HERE}.rows.json_rows")
DEBEZIUM = Format(FormatName.DEBEZIUM, (), (), f"{_HERE}.rows.debezium", tombstones=True)
AVRO = Format(FormatName.AVRO, (), (), f"{_HERE}.rows.avro")
PROTOBUF = Format(FormatName.PROTOBUF, (), (), f"{_HERE}.rows.protobuf")
DEBEZIUM_AVRO = Format(
    FormatName.DEBEZIUM_AVRO, (), (), f"{_HERE}.rows.debezium_avro", tombstones=True
)

DOCUMENTS = (
    *(NTRIPLES, NQUADS, TURTLE, TRIG, JSON_LD, RDF_XML),
    *(CSV, RDF_PATCH, PARQUET, DELTA),
)
"""Formats of documents of facts."""
_BY_NAME = {
    each.name: each
    for each in (*DOCUMENTS, JSON, JSON_LINES, JSON_ROWS, DEBEZIUM, AVRO, PROTOBUF, DEBEZIUM_AVRO)
}
MESSAGES = tuple(_BY_NAME[name] for name in FORMATS)
"""Formats of messages, in the order in which a batch of several is read."""


def of_suffix(path: PurePath) -> Format | None:
    """The format of a file by its name; None if its suffix is that of none."""
    suffix = (path.with_suffix("") if path.suffix in SUFFIXES else path).suffix.lower()
    return next((each for each in _BY_NAME.values() if suffix in each.suffixes), None)


def is_table(path: Path) -> bool:
    """Whether a folder is a Delta table."""
    return (path / "_delta_log").is_dir()


def of_name(name: str) -> Format:
    """The format of messages with a name; a KeyError if there is none."""
    return {each.name: each for each in MESSAGES}[name]


def read_facts(format_: Format, document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """The set of facts of a document, in blocks; a patch has updates instead. See `FactReader`."""
    from streamreasoner.io.formats.reading.distinct import distinct  # noqa: PLC0415 - has kernels

    reader = cast("FactReader", import_module(format_.module).read_facts)
    return distinct(reader(document, dictionary))


def message_reader(format_: Format) -> MessageReader:
    """The reader of messages of a format."""
    return cast("MessageReader", import_module(format_.module).read_messages)


def graph_syntax(format_: Format) -> RdfFormat | None:
    """What pyoxigraph calls a format in which graphs are written as documents; else None."""
    if format_ not in {TURTLE, TRIG, JSON_LD}:
        return None
    return cast("RdfFormat", import_module(format_.module).SYNTAX)


def message_writer(format_: Format) -> Writer:
    """How a format of `format_names.WRITTEN` writes messages."""
    return cast("Writer", import_module(format_.module).WRITER)


def declared_prefixes(path: Path) -> dict[str, str]:
    """Prefixes that a file declares before its first triple; none if it cannot be read."""
    format_ = of_suffix(path)
    if format_ in {TURTLE, TRIG, RDF_XML}:
        read = import_module(f"{_HERE}.reading.graphs.oxigraph").declared_prefixes
        return cast("dict[str, str]", read(path, import_module(format_.module).SYNTAX))
    return {}
