"""The programs of a state, checked and planned. Invariant: each text is read once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from streamreasoner.errors import ProgramError, StateError
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.checked import check_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.plan.program_plan import Lattice, ProgramPlan
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.program.text import ProgramText

SOURCE: Final = "program in effect"
"""The file name in messages about the text of a program."""
_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class InEffect:
    """A program in effect.

    Attributes:
        since: The epoch that it took effect in; -1 if the state began with it.
        text: The program as one text, with its hash.
        checked: The program.
        plan: Its plan.
    """

    since: int
    text: ProgramText
    checked: CheckedProgram
    plan: ProgramPlan

    def lattices(self, predicate: str) -> tuple[Lattice, ...]:
        """The lattices of a predicate."""
        found = (each for each in self.plan.lattices if each.pattern.predicate == predicate)
        return tuple(found)


def in_effect(programs: Sequence[tuple[int, ProgramText]], epoch: int) -> InEffect:
    """The program at the end of an epoch.

    Args:
        programs: The epochs at which programs took effect, ascending; the first is -1.
        epoch: The epoch.

    Raises:
        StateError: This version does not accept it.
    """
    *_, (since, text) = ((first, each) for first, each in programs if first <= epoch)
    try:
        checked, plan = _read(text.text)
    except ProgramError as error:
        raise StateError(
            f"The program in effect at epoch {epoch} cannot be read: {error} Ask the version that "
            "wrote it."
        ) from None
    return InEffect(since, text, checked, plan)


@lru_cache(maxsize=_KEPT)
def _read(text: str) -> tuple[CheckedProgram, ProgramPlan]:
    checked = check_text(text, SOURCE)
    return checked, lower(checked)
