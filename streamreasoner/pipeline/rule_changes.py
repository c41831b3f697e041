"""Changes of the program in effect by control messages.

Invariant: the next program depends on the one in effect and the message alone, so a replay makes
the same decision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner import rulesets
from streamreasoner.counts import counted
from streamreasoner.errors import ProgramError
from streamreasoner.io.codec.envelope import append_milliseconds, check_values, formats_of
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.registry import JSON
from streamreasoner.io.formats.rejected import Reason, Rejected, RejectedError, in_order
from streamreasoner.lang.ast import Import, Query
from streamreasoner.lang.parser import read
from streamreasoner.pipeline.control import Operation, Tick, read_control
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
from streamreasoner.program.sources import RULES
from streamreasoner.state.in_effect import SOURCE, ProgramInEffect, stored_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from streamreasoner.pipeline.control import ControlMessage
    from streamreasoner.program.checked import CheckedProgram

_LONGEST_DETAIL = 32_000


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


def after(current: ProgramInEffect, message: ControlMessage) -> ProgramInEffect:
    """The program after a control message; the same if nothing changes.

    Raises:
        RejectedError: The message is rejected; includes the diagnostics.
    """
    _check_imports(message)
    if message.query is not None and message.operation is Operation.ADD:
        why = why_taken(current.checked, message.query)
        if why is not None:
            raise RejectedError(Reason.RULES_REFUSED, why)
    try:
        checked = canonical_program(_changed(current, message), SOURCE)
        text = stored_text(checked)
    except ProgramError as error:
        reason = Reason.RULES_REFUSED if error.diagnostics else Reason.UNKNOWN_RULE
        raise RejectedError(reason, _cut(str(error))) from None
    except RecursionError:
        detail = "The rules are nested too deeply."
        raise RejectedError(Reason.RULES_REFUSED, detail) from None
    if text == stored_text(current.checked):
        return current
    if {*checked.expiries} != {*current.checked.expiries}:
        raise RejectedError(Reason.OTHER_EXPIRIES, OTHER_EXPIRIES)
    for predicate, arity in text.arities.items():
        _check_arity(current, predicate, arity)
        _check_role(current, predicate, is_constraint=predicate in text.constraints)
    return replace(
        current,
        checked=checked,
        text=text,
        known={**current.known, **text.arities},
        constraints=current.constraints | text.constraints,
    )


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
            changed = after(current, message)
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


def _check_imports(message: ControlMessage) -> None:
    detail = why_files_are_refused(message.rules, message.source)
    if detail is not None:
        raise RejectedError(Reason.IMPORT_OF_A_FILE, detail)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}\n…"


def _changed(current: ProgramInEffect, message: ControlMessage) -> CheckedProgram:
    match message.operation:
        case Operation.ADD:
            return with_rules(current.checked, message.rules, message.source, RULES)
        case Operation.REMOVE:
            return without_rules(current.checked, message.rules, message.source, RULES)
        case Operation.REPLACE:
            return check_text(message.rules, message.source)


def _check_role(current: ProgramInEffect, predicate: str, *, is_constraint: bool) -> None:
    """A constraint has no asserted facts, and its changes are on another topic."""
    if predicate in current.known and is_constraint != (predicate in current.constraints):
        detail = other_role(predicate, is_constraint=is_constraint)
        raise RejectedError(Reason.OTHER_ROLE, detail)


def _check_arity(current: ProgramInEffect, predicate: str, arity: int) -> None:
    known = current.known.get(predicate, arity)
    if known != arity:
        detail = other_arity(predicate, arity, known)
        raise RejectedError(Reason.OTHER_ARITY, detail)
    if arity > current.width:
        raise RejectedError(
            Reason.TOO_MANY_ARGUMENTS,
            f"'{predicate}' has {counted(arity, 'argument')}; the tables of this state have "
            f"columns for {current.width}. A wider program needs a new state.",
        )
