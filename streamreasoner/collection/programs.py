"""A program as it is stored and shown. Invariant: the text reads back as a program of this hash."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program as one text.

    Attributes:
        hash: SHA-256, in hex, of what decides the state.
        text: Directives, rules and facts in canonical print, without imports.
        predicates: `name/arity` of every predicate, hidden ones too, sorted.
    """

    hash: str
    text: str
    predicates: tuple[str, ...]

    @property
    def arities(self) -> dict[str, int]:
        """Number of arguments of each predicate."""
        split = (one.rpartition("/") for one in self.predicates)
        return {name: int(arity) for name, _, arity in split}
