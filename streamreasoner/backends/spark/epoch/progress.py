"""Progress of a large epoch. Invariant: a note refers only to final results in files.

A first load may take hours. Its results are in files already, so to resume it after a crash, a
process needs only a note of these files, the last iteration in them, and their terms that the input
lacks. The note is valid for the same input, state, program and ids, which its digest identifies.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from streamreasoner.backends.spark import files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamreasoner.backends.spark.queries.spark_rows import DifferenceLog, QueryRunner
    from streamreasoner.plan.program_plan import ProgramPlan

EVERY_SECONDS = 60.0
"""Most work lost to a crash, besides the current iteration."""

Parts = list[tuple[str, list[tuple[int, int]]]]
"""Files of a log, with the pairs of stratum and iteration in them."""


@dataclass(frozen=True, slots=True)
class Note:
    """The progress of an epoch.

    Attributes:
        purpose: A digest that identifies the epoch.
        stratum: All lower strata are done.
        iteration: The last one done in the stratum.
        generations: Folders of the files.
        terms: Terms of the epoch that its input lacks, in the order of their ids.
        logs: Files of each log, by its name.
    """

    purpose: str
    stratum: int
    iteration: int
    generations: tuple[str, str]
    terms: list[str]
    logs: dict[str, Parts]


def digest(plan: ProgramPlan, *epoch: object) -> str:
    """What identifies an epoch of a program, as a text of fixed length.

    The rules count, not their delta plans: those may nest deeper than `repr` can recurse.
    """
    strata = [
        ([rule.tree.parts for rule in stratum.rules], stratum.reductions) for stratum in plan.strata
    ]
    program = plan.arities, strata, plan.lattices, sorted(plan.hidden)
    return hashlib.sha256(repr((*epoch, program)).encode()).hexdigest()


class EpochProgress:
    """Writes notes of an epoch's progress, and finds that of a process that died.

    Args:
        runner: Its directory has the files.
    """

    def __init__(self, runner: QueryRunner) -> None:
        self._runner = runner
        self._place = f"{runner.directory}/progress.json"
        self._noted = 0.0
        self._generation = ""
        self._earlier = self._read()
        if self._earlier is None:
            files.delete(runner.spark, runner.directory)

    def begin(self) -> None:
        """Begin an epoch. The note of a failed one stays valid while its files exist."""
        self._noted = time.monotonic()
        if self._generation and self._generation not in self._runner.generations:
            self.forget()

    @property
    def due(self) -> bool:
        """Whether the last note is old."""
        return time.monotonic() >= self._noted + EVERY_SECONDS

    def find(self, purpose: str) -> Note | None:
        """The note of an earlier process, if it is of this epoch.

        If it is of another epoch, its files are deleted.
        """
        note, self._earlier = self._earlier, None
        if note is None or note.purpose == purpose:
            return note
        for generation in note.generations:
            files.delete(self._runner.spark, f"{self._runner.directory}/{generation}")
        return None

    def note(
        self,
        purpose: str,
        place: tuple[int, int],
        terms: Sequence[str],
        logs: Mapping[str, DifferenceLog],
    ) -> None:
        """Write a note of the epoch's progress."""
        stored = {name: log.stored() for name, log in logs.items()}
        note = Note(purpose, *place, self._runner.generations, list(terms), stored)
        text = json.dumps(asdict(note))
        files.write(self._runner.spark, self._place, f"{_digest(text)}\n{text}")
        self._noted, self._generation = time.monotonic(), self._runner.generations[1]

    def forget(self) -> None:
        """Delete the note: the epoch is done, or its files are deleted."""
        files.delete(self._runner.spark, self._place)
        self._generation = ""

    def _read(self) -> Note | None:
        text = files.text(self._runner.spark, self._place)
        digest, _, note = (text or "").partition("\n")
        if digest != _digest(note):
            # Its writer died or was another version, or it is damaged: the epoch starts over.
            return None
        return Note(**json.loads(note))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
