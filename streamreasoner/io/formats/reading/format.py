"""What a format is, and what its readers return. Invariant: naming a format imports no library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.document import Document
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.reading.timestamps import EventTimes
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary

MAX_DIFF = 1_000_000
"""Largest multiplicity of an update in a message, and its negative the smallest."""

LINE = "Line"
"""What the parts of messages of lines are called."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format by its names; its module has the readers, and is imported when one is used.

    Attributes:
        name: As the command line names it.
        suffixes: Suffixes of its files, without that of a compression.
        content_types: As messages name it; the first is the registered or usual one. Without any,
            the configuration names the topics that have it.
        module: Full name of its module.
        tombstones: Whether a message without a value says nothing, instead of being rejected.
    """

    name: str
    suffixes: tuple[str, ...]
    content_types: tuple[str, ...]
    module: str
    tombstones: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Encoded facts of one predicate, as a document has them; repeated ones are dropped later.

    Attributes:
        predicate: Name of the predicate.
        args: Term ids, int32 of shape (n, arity), n > 0.
        signs: Multiplicities, int64 of shape (n,); None if each fact is asserted once.
    """

    predicate: str
    args: NDArray[np.int32]
    signs: NDArray[np.int64] | None = None

    @property
    def diff(self) -> NDArray[np.int64]:
        """Multiplicities, int64 of shape (n,)."""
        return np.ones(len(self.args), np.int64) if self.signs is None else self.signs


@dataclass(frozen=True, slots=True, eq=False)
class UpdateRows:
    """Updates of one predicate, as messages have them; n in every column.

    Attributes:
        predicate: Its name.
        messages: Row of the batch that each update comes from, int64 of shape (n,).
        args: One column for each argument: terms in N-Triples syntax.
        diff: Multiplicities, int64 of shape (n,).
        ts: Event times; those without one have that of their message.
        part: What the parts of a message are called in reasons ("Line").
        numbers: The part of its message that each update is, from 1; 0 if it is the whole of it.
            None if every message has one update.
    """

    predicate: str
    messages: NDArray[np.int64]
    args: Sequence[Sequence[str] | pa.LargeStringArray]
    diff: NDArray[np.int64]
    ts: EventTimes
    part: str = ""
    numbers: NDArray[np.int32] | None = None

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return len(self.args)

    @property
    def parts(self) -> NDArray[np.int32]:
        """The part of its message that each update is, 0 if it is the whole of it."""
        if self.numbers is None:
            return np.zeros(len(self.messages), dtype=np.int32)
        return self.numbers

    def place(self, index: int) -> str:
        """Where in its message an update is, as a reason begins."""
        return "" if self.numbers is None else place(self.part, int(self.numbers[index]))


@dataclass(frozen=True, slots=True, eq=False)
class EncodedUpdates:
    """Updates of one predicate, as messages have them, encoded; n in every column.

    They have the time of their messages, and their terms are where RDF allows them.

    Attributes:
        predicate: Its name.
        messages: Row of the batch that each update comes from, int64 of shape (n,).
        args: Ids in the dictionary that the reader was given, int32 of shape (n, arity).
        diff: Multiplicities other than 0, int64 of shape (n,).
        lines: The line of its message that each update is in, from 1, int32 of shape (n,).
    """

    predicate: str
    messages: NDArray[np.int64]
    args: NDArray[np.int32]
    diff: NDArray[np.int64]
    lines: NDArray[np.int32]

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return int(self.args.shape[1])

    @property
    def parts(self) -> NDArray[np.int32]:
        """The part of its message that each update is."""
        return self.lines

    def place(self, index: int) -> str:
        """Where in its message an update is, as a reason begins."""
        return place(LINE, int(self.lines[index]))


def place(part: str, number: int) -> str:
    """Where in a message a reason applies, as the reason begins; empty for the whole message."""
    return f"{part} {number}: " if number else ""


class MessageReader(Protocol):
    """`read_messages` of a format of messages."""

    def __call__(
        self, messages: Messages, dictionary: Dictionary, rejected: Rejections
    ) -> Iterable[UpdateRows | EncodedUpdates]:
        """Updates of messages, in the order in which their terms get ids.

        Args:
            messages: At least one; none is rejected.
            dictionary: Encodes terms of `EncodedUpdates`; new ones are added.
            rejected: Gets the messages that are malformed, by their row in the batch.

        Raises:
            EngineError: The dictionary is full.
        """
        ...


class FactReader(Protocol):
    """`read_facts` of a format of documents."""

    def __call__(self, document: Document, dictionary: Dictionary) -> Iterator[Facts]:
        """Facts in blocks; those of a predicate are in the order of the document.

        Raises:
            DataError: The document cannot be read, or is malformed; has its name and the line.
            EngineError: The dictionary is full.
        """
        ...
