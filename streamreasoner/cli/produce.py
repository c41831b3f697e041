"""`streamreasoner produce`: facts from files or standard input to an input topic."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from streamreasoner.config import load
from streamreasoner.errors import ConfigError
from streamreasoner.lang.ast import QUAD, TRIPLE
from streamreasoner.rdf import nquads, ntriples
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.load import SUFFIXES, Facts, suffix
from streamreasoner.rdf.load import load as load_facts
from streamreasoner.streaming.output import encode_updates
from streamreasoner.streaming.topics import produce as send

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

_READ_BYTES = 1 << 20
_SHOW_EVERY = 1000


class Format(StrEnum):
    """Format of standard input, or of a file regardless of its name: one fact per line."""

    NTRIPLES = "ntriples"
    NQUADS = "nquads"
    JSON = "json"


_JSON = frozenset({".json", ".jsonl", ".ndjson"})


def produce(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files of facts (.nt, .ttl, .nq, .csv) or of messages (.jsonl), optionally as"
            " .gz or .xz; - is standard input."
        ),
    ] = None,
    config: Annotated[Path, typer.Option(help="The configuration file (TOML).")] = Path(
        "streamreasoner.toml"
    ),
    topic: Annotated[
        str | None, typer.Option(help="The topic; default: the first input topic.")
    ] = None,
    diff: Annotated[int, typer.Option(help="Multiplicity of each fact; -1 retracts.")] = 1,
    kind: Annotated[
        Format | None, typer.Option("--format", help="Default: by file name, else ntriples.")
    ] = None,
    *,
    header: Annotated[
        bool, typer.Option("--header", help="CSV files begin with a header line.")
    ] = False,
) -> None:
    """Send each fact, or each line of JSON unchanged, as a message to an input topic."""
    kafka = load(config).kafka
    if diff == 0:
        raise ConfigError("--diff must not be 0.")
    messages = chain.from_iterable(
        messages_of(source, kind, diff, header=header) for source in sources or [Path("-")]
    )
    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed:,} messages"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=False) as progress:
        task = progress.add_task("produce", total=None)
        count = 0
        for count in send(kafka, topic or kafka.input_topics[0], messages):
            if count % _SHOW_EVERY == 0:
                progress.update(task, completed=count)
        progress.update(task, completed=count)


def messages_of(
    source: Path, kind: Format | None, diff: int, *, header: bool
) -> Iterator[tuple[bytes | None, bytes]]:
    """The messages of a source, as (key, value)."""
    if kind is Format.JSON or (kind is None and suffix(source) in _JSON):
        return _json_lines(source)
    return _encoded(source, kind, diff, header=header)


def _json_lines(source: Path) -> Iterator[tuple[bytes | None, bytes]]:
    with _open(source) as stream:
        for line in stream:
            if stripped := line.strip():
                yield None, stripped


def _encoded(
    source: Path, kind: Format | None, diff: int, *, header: bool
) -> Iterator[tuple[bytes | None, bytes]]:
    dictionary = Dictionary()
    for facts in _facts(source, kind, dictionary, header=header):
        columns = [dictionary.decode(column) for column in facts.args.T]
        if facts.predicate == TRIPLE:
            encoded = encode_updates(columns, diff)
            yield from zip(encoded.keys, encoded.values, strict=True)
        else:
            yield from _rows(facts.predicate, columns, diff)


def _facts(
    source: Path, kind: Format | None, dictionary: Dictionary, *, header: bool
) -> Iterator[Facts]:
    """Facts of a file by its suffix; without one, lines of N-Triples or N-Quads."""
    if kind is None and suffix(source) in SUFFIXES:
        yield from load_facts(source, dictionary, header=header)
        return
    lines: Path | Iterator[bytes] = source
    if str(source) == "-":
        lines = iter(partial(sys.stdin.buffer.read, _READ_BYTES), b"")
    read = nquads.read if kind is Format.NQUADS else ntriples.read
    for block in read(lines, dictionary, name="standard input"):
        is_quad = block.shape[1] == nquads.QUAD_ARITY
        yield Facts(QUAD if is_quad else TRIPLE, block)


def _rows(
    predicate: str, columns: list[pa.Array], diff: int
) -> Iterator[tuple[bytes | None, bytes]]:
    for args in zip(*(column.to_pylist() for column in columns), strict=True):
        message = {"predicate": predicate, "args": args, "diff": diff}
        yield args[0].encode(), json.dumps(message, ensure_ascii=False).encode()


def _open(source: Path) -> BinaryIO:
    if str(source) == "-":
        return sys.stdin.buffer
    return ntriples.open_bytes(source)  # type: ignore[return-value]
