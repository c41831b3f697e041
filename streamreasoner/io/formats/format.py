"""What a format is, and what its readers return. Invariant: naming a format imports no library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.io.formats.document import Document
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary


@dataclass(frozen=True, slots=True)
class Format:
    """A format by its names; its module has the readers, and is imported when one is used.

    Attributes:
        name: As the command line names it.
        suffixes: Suffixes of its files, without that of a compression.
        content_type: As messages name it.
        module: Full name of its module.
    """

    name: str
    suffixes: tuple[str, ...]
    content_type: str
    module: str


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Encoded facts of one predicate; a fact that a document has twice is asserted twice.

    Attributes:
        predicate: Name of the predicate.
        args: Term ids, int32 of shape (n, arity), n > 0.
    """

    predicate: str
    args: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class UpdateRows:
    """Updates of one predicate, as messages have them; n in every column.

    Attributes:
        predicate: Its name.
        messages: Row of the batch that each update comes from, int64 of shape (n,).
        args: One column for each argument: terms in N-Triples syntax, numbers and booleans.
        diff: Multiplicities, int64 of shape (n,).
        ts: Event times: texts, milliseconds, or None for the time of the message.
        places: Where in its message each update is, as a reason for its rejection begins
            ("Line 7: "); empty if no message has several.
    """

    predicate: str
    messages: NDArray[np.int64]
    args: Sequence[Sequence[str | float]]
    diff: NDArray[np.int64]
    ts: Sequence[str | int | None]
    places: Sequence[str] = ()


class MessageReader(Protocol):
    """`read_messages` of a format of messages."""

    def __call__(self, values: Sequence[bytes], rejected: Rejections) -> Iterable[UpdateRows]:
        """Updates of a batch, in the order in which their terms get ids.

        Args:
            values: The value of each message.
            rejected: Messages to leave out; gets those that are malformed.
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
