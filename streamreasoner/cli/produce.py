"""`streamreasoner produce`: facts from files or standard input to an input topic."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, assert_never

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from streamreasoner.config import load
from streamreasoner.errors import ConfigError
from streamreasoner.lang.ast import QUAD
from streamreasoner.rdf import nquads, ntriples
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.streaming.output import encode_updates
from streamreasoner.streaming.topics import produce as send

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

_PACKED = (".gz", ".xz")
_READ_BYTES = 1 << 20
_SHOW_EVERY = 1000


class Format(StrEnum):
    """What a source holds, one fact a line."""

    NTRIPLES = "ntriples"
    NQUADS = "nquads"
    JSON = "json"


_BY_SUFFIX = {
    ".nq": Format.NQUADS,
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
}


def produce(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="Files (.nt, .nq, .jsonl, also .gz, .xz); - is stdin."),
    ] = None,
    config: Annotated[Path, typer.Option(help="The configuration file (TOML).")] = Path(
        "streamreasoner.toml"
    ),
    topic: Annotated[
        str | None, typer.Option(help="The topic; default: the first input topic.")
    ] = None,
    diff: Annotated[
        int, typer.Option(help="Multiplicity of each triple or quad; -1 retracts.")
    ] = 1,
    kind: Annotated[
        Format | None, typer.Option("--format", help="Default: by the file's name, else ntriples.")
    ] = None,
) -> None:
    """Send each triple or quad, or each line of JSON as it is, as a message to an input topic."""
    kafka = load(config).kafka
    if diff == 0:
        raise ConfigError("--diff is 0, which says nothing; allowed is any other whole number.")
    messages = chain.from_iterable(
        _messages(source, kind or _format(source), diff) for source in sources or [Path("-")]
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


def _format(source: Path) -> Format:
    name = source.with_suffix("") if source.suffix in _PACKED else source
    return _BY_SUFFIX.get(name.suffix, Format.NTRIPLES)


def _messages(source: Path, kind: Format, diff: int) -> Iterator[tuple[bytes | None, bytes]]:
    match kind:
        case Format.JSON:
            return _json_lines(source)
        case Format.NTRIPLES | Format.NQUADS:
            return _encoded(source, kind, diff)
        case _:
            assert_never(kind)


def _json_lines(source: Path) -> Iterator[tuple[bytes | None, bytes]]:
    with _open(source) as stream:
        for line in stream:
            if stripped := line.strip():
                yield None, stripped


def _encoded(source: Path, kind: Format, diff: int) -> Iterator[tuple[bytes | None, bytes]]:
    dictionary = Dictionary()
    given: Path | Iterator[bytes] = source
    if str(source) == "-":
        given = iter(partial(sys.stdin.buffer.read, _READ_BYTES), b"")
    read = nquads.read if kind is Format.NQUADS else ntriples.read
    for block in read(given, dictionary, name="standard input"):
        columns = [dictionary.decode(column) for column in block.T]
        if len(columns) == nquads.QUAD_ARITY:
            yield from _quads(columns, diff)
        else:
            encoded = encode_updates(columns, diff)
            yield from zip(encoded.keys, encoded.values, strict=True)


def _quads(columns: list[pa.Array], diff: int) -> Iterator[tuple[bytes, bytes]]:
    for args in zip(*(column.to_pylist() for column in columns), strict=True):
        message = {"predicate": QUAD, "args": args, "diff": diff}
        yield args[0].encode(), json.dumps(message, ensure_ascii=False).encode()


def _open(source: Path) -> BinaryIO:
    if str(source) == "-":
        return sys.stdin.buffer
    return ntriples.open_bytes(source)  # type: ignore[return-value]
