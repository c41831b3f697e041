"""How far an epoch of many changes has come. Invariant: what is noted is in files, and final.

A first load may take hours. What its steps have computed is in files already, so all that a process
needs to go on after another one died is a note of which files they are, up to which iteration they
go, and which terms they have that the input has not. The note says what it is for: the same input,
on the same state, with the same program and the same ids.
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

    from streamreasoner.backends.spark.relation import DifferenceLog, QueryRunner

EVERY_SECONDS = 60.0
"""How much work a death may cost, beside the iteration that is under way."""

Parts = list[tuple[str, list[tuple[int, int]]]]
"""Files of a log, with the pairs of stratum and iteration in them."""


@dataclass(frozen=True, slots=True)
class Note:
    """What an epoch has come to.

    Attributes:
        purpose: Which epoch this is.
        stratum: All before it are done.
        iteration: Of the stratum, the last that is done.
        generations: Folders of the files.
        terms: Those of the epoch that its input does not have, in the order of their ids.
        logs: By name.
    """

    purpose: str
    stratum: int
    iteration: int
    generations: tuple[str, str]
    terms: list[str]
    logs: dict[str, Parts]


class Progress:
    """Notes how far an epoch is, and finds what was noted by a process that died.

    Args:
        runner: Where the files are.
    """

    def __init__(self, runner: QueryRunner) -> None:
        self._runner = runner
        self._place = f"{runner.directory}/progress.json"
        self._noted = 0.0
        self._kept = ""
        self._found = self._read()
        if self._found is None:
            files.delete(runner.spark, runner.directory)

    def begin(self) -> None:
        """Begin an epoch. What was noted of one that failed is good while its files are there."""
        self._noted = time.monotonic()
        if self._kept and self._kept not in self._runner.generations:
            self.forget()

    @property
    def due(self) -> bool:
        """Whether the last note is old."""
        return time.monotonic() >= self._noted + EVERY_SECONDS

    def find(self, purpose: str) -> Note | None:
        """What was noted of an epoch that another process has begun, if it is this one.

        If it is another, its files are deleted.
        """
        found, self._found = self._found, None
        if found is None or found.purpose == purpose:
            return found
        for generation in found.generations:
            files.delete(self._runner.spark, f"{self._runner.directory}/{generation}")
        return None

    def note(
        self,
        purpose: str,
        place: tuple[int, int],
        terms: Sequence[str],
        logs: Mapping[str, DifferenceLog],
    ) -> None:
        """Note how far it is."""
        stored = {name: log.stored() for name, log in logs.items()}
        note = Note(purpose, *place, self._runner.generations, list(terms), stored)
        text = json.dumps(asdict(note))
        files.write(self._runner.spark, self._place, f"{_digest(text)}\n{text}")
        self._noted, self._kept = time.monotonic(), self._runner.generations[1]

    def forget(self) -> None:
        """The epoch is done, or its files are gone."""
        files.delete(self._runner.spark, self._place)
        self._kept = ""

    def _read(self) -> Note | None:
        text = files.text(self._runner.spark, self._place)
        digest, _, note = (text or "").partition("\n")
        if digest != _digest(note):
            # Its writer died or was another version, or it is damaged: the epoch begins again.
            return None
        return Note(**json.loads(note))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
