"""Rules and files that a session follows. Invariant: it has the facts of each file as last read.

A file is a set, read as a whole when it has changed: what is new in it is asserted, and what it
has no longer is retracted. A file that cannot be read keeps the facts that it had.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner import rulesets
from streamreasoner.api.files import updates_of_file
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import DataError, StreamReasonerError
from streamreasoner.facts import distinct
from streamreasoner.io.files.documents import AS_NAMED, Reading, expanded
from streamreasoner.program.load import load_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.session import Session
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.rdf.graph_mode import GraphMode

_log = logging.getLogger(__name__)
Stamp = tuple[tuple[str, int, int, int], ...]
_NOT_THERE: Stamp = ()


@dataclass(frozen=True, slots=True)
class _Counted:
    """Facts of one predicate: int32 of shape (n, arity), each as often as int64 of shape (n,)."""

    args: NDArray[np.int32]
    counts: NDArray[np.int64]


@dataclass(slots=True)
class _Followed:
    """A file: its stamp when it was last looked at, whether that is read, and its facts."""

    stamp: Stamp = _NOT_THERE
    is_read: bool = True
    facts: dict[str, _Counted] = field(default_factory=dict)


class FollowedFiles:
    """Keeps a session at the facts of files, and at the program of a rule file.

    Args:
        session: The session, which has none of their facts yet.
        rules: The rule file, or the name of a ruleset.
        program: What it was loaded as.
        paths: Files, folders and archives.
        how: How they are read.
        graphs: How the quads of named graphs count.

    Raises:
        DataError: A path cannot be read, or its facts do not fit the program.
    """

    def __init__(  # noqa: PLR0917 - in the order of use
        self,
        session: Session,
        rules: str,
        program: CheckedProgram,
        paths: Sequence[Path],
        how: Reading = AS_NAMED,
        graphs: GraphMode | None = None,
    ) -> None:
        self._session = session
        self._rules = rules
        self._loaded = program
        self._graphs = graphs
        self._paths = tuple(paths)
        self._how = how
        self._files: dict[Path, _Followed] = {}
        self._program = _Followed(self._stamp_of_rules())
        changes: list[Updates] = []
        for file in self._listed():
            seen = self._files[file] = _Followed(_stamp(file))
            seen.facts = self._read(file)
            changes += _changes({}, seen.facts)
        session.apply(changes, report=False)

    def refresh(self) -> bool:
        """Apply what has changed since the last time, in one epoch; whether anything has.

        A file is read once its stamp has stayed as it is for one call, so that one that is being
        written is left alone.
        """
        program = self._changed_program()
        updates: list[Updates] = []
        read: dict[Path, _Followed] = {}
        listed = dict.fromkeys(self._listed())
        for file in dict.fromkeys((*listed, *self._files)):
            seen = self._files.setdefault(file, _Followed(is_read=False))
            if not self._is_due(seen, _stamp(file)):
                continue
            try:
                facts = self._read(file) if seen.stamp != _NOT_THERE else {}
            except (StreamReasonerError, OSError) as error:
                _log.warning("%s is not read, and keeps the facts that it had: %s", file, error)
                continue
            updates += _changes(seen.facts, facts)
            read[file] = _Followed(seen.stamp, facts=facts)
        if program is None and not any(len(each.args) for each in updates):
            self._files.update(read)
            return False
        try:
            self._session.apply(updates, program, report=False)
        except StreamReasonerError as error:
            _log.warning("What has changed is not taken: %s", error)
            return False
        self._files.update(read)
        for file in [file for file in read if file not in listed]:
            del self._files[file]
        return True

    def _is_due(self, seen: _Followed, stamp: Stamp) -> bool:
        """Whether a file is to be read now; notes how it is."""
        if stamp != seen.stamp:
            seen.stamp, seen.is_read = stamp, False
            return False
        due, seen.is_read = not seen.is_read, True
        return due

    def _listed(self) -> Iterator[Path]:
        for path in self._paths:
            yield from expanded(path, self._how)

    def _read(self, file: Path) -> dict[str, _Counted]:
        """The facts of a file, by predicate."""
        parts: dict[str, list[NDArray[np.int32]]] = {}
        for each in updates_of_file(self._session, file, self._how):
            if (each.multiplicity < 0).any():
                raise DataError(
                    f"{file}: is a patch, which is not a set of facts to follow. Apply it to a "
                    "file, or load it with Reasoner.load."
                )
            parts.setdefault(each.predicate, []).append(each.args)
        return {name: _counted(np.concatenate(rows)) for name, rows in parts.items()}

    def _changed_program(self) -> CheckedProgram | None:
        """The program of the rule file, if it has changed and is valid."""
        if not self._is_due(self._program, self._stamp_of_rules()):
            return None
        try:
            program = load_program(self._rules, self._graphs)
        except StreamReasonerError as error:
            _log.warning("The rules stay as they are: %s", error)
            return None
        self._loaded = program
        return None if program.hash == self._session.program.hash else program

    def _stamp_of_rules(self) -> Stamp:
        """That of the rule file, and of the files that it imports."""
        if self._rules in rulesets.names():
            return _NOT_THERE
        texts = {Path(each.source) for each in self._loaded.programs}
        files = sorted({Path(self._rules), *(path for path in texts if path.is_file())})
        return tuple(part for path in files for part in _stamp(path))


def _stamp(path: Path) -> Stamp:
    """What changes with the content of a file, or of a table in a folder."""
    files = sorted((path / "_delta_log").glob("*")) if path.is_dir() else [path]
    found = []
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        found.append((file.name, status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(found)


def _counted(args: NDArray[np.int32]) -> _Counted:
    facts, places = distinct(args)
    return _Counted(facts, np.bincount(places, minlength=len(facts)).astype(np.int64))


def _changes(before: dict[str, _Counted], after: dict[str, _Counted]) -> list[Updates]:
    """The updates that make the facts of a file those that it has now."""
    now = time.time_ns() // 1_000_000
    found = []
    for name in sorted(before.keys() | after.keys()):
        parts = [(each[name], sign) for each, sign in ((before, -1), (after, 1)) if name in each]
        facts, places = distinct(np.concatenate([part.args for part, _ in parts]))
        signed = np.concatenate([sign * part.counts for part, sign in parts])
        counts = np.zeros(len(facts), np.int64)
        np.add.at(counts, places, signed)
        rows = counts != 0
        times = np.full(int(rows.sum()), now, np.int64)
        found.append(Updates(name, facts[rows], counts[rows], times))
    return found
