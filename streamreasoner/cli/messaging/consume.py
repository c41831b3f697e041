"""`streamreasoner consume`: committed messages of a topic, as they are or in another format.

Invariant: standard output holds values or updates only, unless --headers is given.
"""

from __future__ import annotations

import sys
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from streamreasoner.cli.options import CONFIG_FILE, ConfigFile, Written
from streamreasoner.errors import ConfigError
from streamreasoner.system.interrupts import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from streamreasoner.config.messages import InputConfig
    from streamreasoner.io.codec.encode import Header, Received
    from streamreasoner.io.formats.rejected import Rejected


_UNSIGNED = (
    b"Some of these messages retract: they have a negative header `diff`, which values as they are"
    b" do not show. Use --format rdf-patch or --format json to see signs, or --headers."
)


def consume(
    config: ConfigFile = CONFIG_FILE,
    topic: Annotated[str | None, typer.Option(help="The topic; default: the output topic.")] = None,
    *,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Start at the oldest message.")
    ] = False,
    offsets: Annotated[
        Path | None,
        typer.Option(help="Start where a snapshot ends: the file of `snapshot --offsets`."),
    ] = None,
    written: Annotated[
        Written | None,
        typer.Option(
            "--format",
            help="Print the updates of each message in this format; default: values as they are.",
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many messages; default: never.")
    ] = None,
    headers: Annotated[
        bool, typer.Option("--headers", help="Print each header before its message: # name: value")
    ] = False,
) -> None:
    """Print the committed messages of a topic until interrupted.

    Without --headers, the reason for each dead letter goes to standard error. With --format, so
    does that for each message without updates.
    """
    from streamreasoner.system.extras import require

    require("kafka", "`streamreasoner consume`")

    from streamreasoner.config import load
    from streamreasoner.io.kafka.offsets.positions import Position
    from streamreasoner.io.kafka.topics import consume as read_topic

    if from_beginning and offsets is not None:
        raise ConfigError("Give --from-beginning or --offsets, not both.")

    loaded = load(config)
    kafka = loaded.kafka
    name = topic or kafka.output_topic
    values = _values if written is None else _values_in(written, loaded.input)
    # What is printed for a single message must stand next to it.
    alone = headers or name == kafka.dead_letter_topic
    start = None if offsets is None else Position.read(offsets).of(name)
    polls = read_topic(kafka, name, from_beginning=from_beginning, offsets=start)
    is_told = written is not None or headers
    with suppress(KeyboardInterrupt, BrokenPipeError), closing(polls), interruptible():
        for messages in _at_most(count, polls):
            if not is_told and any(map(_retracts, messages)):
                is_told = True
                _print(sys.stderr.buffer, _UNSIGNED)
            for group in ([message] for message in messages) if alone else [messages]:
                if headers:
                    for header in group[0].headers:
                        _print(sys.stdout.buffer, b"# %b: %b" % _escaped(header))
                elif alone:
                    _print(sys.stderr.buffer, _reason(dict(map(_escaped, group[0].headers))))
                for value in values(group):
                    _print(sys.stdout.buffer, value)


def _retracts(message: Received) -> bool:
    """Whether the header of a message makes retractions of what its value says."""
    return (dict(message.headers).get("diff") or b"").lstrip().startswith(b"-")


def _at_most(count: int | None, polls: Iterable[list[Received]]) -> Iterator[Sequence[Received]]:
    """The messages of polls, up to a number of them."""
    for messages in polls:
        yield messages[:count]
        if count is not None:
            count -= len(messages)
            if count <= 0:
                return


def _values(messages: Sequence[Received]) -> Iterator[bytes]:
    for message in messages:
        yield message.value if message.value is not None else b"null"


def _values_in(
    written: Written, input_: InputConfig
) -> Callable[[Sequence[Received]], Iterator[bytes]]:
    """What gives the lines of messages in a format, and reports those without any."""
    from streamreasoner.io.codec.decode import NO_LIMITS
    from streamreasoner.io.codec.to_lines import Lines
    from streamreasoner.io.formats.registry import of_name

    of_topics = {topic: of_name(format_) for topic, format_ in input_.formats.items()}
    options = replace(
        NO_LIMITS, default=of_name(input_.format), of_topics=of_topics, bases=input_.bases
    )

    def report(message: Received, rejected: Rejected) -> None:
        text = f"{message.place}: {rejected.reason.value}: {rejected.detail}"
        _print(sys.stderr.buffer, text.encode())

    return partial(Lines(of_name(written), options).of, report=report)


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
