"""`streamreasoner snapshot`: the published facts, and where the changes go on, for late readers.

Invariant: the facts and the messages from the offsets on are everything that readers from the
beginning have, once each.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from streamreasoner.cli.operation.moments import MOMENT_HELP
from streamreasoner.cli.options import CONFIG_FILE, ConfigFile, Written
from streamreasoner.counts import counted
from streamreasoner.errors import ConfigError, DataError, StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.config.messages import OutputConfig
    from streamreasoner.history.past_facts import PastFacts
    from streamreasoner.io.formats.reading.format import Format

_BLOCK = 1 << 18


def snapshot(
    config: ConfigFile = CONFIG_FILE,
    *,
    at: Annotated[
        str | None,
        typer.Option(help=f"As of the end of {MOMENT_HELP}; default: the last published epoch."),
    ] = None,
    written: Annotated[
        Written, typer.Option("--format", help="Format of the facts.")
    ] = Written.JSON,
    output: Annotated[
        Path | None, typer.Option(help="Write the facts to this file; default: standard output.")
    ] = None,
    offsets: Annotated[
        Path | None,
        typer.Option(
            help="Write epoch and offsets to this file, for `consume --offsets`; default: the last"
            " line of standard error."
        ),
    ] = None,
) -> None:
    """Print the published facts at the end of an epoch, and the offsets of what came later.

    The pipeline may be running. With the messages of the output topic from these offsets on, a
    reader has everything.
    """
    from streamreasoner.system.extras import require

    require("kafka", "`streamreasoner snapshot`")

    from streamreasoner.cli.operation.moments import epoch_of
    from streamreasoner.config import load
    from streamreasoner.history.epochs import Past
    from streamreasoner.history.past_facts import PastFacts
    from streamreasoner.io.formats.registry import of_name
    from streamreasoner.io.kafka.offsets.positions import after, last_published
    from streamreasoner.state.objects.held import refresh

    loaded = load(config)
    kafka, app_id = loaded.kafka, loaded.pipeline.app_id
    if loaded.output.upsert:
        raise ConfigError(
            f'The topic {kafka.output_topic} (kafka.output_topic) holds facts (output.envelope = "'
            'upsert"), so it needs no snapshot. Read it from its beginning, and keep the latest '
            "value of each key."
        )
    # Before the tables: an epoch is in them before it is published.
    published = last_published(kafka, app_id)
    refresh(loaded.state)
    past = PastFacts(Past(loaded.state.tables))
    epoch = min(past.past.last, published) if at is None else epoch_of(past.past, at)
    if not 0 <= epoch <= published:
        raise StateError(
            f"Epoch {max(epoch, 0)} is not published yet; the last published one is "
            f"{'none' if published < 0 else published}. Repeat the command while the pipeline runs."
        )
    inherited = loaded.output.inherited
    position = after(kafka, app_id, epoch, published, past.past.last_number(epoch))
    with _opened(output) as stream:
        count = _write(past, epoch, of_name(written), stream, loaded.output)
    without = ", without those that are only inherited" * (inherited == "direct")
    print(f"{counted(count, 'fact')} at the end of epoch {epoch}{without}.", file=sys.stderr)
    if offsets is None:
        print(position.to_json(inherited), file=sys.stderr)
    else:
        with _opened(offsets) as stream:
            stream.write(f"{position.to_json(inherited)}\n".encode())


def _write(
    past: PastFacts, epoch: int, format_: Format, stream: BinaryIO, output: OutputConfig
) -> int:
    """Write the facts that are published; returns how many there are."""
    import numpy as np
    import pyarrow as pa

    from streamreasoner.io.codec.from_files import check_said
    from streamreasoner.io.formats.registry import message_writer

    writer, count = message_writer(format_), 0

    def blocks() -> Iterator[list[bytes]]:
        nonlocal count
        for predicate in sorted(past.program(epoch).published):
            rows, terms = past.published(
                predicate,
                epoch,
                asserted=output.include == "all",
                direct=output.inherited == "direct",
            )
            count += len(rows)
            for start in range(0, len(rows), _BLOCK):
                block = rows[start : start + _BLOCK]
                columns = [terms.decode(column) for column in block.T]
                check_said(format_, predicate, columns, len(block), f"epoch {epoch}")
                texts = writer.texts(predicate, columns, np.ones(len(block), np.int64))
                yield texts.cast(pa.large_binary()).to_pylist()

    stream.writelines(writer.document(blocks()))
    return count


@contextmanager
def _opened(path: Path | None) -> Iterator[BinaryIO]:
    """Standard output, or a file that gets its name when it is complete."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as stream:
            yield stream
        partial.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}).") from None
    finally:
        partial.unlink(missing_ok=True)
