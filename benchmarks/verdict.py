"""Which peers are faster than we are, row by row. Invariant: seconds of processor time decide.

Loading is compared with every peer that supports deletions, and in the tasks of `BATCH` with those
of FlowLog too that do not. An update counts as its removal and its addition together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks import harness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

OURS = "streamreasoner"
BATCH_ENGINE = "FlowLog, batch"
BATCH = ("triangles", "components")  # how titles begin
MEASURES = {
    "load": ("load",),
    "one update": ("remove", "add"),
    "many updates": ("batch_remove", "batch_add"),
}
HEADER = ("task", "measure", "streamreasoner", "peer", "CPU s", "peer / ours", "we are")


@dataclass(frozen=True, slots=True)
class Row:
    """One measure of a task, with the fastest peer.

    Attributes:
        task: Title of its table, up to the semicolon.
        measure: A key of `MEASURES`.
        ours: Our seconds of processor time.
        peer: Name of the fastest peer.
        theirs: Its seconds.
    """

    task: str
    measure: str
    ours: float
    peer: str
    theirs: float

    @property
    def ratio(self) -> float:
        """Their time as a multiple of ours; below 1 they are faster."""
        return self.theirs / max(self.ours, 1e-9)

    @property
    def behind(self) -> bool:
        """Whether the peer is faster."""
        return self.theirs < self.ours


def rows(results: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """The rows of all tasks, those we lose first, from the results as JSON has them."""
    found = [row for title, result in results.items() for row in _of_task(title, result["rows"])]
    return sorted(found, key=lambda row: row.ratio)


def _of_task(title: str, engines: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    by_name = {row["engine"]: row for row in engines if "engine" in row}
    ours = by_name.pop(OURS, None)
    if ours is None:
        return
    task = title.split(";", maxsplit=1)[0]
    for measure, parts in MEASURES.items():
        mine = seconds(ours, parts)
        theirs = {
            name: taken
            for name, row in by_name.items()
            if (row.get("batch_remove") or (name == BATCH_ENGINE and task.startswith(BATCH)))
            and (taken := seconds(row, parts)) is not None
        }
        if mine is not None and theirs:
            peer = min(theirs, key=theirs.__getitem__)
            yield Row(task, measure, mine, peer, theirs[peer])


def ratios(results: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str, str], float]:
    """Time of each peer as a multiple of ours, by task, engine and measure."""
    found = {}
    for title, result in results.items():
        by_name = {row["engine"]: row for row in result["rows"] if "engine" in row}
        ours = by_name.pop(OURS, {})
        for engine, row in by_name.items():
            for measure, parts in MEASURES.items():
                mine, theirs = seconds(ours, parts), seconds(row, parts)
                if mine and theirs:
                    found[title.split(";", maxsplit=1)[0], engine, measure] = theirs / mine
    return found


def seconds(row: Mapping[str, Any], parts: Iterable[str]) -> float | None:
    """Processor time of parts of a result together; None if one was not measured."""
    values = [(row.get(part) or {}).get("processor") for part in parts]
    return None if None in values else sum(values)


def table(found: list[Row]) -> dict[str, Any]:
    """Print the rows; returns them as a table in JSON."""
    lines = [
        (
            row.task,
            row.measure,
            row.ours,
            row.peer,
            row.theirs,
            row.ratio,
            "behind" if row.behind else "ahead",
        )
        for row in found
    ]
    title = "Compared with the fastest peer of each row, in seconds of processor time"
    return harness.print_table(title, HEADER, lines)
