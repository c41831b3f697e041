"""Opens the state of a durable session. Invariant: one process at a time has it open."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.api.durable import journal
from streamreasoner.api.durable.session import DurableSession
from streamreasoner.backends.store import in_memory, restored
from streamreasoner.engine.epoch import DEFAULT_MAX_NEW_TERMS, DEFAULT_RECURSION_LIMIT
from streamreasoner.errors import StateError
from streamreasoner.program.checked import check_text
from streamreasoner.program.hierarchies import Hierarchies, encodes
from streamreasoner.state import PROGRAMS, Tables, check_version, programs
from streamreasoner.state.delta import log
from streamreasoner.state.in_effect import SOURCE, ProgramInEffect, same_program, stored_text
from streamreasoner.state.lock import StateLock

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.program.text import ProgramText

APP_ID = "reasoner"
"""The owner of the tables, where a pipeline has its application id."""
_OF_A_PIPELINE = ("app-id", "checkpoint", "topics.json")


def open_session(
    directory: Path,
    program: CheckedProgram | None,
    *,
    recursion_limit: int = DEFAULT_RECURSION_LIMIT,
    max_new_terms: int = DEFAULT_MAX_NEW_TERMS,
    cores: int = 1,
    hierarchies: Hierarchies = "auto",
) -> DurableSession:
    """Open a state, or begin one.

    Args:
        directory: Its directory; created if absent.
        program: The program of a new state. Of one that is there, the program in effect, or None.
        recursion_limit: Iterations after which a stratum counts as not converging.
        max_new_terms: Most new terms that the rules of an epoch may make.
        cores: How many cores large epochs may use.
        hierarchies: What is done with the copies of facts along hierarchies, in memory.

    Raises:
        DataError: The number of cores is out of range, or hierarchies another word.
        EnvironmentSetupError: Another process has it open, or the directory cannot be written.
        StateError: It is damaged, of another version, of a pipeline, or has another program; or
            there is none, and no program to begin one.
    """
    encodes(hierarchies)  # refuse another word before anything is created
    check_owner(directory)
    place = directory / "tables"
    text = _first_text(place, program)
    with ExitStack() as stack:
        lock = StateLock(directory, key="")
        stack.callback(lock.close)
        check_version(place)
        tables = Tables.open(place, APP_ID, text, max(text.arities.values(), default=0))
        stack.callback(tables.close)
        version = tables.version()
        before = 0 if version is None else version + 1
        past = [(epoch, text) for epoch, text in tables.programs if epoch < before]
        in_effect = ProgramInEffect.restored(past, tables.width)
        if program is not None and not same_program(in_effect.text, program):
            raise StateError(
                f"The state {directory} has another program. Open it without rules, and change its "
                "program with add_rules, remove_rules or change_program; or begin a new state in "
                "another directory."
            )
        interrupted = journal.read(directory)
        if interrupted is not None and interrupted.epoch != before:
            interrupted = None
        last = tables.record(before - 1) if before > 0 else None
        session = DurableSession(
            in_effect.checked,
            restored(
                tables,
                before,
                None if interrupted is None else interrupted.terms_from,
                empty=partial(in_memory, cores),
            ),
            recursion_limit=recursion_limit,
            max_new_terms=max_new_terms,
            known=in_effect.known,
            known_constraints=in_effect.constraints,
            encodes=encodes(hierarchies, before=last is not None and last.encoded),
        )
        session.directory, session.tables, session.lock = directory, tables, lock
        session.positions = {} if last is None else last.offsets
        frontier = last.frontier if last is not None and session.program.expiries else None
        session.resume_before(before, frontier)
        if interrupted is not None:
            changed = interrupted.program
            session.resume(interrupted, None if changed is None else check_text(changed, SOURCE))
        stack.pop_all()
    return session


def check_owner(directory: Path) -> None:
    """Refuse the state of a pipeline.

    Raises:
        StateError: It is one.
    """
    for name in _OF_A_PIPELINE:
        if (directory / name).exists():
            raise StateError(
                f"The state {directory} belongs to a pipeline ({name} is there), which alone may "
                "change it. Ask it with `streamreasoner serve --state`, `state`, `diff` or "
                "`history`, or choose another directory."
            )


def _first_text(place: Path, program: CheckedProgram | None) -> ProgramText:
    """The program that a state begins with, or began with."""
    if program is not None:
        return stored_text(program)
    if log.exists(place / PROGRAMS) and (known := programs.read(place / PROGRAMS)):
        return known[0][1]
    raise StateError(
        f"There is no state in {place.parent}. Give the rules of a new one: "
        "Reasoner.open(directory, rules)."
    )
