"""The program in effect and its changes by control messages.

Invariant: the next program depends on the one in effect and the message alone, so a replay makes
the same decision. Both are therefore identified by their canonical text, and no files are read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner import rulesets
from streamreasoner.counts import counted
from streamreasoner.errors import ProgramError, StateError
from streamreasoner.io.codec.envelope import append_milliseconds, check_values, formats_of
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.registry import JSON
from streamreasoner.io.formats.rejected import Reason, Rejected, RejectedError, in_order
from streamreasoner.lang.ast import Import, Query
from streamreasoner.lang.parser import read
from streamreasoner.pipeline.control import Operation, Tick, read_control
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.checked import check_text
from streamreasoner.program.edit import (
    OTHER_EXPIRIES,
    canonical_program,
    other_arity,
    other_role,
    why_taken,
    with_rules,
    without_rules,
)
from streamreasoner.program.text import ProgramText, canonical_text, declarations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from streamreasoner.pipeline.control import ControlMessage
    from streamreasoner.program.checked import CheckedProgram

SOURCE = "program in effect"
_LONGEST_DETAIL = 32_000


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

    def after(self, message: ControlMessage) -> ProgramInEffect:
        """The program after a control message; itself if nothing changes.

        Raises:
            RejectedError: The message is rejected; includes the diagnostics.
        """
        _check_imports(message)
        if message.query is not None and message.operation is Operation.ADD:
            why = why_taken(self.checked, message.query)
            if why is not None:
                raise RejectedError(Reason.RULES_REFUSED, why)
        try:
            checked = canonical_program(self._changed(message), SOURCE)
            text = stored_text(checked)
        except ProgramError as error:
            reason = Reason.RULES_REFUSED if error.diagnostics else Reason.UNKNOWN_RULE
            raise RejectedError(reason, _cut(str(error))) from None
        except RecursionError:
            detail = "The rules are nested too deeply."
            raise RejectedError(Reason.RULES_REFUSED, detail) from None
        if text == stored_text(self.checked):
            return self
        if {*checked.expiries} != {*self.checked.expiries}:
            raise RejectedError(Reason.OTHER_EXPIRIES, OTHER_EXPIRIES)
        for predicate, arity in text.arities.items():
            self._check_arity(predicate, arity)
            self._check_role(predicate, is_constraint=predicate in text.constraints)
        return replace(
            self,
            checked=checked,
            text=text,
            known={**self.known, **text.arities},
            constraints=self.constraints | text.constraints,
        )

    def _changed(self, message: ControlMessage) -> CheckedProgram:
        match message.operation:
            case Operation.ADD:
                return with_rules(self.checked, message.rules, message.source)
            case Operation.REMOVE:
                return without_rules(self.checked, message.rules, message.source)
            case Operation.REPLACE:
                return check_text(message.rules, message.source)

    def _check_role(self, predicate: str, *, is_constraint: bool) -> None:
        """A constraint has no asserted facts, and its changes are on another topic."""
        if predicate in self.known and is_constraint != (predicate in self.constraints):
            detail = other_role(predicate, is_constraint=is_constraint)
            raise RejectedError(Reason.OTHER_ROLE, detail)

    def _check_arity(self, predicate: str, arity: int) -> None:
        known = self.known.get(predicate, arity)
        if known != arity:
            detail = other_arity(predicate, arity, known)
            raise RejectedError(Reason.OTHER_ARITY, detail)
        if arity > self.width:
            raise RejectedError(
                Reason.TOO_MANY_ARGUMENTS,
                f"'{predicate}' has {counted(arity, 'argument')}; the tables of this state have "
                f"columns for {self.width}. A wider program needs a new state.",
            )


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of a batch's control messages.

    Attributes:
        program: The program in effect from this batch on.
        applied: Rows that were applied, ascending.
        rejected: Rows that were rejected, ascending.
        clock: The greatest time of the ticks, in milliseconds since 1970; None if there are none.
    """

    program: ProgramInEffect
    applied: tuple[int, ...]
    rejected: tuple[Rejected, ...]
    clock: int | None = None

    def withdrawn(self, before: ProgramInEffect, why: str) -> Decision:
        """The same messages, all rejected because the epoch fails with their program."""
        detail = f"The program is unchanged, because the epoch fails with the new one: {why}"
        failed = (Rejected(row, Reason.EPOCH_FAILED, detail) for row in self.applied)
        rejected = sorted((*self.rejected, *failed), key=lambda rejection: rejection.row)
        return Decision(before, (), tuple(rejected), self.clock)


def decide(
    current: ProgramInEffect,
    messages: pa.Table,
    max_bytes: int,
    max_ahead: int,
    refusal: Callable[[CheckedProgram], str | None] = lambda _: None,
) -> Decision:
    """Apply control messages in order; a rejected one changes nothing.

    Args:
        current: The program in effect.
        messages: Columns `value`, `timestamp` and `headers`, in the order of their offsets.
        max_bytes: Longest value that is read.
        max_ahead: How far a tick may be beyond the time of its message, in milliseconds; a later
            one counts as that time.
        refusal: Why a program cannot be in effect; None if it can.
    """
    if not len(messages):
        return Decision(current, (), ())
    rejected = check_values(messages, max_bytes)
    formats_of(messages, JSON, {}, (JSON,), rejected)
    times = timestamps.in_range(append_milliseconds(messages))
    for row in np.flatnonzero(times == timestamps.INVALID).tolist():
        out_of_range = RejectedError(Reason.BAD_TIMESTAMP, timestamps.OUT_OF_RANGE)
        rejected.setdefault(row, out_of_range)
    applied: list[int] = []
    clock: int | None = None
    for row, value in enumerate(messages.column("value").to_pylist()):
        if row in rejected:
            continue
        try:
            message = read_control(value)
            if isinstance(message, Tick):
                time = min(message.tick, int(times[row]) + max_ahead)
                clock = time if clock is None else max(clock, time)
                continue
            changed = current.after(message)
            if (why := refusal(changed.checked)) is not None:
                raise RejectedError(Reason.UNPUBLISHABLE, why)  # noqa: TRY301 - caught as others
        except RejectedError as error:
            rejected[row] = error
        else:
            current = changed
            applied.append(row)
    return Decision(current, tuple(applied), in_order(rejected), clock)


def why_files_are_refused(rules: str, source: str) -> str | None:
    """Why a text that imports files cannot be a control message; None if it imports none."""
    names = []
    for directive in read(rules, source).program.directives:
        if isinstance(directive, Query):
            return (
                f'The rules name the query "{directive.file}", which a message cannot include. Add '
                f"it by itself: `streamreasoner rules add FILE.rq --name {directive.predicate}`; "
                "`streamreasoner rules replace` sends a whole program."
            )
        if isinstance(directive, Import) and directive.name not in rulesets.names():
            names.append(directive.name)
    if not names:
        return None
    return (
        f'The rules import the file "{names[0]}", which a message cannot include; only the '
        f"rulesets {', '.join(rulesets.names())} can be imported. Send the rules of the file "
        "itself; `streamreasoner rules replace` does so for a whole program."
    )


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


def _check_imports(message: ControlMessage) -> None:
    detail = why_files_are_refused(message.rules, message.source)
    if detail is not None:
        raise RejectedError(Reason.IMPORT_OF_A_FILE, detail)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}\n…"


def _unreadable(why: str) -> StateError:
    return StateError(
        f"The program in effect, as the table `programs` has it, cannot be restored: {why}. "
        "Run the version that wrote it, or start from scratch with another pipeline.app_id "
        "and state.directory."
    )
