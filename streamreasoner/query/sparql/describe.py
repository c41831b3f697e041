"""The triples of DESCRIBE. Invariant: a description ends at IRIs and literals.

It is the concise bounded description (https://www.w3.org/submissions/CBD/), without reification:
all triples of a resource, and those of the blank nodes that it leads to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.rdf.texts import are_blank_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamreasoner.query.sparql.solving.dataset import Dataset
    from streamreasoner.query.sparql.solving.memory import Memory


def described(start: NDArray[np.int32], dataset: Dataset, memory: Memory) -> NDArray[np.int32]:
    """The triples that describe resources, int32 of shape (n, 3), each once.

    Args:
        start: The ids of the resources.
        dataset: Its default graph describes them.
        memory: The steps of the query.
    """
    seen = frontier = np.unique(start)
    parts = [np.empty((0, 3), np.int32)]
    while len(frontier):
        wanted = memory.table({"id": frontier})
        found = memory.running.fetch(
            f"select s, p, o from {dataset.triples} t where s in (select id from {wanted})"
        )
        parts.append(np.stack([found[column] for column in "spo"], axis=1))
        objects = np.unique(parts[-1][:, 2])
        blank = objects[np.asarray(are_blank_nodes(memory.terms.decode(objects)))]
        frontier = np.setdiff1d(blank, seen)
        seen = np.union1d(seen, frontier)
    return np.unique(np.concatenate(parts), axis=0)
