"""The stored text of a program. Invariant: parsing the text gives a program with this hash."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program as one text.

    Attributes:
        hash: SHA-256, in hex, of what determines the state.
        text: Directives, rules and facts in canonical form, without imports.
        predicates: `name/arity` of every predicate, hidden ones too, sorted.
    """

    hash: str
    text: str
    predicates: tuple[str, ...]

    @property
    def arities(self) -> dict[str, int]:
        """Number of arguments of each predicate."""
        split = (predicate.rpartition("/") for predicate in self.predicates)
        return {name: int(arity) for name, _, arity in split}
