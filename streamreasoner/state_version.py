"""The version of a state: two integers. Invariant: a state of another version is never evaluated.

`FORMAT` says how tables, their properties and the records in their commits are laid out. Raise it
with a step in `storage.migrate`.

`SEMANTICS` says what the rows mean: strata, lowering, the meaning of built-ins and the order of
terms. Raise it when a program derives anything, at any iteration, that it did not derive before:
an epoch would retract derivations that the state does not hold. A test compares the digests of
many programs with those of the number. Say in `storage.migrate` which programs derive the same.

2: `matches` follows RE2, whose patterns are not those of Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from streamreasoner.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT: Final = 1
SEMANTICS: Final = 2

FORMAT_PROPERTY: Final = "streamreasoner.format"
SEMANTICS_PROPERTY: Final = "streamreasoner.semantics"


@dataclass(frozen=True, slots=True)
class StateVersion:
    """The version of a state, or of a part of it; the default is that of a state without numbers.

    Attributes:
        format: How it is laid out.
        semantics: What it means.
    """

    format: int = 0
    semantics: int = 1

    @classmethod
    def current(cls) -> StateVersion:
        """The version that this release reads and writes."""
        return cls(FORMAT, SEMANTICS)

    @classmethod
    def of_properties(cls, properties: Mapping[str, str | None]) -> StateVersion:
        """The version that the properties of a table say.

        Raises:
            StateError: They hold no numbers.
        """
        oldest = cls()
        try:
            return cls(
                int(str(properties.get(FORMAT_PROPERTY, oldest.format))),
                int(str(properties.get(SEMANTICS_PROPERTY, oldest.semantics))),
            )
        except ValueError as error:
            raise StateError(
                f"{FORMAT_PROPERTY} or {SEMANTICS_PROPERTY} of a table is no number ({error}). "
                "Restore the state from a backup, or delete it and start from the beginning."
            ) from None

    @property
    def properties(self) -> dict[str, str]:
        """The version as properties of a table."""
        return {FORMAT_PROPERTY: str(self.format), SEMANTICS_PROPERTY: str(self.semantics)}

    def check_not_newer(self, where: object) -> None:
        """Refuse a version that only a newer release reads.

        Args:
            where: What has it, for the message.

        Raises:
            StateError: Says both numbers and what to do.
        """
        for name, number, current in self._numbers():
            if number > current:
                raise StateError(
                    f"{where} has {name} {number}; this release reads {name} {current}. Run a "
                    "release that is at least as new as the one that wrote it."
                )

    def check(self, where: object) -> None:
        """Refuse a version that this release does not read.

        Args:
            where: What has it, for the message.

        Raises:
            StateError: Says both numbers and what to do.
        """
        self.check_not_newer(where)
        for name, number, current in self._numbers():
            if number < current:
                raise StateError(
                    f"{where} has {name} {number}; this release reads {name} {current}. Stop the "
                    f"pipeline and run: streamreasoner migrate --config CONFIG"
                )

    def _numbers(self) -> tuple[tuple[str, int, int], ...]:
        """Each number by name, with that of this release."""
        return ("format", self.format, FORMAT), ("semantics", self.semantics, SEMANTICS)
