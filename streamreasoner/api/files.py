"""Files of facts for a session. Invariant: what is yielded fits the program of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.api.updates import check_asserted, check_predicate, milliseconds
from streamreasoner.engine.updates import Updates
from streamreasoner.io.files.documents import AS_NAMED, Reading, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from streamreasoner.api.updates import Time
    from streamreasoner.engine.session import Session


def updates_of_file(
    session: Session, path: str | Path, how: Reading = AS_NAMED, *, ts: Time | None = None
) -> Iterator[Updates]:
    """The updates of a path, encoded, block by block; a patch adds and deletes its facts.

    All other formats are sets: they assert each of their facts once, however often it is written.
    What two files have is asserted twice. Each block is made in a turn of its own.

    Args:
        session: Encodes the terms, and has the program.
        path: A file, a folder, an archive, or `-` for standard input.
        how: How to read it.
        ts: The event time of all facts, which those that expire need.

    Raises:
        DataError: The file cannot be read, or its facts do not fit the program.
    """
    return session.turn.each(_updates(session, path, how, ts))


def _updates(
    session: Session, path: str | Path, how: Reading, ts: Time | None
) -> Iterator[Updates]:
    time = None if ts is None else milliseconds(ts)
    program = session.program
    for facts in load(path, session.dictionary, how):
        check_predicate(facts.predicate, facts.args.shape[1], program, f"{path}: ")
        check_asserted(facts.predicate, program.constraints, f"{path}: ")
        times = None if time is None else np.full(len(facts.args), time, np.int64)
        yield Updates(facts.predicate, facts.args, facts.diff, times)
