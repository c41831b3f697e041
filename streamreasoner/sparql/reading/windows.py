"""Windows of RSP-QL, which the parser does not know. Invariant: no place of the text moves.

`FROM NAMED WINDOW <w> ON <stream> [RANGE PT10M STEP PT1M]` is blanked, and `WINDOW <w> { … }` is
read as `GRAPH <w> { … }`, of the triples in the stream's graph.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner import durations
from streamreasoner.lang.statements import blank

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Span
    from streamreasoner.sparql.reading.places import QueryPlaces

_NAME = r"(<[^<>\s]*>|[^\s<>\[{]*:[^\s<>\[{]*)"
_BEGINNING = re.compile(r"\bFROM\s+NAMED\s+WINDOW\b", re.IGNORECASE)
_CLAUSE = re.compile(
    rf"\bFROM\s+NAMED\s+WINDOW\s+{_NAME}\s+ON\s+{_NAME}\s*"
    r"\[\s*RANGE\s+(\S+?)(?:\s+STEP\s+(\S+?))?\s*\]",
    re.IGNORECASE,
)
_USE = re.compile(rf"(?<![\w?$:])WINDOW(?=\s*{_NAME}\s*\{{)", re.IGNORECASE)
_FORM = "write `FROM NAMED WINDOW <w> ON <stream> [RANGE PT10M STEP PT1M]`"


@dataclass(frozen=True, slots=True)
class WindowClause:
    """A window as it is written.

    Attributes:
        name: Its name, an IRI or a prefixed name.
        stream: That of the graph of its triples.
        after: Its RANGE, in milliseconds.
        every: Its STEP, in milliseconds; 1 without one.
        span: Where it stands.
    """

    name: str
    stream: str
    after: int
    every: int
    span: Span


def read_windows(
    text: str, places: QueryPlaces
) -> tuple[str, tuple[WindowClause, ...], tuple[tuple[str, Span], ...]]:
    """Return the query without windows, its windows, and the names that its patterns use.

    Raises:
        ProgramError: A window is not of this form.
    """
    plain = places.without_texts()
    clauses = []
    for start in _BEGINNING.finditer(plain):
        found = _CLAUSE.match(plain, start.start())
        if found is None:
            span = places.range(*start.span())
            raise places.refusal("SR260", "this is no window of RSP-QL", span, _FORM)
        name, stream, *lengths = found.groups()
        span = places.range(*found.span())
        after, every = (1 if each is None else _milliseconds(each) for each in lengths)
        if not after or not every:
            hint = f"write {durations.ALLOWED}"
            raise places.refusal("SR260", "a length of the window is no duration", span, hint)
        clauses.append(WindowClause(name, stream, after, every, span))
        text = blank(text, *found.span())
    uses = []
    for use in _USE.finditer(plain) if clauses else ():
        uses.append((use[1], places.range(*use.span())))
        text = f"{text[: use.start()]}GRAPH {text[use.end() :]}"
    return text, tuple(clauses), tuple(uses)


def _milliseconds(length: str) -> int:
    """A duration, 0 if it is none."""
    try:
        return durations.milliseconds(length)
    except ValueError:
        return 0
