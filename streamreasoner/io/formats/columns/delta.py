"""Delta tables of triples and quads, as of their newest version; see `statements`.

Invariant: a table is read exactly, or refused by name: the reader of logs knows what it can read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from streamreasoner.errors import DataError, StateError
from streamreasoner.io.formats.columns.parquet import read_file
from streamreasoner.io.formats.columns.statements import columns_of
from streamreasoner.state.delta import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.io.formats.reading.document import Document
    from streamreasoner.io.formats.reading.format import Facts
    from streamreasoner.rdf.dictionary import Dictionary


def read_facts(document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """Facts of a Delta table; see `FactReader`."""
    table = Path(str(document.source))
    try:
        version = snapshot.read_unsealed(table)
    except StateError as error:
        raise DataError(
            f"{table}: this Delta table cannot be read. {snapshot.problem(error)}"
        ) from None
    columns_of(version.columns, str(table))
    partitions: list[str] = version.metadata.get("partitionColumns", [])
    # In the same order at every read.
    for _, file in sorted(version.added.items()):
        values = file.get("partitionValues", {})
        constants = {name: values.get(name) for name in partitions}
        yield from read_file(table / unquote(file["path"]), dictionary, constants)
