"""The version of a state: two integers. Invariant: a state of another version is never evaluated.

`FORMAT` is the layout of tables, their properties, the records in their commits and the syntax of
terms. To raise it, add a step to `state.migrate`.

`SEMANTICS` is the meaning of the rows: strata, lowering, built-ins and the order of terms. Raise it
when any program derives anything different, at any iteration: an epoch would retract derivations
that the state does not hold. A test compares the digests of many programs with those recorded for
the number. List in `state.migrate` which programs are affected.

2: `matches` uses RE2, whose patterns differ from Python's.
3: IRIs are ordered without the bracket that ends them. Ill-typed literals, and those with a
   language, have no effective boolean value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from streamreasoner.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT: Final = 2
SEMANTICS: Final = 3

FORMAT_PROPERTY: Final = "streamreasoner.format"
SEMANTICS_PROPERTY: Final = "streamreasoner.semantics"


@dataclass(frozen=True, slots=True)
class StateVersion:
    """The version of a state or of a part of it; defaults are for a state without numbers.

    Attributes:
        format: Its layout.
        semantics: The meaning of its rows.
    """

    format: int = 0
    semantics: int = 1

    @classmethod
    def current(cls) -> StateVersion:
        """The version that this release reads and writes."""
        return cls(FORMAT, SEMANTICS)

    @classmethod
    def of_properties(cls, properties: Mapping[str, str | None]) -> StateVersion:
        """The version in the properties of a table.

        Raises:
            StateError: They are not integers.
        """
        oldest = cls()
        try:
            return cls(
                int(str(properties.get(FORMAT_PROPERTY, oldest.format))),
                int(str(properties.get(SEMANTICS_PROPERTY, oldest.semantics))),
            )
        except ValueError as error:
            raise StateError(
                f"{FORMAT_PROPERTY} or {SEMANTICS_PROPERTY} of a table is not a number ({error}). "
                "Restore the state from a backup, or delete it and start from the beginning."
            ) from None

    @property
    def properties(self) -> dict[str, str]:
        """The version as properties of a table."""
        return {FORMAT_PROPERTY: str(self.format), SEMANTICS_PROPERTY: str(self.semantics)}

    def check_not_newer(self, where: object) -> None:
        """Refuse a version that only a newer release can read.

        Args:
            where: What has the version, for the message.

        Raises:
            StateError: The version is newer.
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
            where: What has the version, for the message.

        Raises:
            StateError: The version differs from that of this release.
        """
        self.check_not_newer(where)
        for name, number, current in self._numbers():
            if number < current:
                raise StateError(
                    f"{where} has {name} {number}; this release reads {name} {current}. Stop the "
                    f"pipeline and run: streamreasoner migrate --config CONFIG, or of a state of "
                    "Reasoner.open: streamreasoner migrate --state DIRECTORY"
                )

    def _numbers(self) -> tuple[tuple[str, int, int], ...]:
        """Name, number and current number of format and semantics."""
        return ("format", self.format, FORMAT), ("semantics", self.semantics, SEMANTICS)
