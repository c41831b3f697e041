"""`streamreasoner consume`: committed messages of a topic, one line each.

Invariant: standard output holds values only, unless --headers is given.
"""

from __future__ import annotations

import sys
from contextlib import closing, suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from streamreasoner.cli.options import ConfigFile  # noqa: TC001 - typer reads it

if TYPE_CHECKING:
    from streamreasoner.io.codec.encode import Header


def consume(
    config: ConfigFile,
    topic: Annotated[str | None, typer.Option(help="The topic; default: the output topic.")] = None,
    *,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Start at the oldest message.")
    ] = False,
    count: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many messages; default: never.")
    ] = None,
    headers: Annotated[
        bool, typer.Option("--headers", help="Print each header before its message: # name: value")
    ] = False,
) -> None:
    """Print the committed messages of a topic, one per line, until interrupted.

    Without --headers, the reason for each dead letter goes to standard error.
    """
    from streamreasoner.config import load
    from streamreasoner.io.kafka.topics import consume as read_topic

    kafka = load(config).kafka
    name = topic or kafka.output_topic
    messages = read_topic(kafka, name, from_beginning=from_beginning)
    with closing(messages), suppress(KeyboardInterrupt, BrokenPipeError):
        for message in islice(chain.from_iterable(messages), count):
            if headers:
                for header in message.headers:
                    _print(sys.stdout.buffer, b"# %b: %b" % _escaped(header))
            elif name == kafka.dead_letter_topic:
                _print(sys.stderr.buffer, _reason(dict(map(_escaped, message.headers))))
            _print(sys.stdout.buffer, message.value if message.value is not None else b"null")


def _print(stream: BinaryIO, line: bytes) -> None:
    stream.write(line + b"\n")
    stream.flush()


def _escaped(header: Header) -> tuple[bytes, bytes]:
    """Name and value of a header, each on one line."""
    name, value = header
    return name.encode(), (value or b"").replace(b"\\", b"\\\\").replace(b"\n", b"\\n")


def _reason(headers: dict[bytes, bytes]) -> bytes:
    """The position of a rejected message and the reason."""
    parts = (headers.get(name, b"") for name in (b"topic", b"partition", b"offset"))
    return b"%b: %b: %b" % (
        b"/".join(parts),
        headers.get(b"class", b""),
        headers.get(b"reason", b""),
    )
