"""`/facts`: the present facts that match a pattern. Invariant: pages are in the order of ids.

Ids never change, so that the next page begins where the last one ended, whatever epoch it is of.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa

from streamreasoner.explain.fact import prefixes
from streamreasoner.explain.render.prefixed import ExplanationPrinter
from streamreasoner.facts import Fact, FactPattern, decode_rows
from streamreasoner.format_names import FormatName
from streamreasoner.io.codec.from_files import check_said
from streamreasoner.io.formats.csv import NO_ARGUMENTS
from streamreasoner.io.formats.registry import message_writer, of_name
from streamreasoner.lang.ast import Prefix
from streamreasoner.program.unknown import unknown_text
from streamreasoner.query.syntax import Scope, read_pattern
from streamreasoner.server.web.errors import TEXT, HttpError
from streamreasoner.server.web.negotiation import chosen
from streamreasoner.server.web.responses import JSON, answer, json_answer, known, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray
    from starlette.requests import Request
    from starlette.responses import Response

    from streamreasoner.history.replica import Snapshot
    from streamreasoner.program.checked import CheckedProgram

FORMATS: Final = {
    FormatName.JSON: JSON,
    FormatName.JSON_LINES: "application/jsonl",
    FormatName.CSV: "text/csv",
    FormatName.NTRIPLES: "application/n-triples",
    FormatName.NQUADS: "application/n-quads",
    "text": "text/plain",
}
LIMIT: Final = 1_000
MOST: Final = 100_000


@dataclass(frozen=True, slots=True)
class _Page:
    """Facts of a predicate.

    Attributes:
        predicate: The predicate.
        rows: Ids of terms, int32 of shape (n, arity).
        following: The ids after which the next page begins; None if this is the last one.
    """

    predicate: str
    rows: NDArray[np.int32]
    following: str | None


def facts(request: Request) -> Callable[[Snapshot], Response]:
    """The question that a request asks.

    Raises:
        HttpError: Its parameters are wrong.
    """
    query = request.query_params
    known(query, "predicate", "pattern", "limit", "after", "format")
    if "predicate" in query and "pattern" in query:
        raise HttpError(400, "predicate= and pattern= are both given; leave one out.")
    limit = whole(query, "limit", LIMIT, MOST, least=1)
    after = _after(query)
    if "predicate" not in query and "pattern" not in query:
        known(query)
        return _listing
    name = chosen(query, request.headers, FORMATS)

    def question(snapshot: Snapshot) -> Response:
        page = _page(snapshot, _pattern(query, snapshot), after, limit)
        headers = {}
        if page.following is not None:
            more = urlencode({**query, "after": page.following})
            headers["Link"] = f'<{request.url.path}?{more}>; rel="next"'
        if name == FormatName.JSON:
            rows = decode_rows(page.rows, snapshot.terms, str)
            fields = {"predicate": page.predicate, "facts": rows, "after": page.following}
            return json_answer(snapshot, fields, headers)
        body = _written(name, page, snapshot)
        return answer(snapshot, body, TEXT if name == "text" else FORMATS[name], headers)

    return question


def _listing(snapshot: Snapshot) -> Response:
    """Every predicate with the number of its facts."""
    checked = snapshot.program.checked
    predicates = [
        {"predicate": name, "arity": arity, "facts": snapshot.count(name)}
        for name, arity in sorted(checked.visible.items())
    ]
    return json_answer(snapshot, {"predicates": predicates})


def scope(program: CheckedProgram) -> Scope:
    """What names in a question mean."""
    directives = (each for each in program.program.directives if isinstance(each, Prefix))
    return Scope(tuple(directives), program.arities, program.unlisted)


def _pattern(query: Mapping[str, str], snapshot: Snapshot) -> FactPattern:
    checked = snapshot.program.checked
    predicate = query.get("predicate")
    if predicate is None:
        return read_pattern(query["pattern"], 0, scope(checked))
    if predicate not in checked.arities:
        said = unknown_text(predicate, checked.visible)
        raise HttpError(404, f"At epoch {snapshot.epoch}: {said}")
    return FactPattern(predicate)


def _after(query: Mapping[str, str]) -> list[int] | None:
    text = query.get("after")
    if text is None:
        return None
    parts = text.split(".")
    most = np.iinfo(np.int32).max
    if not all(part.isascii() and part.isdigit() and int(part[:11]) <= most for part in parts):
        raise HttpError(
            400,
            f"after={text[:40]} is not what an answer gave; use its field `after` or the "
            "header Link.",
        )
    return [int(part) for part in parts]


def _page(snapshot: Snapshot, pattern: FactPattern, after: list[int] | None, limit: int) -> _Page:
    arity = snapshot.program.checked.arities[pattern.predicate]
    if after is not None and len(after) != arity:
        raise HttpError(
            400, f"after= is of another question: {pattern.predicate} has {arity} arguments."
        )
    rows = snapshot.facts(pattern, after, limit + 1)
    following = None
    if len(rows) > limit:
        rows = rows[:limit]
        following = ".".join(map(str, rows[-1].tolist()))
    return _Page(pattern.predicate, rows, following)


def _written(name: str, page: _Page, snapshot: Snapshot) -> str | bytes:
    rows, terms = page.rows, snapshot.terms
    match name:
        case FormatName.CSV:
            file = io.StringIO()
            records = decode_rows(rows, terms, str)
            csv.writer(file).writerows(record or [NO_ARGUMENTS] for record in records)
            return file.getvalue()
        case "text":
            printer = ExplanationPrinter(prefixes(snapshot.program.checked))
            shown = (Fact(page.predicate, row) for row in decode_rows(rows, terms, str))
            return "".join(f"{printer.fact(fact)}\n" for fact in shown)
        case _:
            format_ = of_name(name)
            columns = [terms.decode(column) for column in rows.T]
            check_said(format_, page.predicate, columns, len(rows), f"epoch {snapshot.epoch}")
            writer = message_writer(format_)
            texts = writer.texts(page.predicate, columns, np.ones(len(rows), np.int64))
            return b"".join(writer.document([texts.cast(pa.large_binary()).to_pylist()]))
