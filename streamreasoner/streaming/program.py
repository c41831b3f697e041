"""The program in effect and what control messages make of it.

Invariant: the program that a message leads to follows from the one in effect and the message alone,
so that a replay decides the same. Both are therefore known by their canonical text, and nothing is
read from files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner import rulesets
from streamreasoner.analysis.canonical_text import canonical_text
from streamreasoner.analysis.change import in_one_text, with_rules, without_rules
from streamreasoner.analysis.check import check_text
from streamreasoner.collection.programs import ProgramText
from streamreasoner.errors import ProgramError, StateError
from streamreasoner.lang.ast import Import
from streamreasoner.lang.parser import read
from streamreasoner.plan.lower import lower
from streamreasoner.reasoner import other_arity
from streamreasoner.streaming import timestamps
from streamreasoner.streaming.control import Operation, read_control
from streamreasoner.streaming.envelope import append_milliseconds, check_envelopes
from streamreasoner.streaming.rejected import Reason, Rejected, RejectedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from streamreasoner.analysis.check import CheckedProgram
    from streamreasoner.streaming.control import ControlMessage

SOURCE = "program in effect"
_LONGEST_DETAIL = 32_000


@dataclass(frozen=True, slots=True)
class ProgramInEffect:
    """A program that a state has, or may have next.

    Attributes:
        checked: The program, read from its canonical text.
        text: The same as it is stored.
        known: Arity of every predicate that this program or one before it has, hidden ones too.
        width: How many arguments a fact of the state may have.
    """

    checked: CheckedProgram
    text: ProgramText
    known: Mapping[str, int]
    width: int

    @classmethod
    def restored(cls, history: Sequence[tuple[int, ProgramText]], width: int) -> ProgramInEffect:
        """The last program of a state.

        Args:
            history: The programs of the state, oldest first.
            width: How many arguments a fact of the state may have.

        Raises:
            StateError: Its text is not one that this version would have written.
        """
        known: dict[str, int] = {}
        for _, text in history:
            known |= text.arities
        _, last = history[-1]
        try:
            checked = check_text(last.text, SOURCE)
        except ProgramError as error:
            raise _unreadable(str(error)) from None
        # The hash is a name that tables and topic share; another release may print rules otherwise.
        if stored_text(checked).predicates != last.predicates:
            raise _unreadable("this version lowers it to other predicates")
        return cls(checked, last, known, width)

    def after(self, message: ControlMessage) -> ProgramInEffect:
        """The program that a control message makes of this one; itself if nothing changes.

        Raises:
            RejectedError: The message is refused; the diagnostics are among what it says.
        """
        _refuse_files(message)
        try:
            checked = in_one_text(self._changed(message), SOURCE)
            text = stored_text(checked)
        except ProgramError as error:
            reason = Reason.RULES_REFUSED if error.diagnostics else Reason.UNKNOWN_RULE
            raise RejectedError(reason, _cut(str(error))) from None
        except RecursionError:
            detail = "The rules are nested too deeply."
            raise RejectedError(Reason.RULES_REFUSED, detail) from None
        if text == stored_text(self.checked):
            return self
        for predicate, arity in text.arities.items():
            self._check_arity(predicate, arity)
        return replace(self, checked=checked, text=text, known={**self.known, **text.arities})

    def _changed(self, message: ControlMessage) -> CheckedProgram:
        match message.operation:
            case Operation.ADD:
                return with_rules(self.checked, message.rules, message.source)
            case Operation.REMOVE:
                return without_rules(self.checked, message.rules, message.source)
            case Operation.REPLACE:
                return check_text(message.rules, message.source)

    def _check_arity(self, predicate: str, arity: int) -> None:
        known = self.known.get(predicate, arity)
        if known != arity:
            detail = other_arity(predicate, arity, known)
            raise RejectedError(Reason.OTHER_ARITY, detail)
        if arity > self.width:
            raise RejectedError(
                Reason.TOO_MANY_ARGUMENTS,
                f"'{predicate}' has {arity} arguments; the tables of this state have columns for "
                f"{self.width}. A wider program needs a new state that begins with it.",
            )


@dataclass(frozen=True, slots=True)
class Decision:
    """What the control messages of a batch come to.

    Attributes:
        program: The program from the batch on.
        accepted: Rows that were followed, ascending.
        refused: The other rows, ascending.
    """

    program: ProgramInEffect
    accepted: tuple[int, ...]
    refused: tuple[Rejected, ...]

    def withdrawn(self, before: ProgramInEffect, why: str) -> Decision:
        """The same messages, all refused, because the epoch fails with the program they make."""
        detail = f"The program stays as it is, because the epoch fails with the new one: {why}"
        failed = (Rejected(row, Reason.EPOCH_FAILED, detail) for row in self.accepted)
        refused = sorted((*self.refused, *failed), key=lambda one: one.row)
        return Decision(before, (), tuple(refused))


def decide(current: ProgramInEffect, messages: pa.Table, max_bytes: int) -> Decision:
    """Follow control messages one after the other; a refused one changes nothing.

    Args:
        current: The program in effect.
        messages: Columns `value`, `timestamp` and `headers`, in the order of their offsets.
        max_bytes: Longest value that is looked at.
    """
    if not len(messages):
        return Decision(current, (), ())
    refused = check_envelopes(messages, max_bytes)
    times = timestamps.milliseconds([None] * len(messages), append_milliseconds(messages))
    for row in np.flatnonzero(times == timestamps.INVALID).tolist():
        out_of_range = RejectedError(Reason.BAD_TIMESTAMP, timestamps.OUT_OF_RANGE)
        refused.setdefault(row, out_of_range)
    accepted = []
    for row, value in enumerate(messages.column("value").to_pylist()):
        if row in refused:
            continue
        try:
            current = current.after(read_control(value))
        except RejectedError as error:
            refused[row] = error
        else:
            accepted.append(row)
    rejections = (
        Rejected(row, error.reason, error.detail) for row, error in sorted(refused.items())
    )
    return Decision(current, tuple(accepted), tuple(rejections))


def refuse_files(rules: str, source: str) -> str | None:
    """Why a text cannot be a control message, if it imports files; None if it does not."""
    names = [
        directive.name
        for directive in read(rules, source).program.directives
        if isinstance(directive, Import) and directive.name not in rulesets.names()
    ]
    if not names:
        return None
    return (
        f'The rules import the file "{names[0]}", which a message cannot bring along; only the '
        f"rulesets {', '.join(rulesets.names())} can be imported. Send the rules of the file "
        "itself; `streamreasoner rules replace` does so for a whole program."
    )


def same_program(stored: ProgramText, checked: CheckedProgram) -> bool:
    """Whether a program is the one of a stored text, as this version reads it."""
    if stored.hash == checked.hash:
        return True
    try:
        return check_text(stored.text, SOURCE).hash == checked.hash
    except ProgramError:
        return False


def stored_text(checked: CheckedProgram) -> ProgramText:
    """A program as it is stored."""
    arities = lower(checked).arities
    predicates = sorted(f"{predicate}/{arity}" for predicate, arity in arities.items())
    return ProgramText(checked.hash, canonical_text(checked.programs), tuple(predicates))


def _refuse_files(message: ControlMessage) -> None:
    detail = refuse_files(message.rules, message.source)
    if detail is not None:
        raise RejectedError(Reason.IMPORT_OF_A_FILE, detail)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}\n…"


def _unreadable(why: str) -> StateError:
    return StateError(
        f"The program in effect, as the table `programs` has it, cannot be taken up again: {why}. "
        "Run the version that wrote it, or begin anew with another pipeline.app_id and "
        "state.directory."
    )
