"""A message of the input or the output topic. Invariant: its terms are in canonical N-Triples."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """A fact and how its multiplicity or its presence changes.

    Attributes:
        fact: Subject, predicate and object in N-Triples syntax.
        diff: Its signed multiplicity.
        epoch: The epoch that derived it; -1 for input.
    """

    fact: tuple[str, ...]
    diff: int
    epoch: int
