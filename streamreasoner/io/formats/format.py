"""What a format is, and what its readers return. Invariant: naming a format imports no library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.io.formats.document import Document
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


class FactReader(Protocol):
    """`read_facts` of a format of documents."""

    def __call__(self, document: Document, dictionary: Dictionary) -> Iterator[Facts]:
        """Facts in blocks; those of a predicate are in the order of the document.

        Raises:
            DataError: The document cannot be read, or is malformed; has its name and the line.
            EngineError: The dictionary is full.
        """
        ...
