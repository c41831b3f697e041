"""The formats, by the names that configuration, command line and server share; imports nothing.

Invariant: no other module spells such a name. What reads and writes a format is in
`io.formats.registry`.
"""

from __future__ import annotations

from enum import StrEnum


class FormatName(StrEnum):
    """A format of messages or documents."""

    JSON = "json"
    JSON_LINES = "json-lines"
    NTRIPLES = "ntriples"
    NQUADS = "nquads"
    RDF_PATCH = "rdf-patch"
    TURTLE = "turtle"
    TRIG = "trig"
    JSON_LD = "json-ld"
    RDF_XML = "rdf-xml"
    JSON_ROWS = "json-rows"
    CSV = "csv"
    DEBEZIUM = "debezium"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    DEBEZIUM_AVRO = "debezium-avro"
    PARQUET = "parquet"
    DELTA = "delta"


FORMATS = tuple(each for each in FormatName if each not in {FormatName.PARQUET, FormatName.DELTA})
"""The formats of messages, in the order in which a batch of several is read."""
WRITTEN = (
    FormatName.JSON,
    FormatName.JSON_LINES,
    FormatName.NTRIPLES,
    FormatName.NQUADS,
    FormatName.RDF_PATCH,
)
"""Those that are also written: one line for each update."""
REGISTRY_FORMATS = (FormatName.AVRO, FormatName.PROTOBUF, FormatName.DEBEZIUM_AVRO)
"""Formats whose messages name a schema of a registry."""
TABLE_FORMATS = (FormatName.DEBEZIUM, FormatName.DEBEZIUM_AVRO)
"""Formats whose messages name the table of their rows, and what it was before."""
JSON_ROW_FORMATS = (FormatName.JSON_ROWS, FormatName.DEBEZIUM)
"""Formats of rows in JSON."""
ROW_FORMATS = (*JSON_ROW_FORMATS, FormatName.CSV, *REGISTRY_FORMATS)
"""Formats of rows, which need a mapping."""
