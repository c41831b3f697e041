"""The facts of sources, cut into epochs, in files. Invariant: a piece reads alike every time.

Sources are read once and completely before the first epoch: a mistake in the last line is refused
before anything is stored or published, and nodes without a label keep the one that they got.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.engine.updates import Updates
from streamreasoner.errors import DataError, StateError
from streamreasoner.state.delta import seal
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from streamreasoner.facts import Terms
    from streamreasoner.rdf.dictionary import Dictionary

_SCHEMA = pa.schema([("args", pa.list_(pa.int32())), ("diff", pa.int64())])
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Facts of one predicate, as a source has them.

    Attributes:
        predicate: Its name.
        args: Ids of their terms, int32 of shape (n, arity).
        diff: Multiplicities other than 0, int64 of shape (n,).
        terms: Has the terms of the ids.
        source: Name of the source.
    """

    predicate: str
    args: NDArray[np.int32]
    diff: NDArray[np.int64]
    terms: Terms
    source: str

    def split(self, rows: int) -> tuple[Block, Block]:
        """The first rows, and the others."""
        first, rest = (slice(None, rows), slice(rows, None))
        return self._some(first), self._some(rest)

    def _some(self, rows: slice) -> Block:
        return Block(self.predicate, self.args[rows], self.diff[rows], self.terms, self.source)


class Pieces:
    """The pieces of a bootstrap, in a folder.

    Args:
        directory: The folder.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(
        self, blocks: Iterable[Block], facts_per_piece: int, max_term_bytes: int
    ) -> tuple[tuple[str, ...], int]:
        """Replace the pieces; they are on the disk on return.

        Args:
            blocks: The facts.
            facts_per_piece: Most facts in a piece.
            max_term_bytes: Longest term.

        Returns:
            The digest of each piece, and how many facts they have together.

        Raises:
            DataError: A source cannot be read, or has too long a term.
        """
        self.delete()
        self._directory.mkdir(parents=True)
        digests: list[str] = []
        facts = 0
        try:
            for piece in _pieces(blocks, facts_per_piece):
                self._write(len(digests), piece, max_term_bytes)
                digests.append(seal.digest(self._bytes(len(digests))))
                facts += sum(len(block.diff) for block in piece)
        except BaseException:
            self.delete()
            raise
        disk.sync(self._directory)
        disk.sync(self._directory.parent)
        return tuple(digests), facts

    def read(
        self, number: int, digest: str, dictionary: Dictionary, ts: int | None, source: str
    ) -> list[Updates]:
        """The updates of a piece.

        Args:
            number: Its number, from 0.
            digest: Its digest.
            dictionary: Gives terms their ids; new ones are added.
            ts: Event time of all of them, in milliseconds since 1970.
            source: The source that they count as being of.

        Raises:
            StateError: The piece is missing or damaged.
        """
        try:
            is_whole = seal.digest(self._bytes(number)) == digest
        except OSError:
            is_whole = False
        if not is_whole:
            raise StateError(
                f"{self._facts(number)} or {self._terms(number).name} is missing or damaged: it "
                "has facts of the first load. Restore the state directory from a backup, or delete "
                "it and the checkpoint, and load again with another pipeline.app_id."
            )
        with pa.memory_map(str(self._terms(number))) as file:
            terms = pa.ipc.open_file(file).read_all().column("term").combine_chunks()
            ids = dictionary.encode(terms)
        updates, place = [], 0
        with pa.memory_map(str(self._facts(number))) as file:
            reader = pa.ipc.open_file(file)
            for index in range(reader.num_record_batches):
                batch, told = reader.get_batch_with_custom_metadata(index)
                count, arity = len(batch), int(told[b"arity"])
                args = ids[batch.column("args").flatten().to_numpy()].reshape(count, arity)
                diff = batch.column("diff").to_numpy().copy()
                times = None if ts is None else np.full(count, ts, np.int64)
                order = np.arange(place, place + count) if source else None
                predicate = told[b"predicate"].decode()
                updates.append(Updates(predicate, args, diff, times, source, order))
                place += count
        return updates

    def delete(self) -> None:
        """Delete all pieces."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _write(self, number: int, piece: Sequence[Block], max_term_bytes: int) -> None:
        flat = np.concatenate([block.args.ravel() for block in piece])
        distinct, places = np.unique(flat, return_inverse=True)
        terms = piece[0].terms.decode(distinct)
        _check_lengths(terms, max_term_bytes, piece)
        schema = pa.schema([("term", pa.large_string())])
        terms_file, facts_file = str(self._terms(number)), str(self._facts(number))
        with pa.ipc.new_file(terms_file, schema, options=_OPTIONS) as writer:
            writer.write_table(pa.table([terms], schema=schema))
        with pa.ipc.new_file(facts_file, _SCHEMA, options=_OPTIONS) as writer:
            start = 0
            for block in piece:
                count, arity = block.args.shape
                local = places[start : start + count * arity].astype(np.int32)
                offsets = np.arange(count + 1, dtype=np.int32) * arity
                args = pa.ListArray.from_arrays(pa.array(offsets), pa.array(local))
                batch = pa.record_batch([args, pa.array(block.diff)], schema=_SCHEMA)
                told = {"predicate": block.predicate, "arity": str(arity)}
                writer.write_batch(batch, custom_metadata=told)
                start += count * arity
        for path in (self._terms(number), self._facts(number)):
            disk.sync(path)

    def _bytes(self, number: int) -> bytes:
        return self._terms(number).read_bytes() + self._facts(number).read_bytes()

    def _facts(self, number: int) -> Path:
        return self._directory / f"{number}.facts"

    def _terms(self, number: int) -> Path:
        return self._directory / f"{number}.terms"


def _pieces(blocks: Iterable[Block], most: int) -> Iterator[list[Block]]:
    """Blocks cut into pieces; all ids of a piece have the same terms."""
    piece: list[Block] = []
    room = most
    for whole in blocks:
        block = whole
        if piece and piece[0].terms is not block.terms:
            yield piece
            piece, room = [], most
        while len(block.diff) >= room:
            part, block = block.split(room)
            yield [*piece, part]
            piece, room = [], most
        if len(block.diff):
            piece.append(block)
            room -= len(block.diff)
    if piece:
        yield piece


def _check_lengths(terms: pa.LargeStringArray, most: int, piece: Sequence[Block]) -> None:
    longest = pc.max(pc.binary_length(terms)).as_py() or 0
    if longest > most:
        names = ", ".join(dict.fromkeys(block.source for block in piece))
        raise DataError(
            f"{names}: a term has {longest} bytes; pipeline.max_term_bytes allows {most}. Raise "
            "it, and the limit of the output topic with it."
        )
