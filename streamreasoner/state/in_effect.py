"""The program of a state. Invariant: it is identified by its canonical text, which is stored.

So what is in effect after an epoch depends on the tables alone, and no file is read again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.errors import ProgramError, StateError
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.checked import check_text
from streamreasoner.program.text import ProgramText, canonical_text, declarations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamreasoner.program.checked import CheckedProgram

SOURCE = "program in effect"
"""The file name in messages about the text of a program."""


@dataclass(frozen=True, slots=True)
class ProgramInEffect:
    """A program that is, or may become, that of a state.

    Attributes:
        checked: The program, parsed from its canonical text.
        text: The same as stored.
        known: Arity of every predicate of this program and earlier ones, hidden ones included.
        width: Most arguments of a fact in the tables of the state.
        constraints: Those of the predicates that are or were constraints.
    """

    checked: CheckedProgram
    text: ProgramText
    known: Mapping[str, int]
    width: int
    constraints: frozenset[str] = frozenset()

    @classmethod
    def restored(cls, programs: Sequence[tuple[int, ProgramText]], width: int) -> ProgramInEffect:
        """The last program of a state.

        Args:
            programs: The programs of the state, oldest first.
            width: Most arguments of a fact in the tables of the state.

        Raises:
            StateError: This version would have written another text.
        """
        known: dict[str, int] = {}
        for _, text in programs:
            known |= text.arities
        constraints = frozenset[str]().union(*(text.constraints for _, text in programs))
        _, last = programs[-1]
        try:
            checked = check_text(last.text, SOURCE)
        except ProgramError as error:
            raise _unreadable(str(error)) from None
        # Do not compare hashes: another release may print the same rules differently.
        if stored_text(checked).predicates != last.predicates:
            raise _unreadable("this version lowers it to different predicates")
        return cls(checked, last, known, width, constraints)


def same_program(stored: ProgramText, checked: CheckedProgram) -> bool:
    """Whether a stored text is this program, as this version reads it."""
    if stored.hash == checked.hash:
        return True
    try:
        return check_text(stored.text, SOURCE).hash == checked.hash
    except ProgramError:
        return False


def other_declarations(stored: ProgramText, checked: CheckedProgram) -> list[str]:
    """Where the declarations of a stored text and of the same program in a file differ."""
    before = declarations(check_text(stored.text, SOURCE).programs)
    now = declarations(checked.programs)
    return [
        *(f"`{each}` is in the file and not in effect" for each in sorted(now - before)),
        *(f"`{each}` is in effect and not in the file" for each in sorted(before - now)),
    ]


def stored_text(checked: CheckedProgram) -> ProgramText:
    """A program as it is stored."""
    arities = lower(checked).arities
    predicates = sorted(
        f"{'!' if predicate in checked.constraints else ''}{predicate}/{arity}"
        for predicate, arity in arities.items()
    )
    return ProgramText(checked.hash, canonical_text(checked.programs), tuple(predicates))


def _unreadable(why: str) -> StateError:
    return StateError(
        f"The program in effect, as the table `programs` has it, cannot be restored: {why}. "
        "Run the version that wrote it, or start from scratch with another pipeline.app_id "
        "and state.directory."
    )
