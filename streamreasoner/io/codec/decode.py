"""A batch of Kafka messages -> encoded updates and rejections.

Invariant: every row becomes exactly one update or is rejected with exactly one reason, and the same
rows in the same order give the same ids.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.engine.updates import Updates
from streamreasoner.errors import TermError
from streamreasoner.io.codec.envelope import append_milliseconds, check_envelopes
from streamreasoner.io.formats import timestamps
from streamreasoner.io.formats.json import FactMessage, decode_triple, holds_nul, read_any
from streamreasoner.io.formats.rejected import Reason, Rejected, RejectedError
from streamreasoner.rdf.terms import canonical, to_ntriples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.io.formats.json import Argument, TripleMessage
    from streamreasoner.rdf.dictionary import TermDictionary

TRIPLE = "triple"
QUAD = "quad"

_INVALID_ID = -1
_IRI, _BLANK, _LITERAL = b"<"[0], b"_"[0], b'"'[0]


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded batch.

    Attributes:
        updates: Encoded updates; a predicate may appear more than once.
        rejected: Rejected rows, ascending.
        event_time: Largest event time of the accepted rows, milliseconds since 1970; None if there
            are none.
    """

    updates: tuple[Updates, ...]
    rejected: tuple[Rejected, ...]
    event_time: int | None


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Rows of one predicate, not yet encoded.

    Attributes:
        predicate: Its name.
        rows: Rows of the batch, int64 of shape (n,).
        args: One column of texts for each argument, n rows each.
        diff: int64 of shape (n,).
        ts: The `ts` fields as sent, n of them.
    """

    predicate: str
    rows: NDArray[np.int64]
    args: tuple[pa.LargeStringArray, ...]
    diff: NDArray[np.int64]
    ts: Sequence[str | int | None]


class Codec:
    """Decodes batches for one program.

    Args:
        dictionary: Encodes the terms.
        arities: Predicates of the program and their arities; `triple` is always known.
        max_message_bytes: Longest value that is read.
    """

    def __init__(
        self, dictionary: TermDictionary, arities: Mapping[str, int], max_message_bytes: int
    ) -> None:
        self._dictionary = dictionary
        self._arities = {**arities, TRIPLE: 3}
        self._max_bytes = max_message_bytes

    def decode(self, batch: pa.Table) -> Decoded:
        """Decode the rows of a batch.

        Args:
            batch: Columns `value` (binary), `timestamp` (Kafka's, any Arrow timestamp) and
                `headers` (list of key and value), n rows; their order determines the ids.
        """
        rejected = check_envelopes(batch, self._max_bytes)
        appended = append_milliseconds(batch)
        latest: list[int] = []
        updates: list[Updates] = []
        for group in self._groups(batch, rejected):
            times = timestamps.milliseconds(group.ts, appended[group.rows])
            _check_times(group, times, rejected)
            _check_diff(group, rejected)
            if group.predicate in {TRIPLE, QUAD}:
                _check_kinds(group, rejected)
            keep = _not_rejected(group, rejected)
            ids = self._encode(group, keep, rejected)
            good = (ids != _INVALID_ID).all(axis=1)
            if good.any():
                updates.append(Updates(group.predicate, ids[good], group.diff[keep][good]))
                latest.append(int(times[keep][good].max()))
        return Decoded(
            updates=tuple(updates),
            rejected=tuple(
                Rejected(row, rejected[row].reason, rejected[row].detail)
                for row in sorted(rejected)
            ),
            event_time=max(latest, default=None),
        )

    def _groups(self, batch: pa.Table, rejected: dict[int, RejectedError]) -> list[_Group]:
        column = batch.column("value")
        values = column.to_pylist()
        may_hold_nul = _mentions_nul(column)
        if values and not rejected and not may_hold_nul:
            # Nearly every batch holds triples only: try to decode all of them at once.
            with contextlib.suppress(ValueError, RecursionError):
                triples = [decode_triple(value) for value in values]
                return [_triples(range(len(triples)), triples)]
        return self._groups_one_by_one(values, rejected, may_hold_nul=may_hold_nul)

    def _groups_one_by_one(
        self, values: Sequence[bytes], rejected: dict[int, RejectedError], *, may_hold_nul: bool
    ) -> list[_Group]:
        triples: dict[int, TripleMessage] = {}
        facts: dict[str, dict[int, FactMessage]] = {}
        for row, value in enumerate(values):
            if row in rejected:
                continue
            try:
                message = read_any(value)
                if isinstance(message, FactMessage):
                    self._check_fact(message)
                    texts: tuple[Argument, ...] = tuple(message.args)
                else:
                    texts = (message.s, message.p, message.o)
                if may_hold_nul and holds_nul(texts):
                    raise RejectedError(Reason.NUL, "A term contains the character NUL.")  # noqa: TRY301
            except RejectedError as error:
                rejected[row] = error
                continue
            if isinstance(message, FactMessage):
                facts.setdefault(message.predicate, {})[row] = message
            else:
                triples[row] = message
        groups = [_facts(name, messages) for name, messages in sorted(facts.items())]
        if triples:
            groups.insert(0, _triples(list(triples), list(triples.values())))
        return groups

    def _check_fact(self, message: FactMessage) -> None:
        arity = self._arities.get(message.predicate)
        if arity is None:
            known = ", ".join(sorted(self._arities))
            raise RejectedError(
                Reason.UNKNOWN_PREDICATE,
                f"The program has no predicate {message.predicate[:80]!r}; it has {known}.",
            )
        if len(message.args) != arity:
            raise RejectedError(
                Reason.WRONG_ARITY,
                f"{message.predicate} has {arity} arguments; got {len(message.args)}.",
            )
        try:
            message.args = [
                arg if isinstance(arg, str) else to_ntriples(arg) for arg in message.args
            ]
        except (TermError, ValueError) as error:
            raise RejectedError(Reason.NUMBER_OUT_OF_RANGE, str(error)) from None

    def _encode(
        self, group: _Group, keep: NDArray[np.bool_], rejected: dict[int, RejectedError]
    ) -> NDArray[np.int32]:
        """Ids of the rows to keep, int32 of shape (rows, arity); -1 where a term is invalid."""
        rows = group.rows[keep]
        ids = np.empty((len(rows), len(group.args)), dtype=np.int32)
        for position, texts in enumerate(group.args):
            terms = texts if len(rows) == len(texts) else texts.filter(pa.array(keep))
            ids[:, position] = self._dictionary.encode_validated(terms)
            for index in np.flatnonzero(ids[:, position] == _INVALID_ID):
                rejected.setdefault(int(rows[index]), _invalid_term(terms[index].as_py()))
        return ids


def _mentions_nul(values: pa.ChunkedArray) -> bool:
    """Whether any value contains the end of an escaped NUL; scans buffers, not rows."""
    texts = (chunk.buffers()[2] for chunk in values.chunks)
    raw = [text.to_pybytes() for text in texts if text is not None]
    return any(b"u0000" in data or b"U0000" in data for data in raw)


def _triples(rows: Sequence[int], messages: Sequence[TripleMessage]) -> _Group:
    return _Group(
        TRIPLE,
        np.asarray(rows, dtype=np.int64),
        (
            pa.array([message.s for message in messages], pa.large_string()),
            pa.array([message.p for message in messages], pa.large_string()),
            pa.array([message.o for message in messages], pa.large_string()),
        ),
        np.array([message.diff for message in messages], dtype=np.int64),
        [message.ts for message in messages],
    )


def _facts(predicate: str, by_row: Mapping[int, FactMessage]) -> _Group:
    rows, messages = list(by_row), list(by_row.values())
    columns = zip(*(message.args for message in messages), strict=True)
    return _Group(
        predicate,
        np.asarray(rows, dtype=np.int64),
        tuple(pa.array(column, pa.large_string()) for column in columns),
        np.array([message.diff for message in messages], dtype=np.int64),
        [message.ts for message in messages],
    )


def _check_times(
    group: _Group, times: NDArray[np.int64], rejected: dict[int, RejectedError]
) -> None:
    for index in np.flatnonzero(times == timestamps.INVALID):
        ts = group.ts[int(index)]
        detail = (
            timestamps.OUT_OF_RANGE
            if ts is None
            else f"ts is {str(ts)[:60]!r}; it must be {timestamps.ALLOWED}."
        )
        rejected[int(group.rows[index])] = RejectedError(Reason.BAD_TIMESTAMP, detail)


def _check_diff(group: _Group, rejected: dict[int, RejectedError]) -> None:
    for row in group.rows[group.diff == 0]:
        rejected.setdefault(int(row), RejectedError(Reason.DIFF_ZERO, "diff must not be 0."))


def _check_kinds(group: _Group, rejected: dict[int, RejectedError]) -> None:
    """RDF: subjects and graphs are IRIs or blank nodes, predicates are IRIs."""
    subjects, predicates = (_first_bytes(column) for column in group.args[:2])
    for index in np.flatnonzero(subjects == _LITERAL):
        detail = f"The subject {group.args[0][index].as_py()[:80]} is a literal."
        rejected.setdefault(int(group.rows[index]), RejectedError(Reason.SUBJECT_KIND, detail))
    for index in np.flatnonzero((predicates == _LITERAL) | (predicates == _BLANK)):
        detail = f"The predicate {group.args[1][index].as_py()[:80]} is not an IRI."
        rejected.setdefault(int(group.rows[index]), RejectedError(Reason.PREDICATE_KIND, detail))
    if group.predicate == QUAD:
        for index in np.flatnonzero(_first_bytes(group.args[3]) == _LITERAL):
            detail = f"The graph {group.args[3][index].as_py()[:80]} is a literal."
            rejected.setdefault(int(group.rows[index]), RejectedError(Reason.GRAPH_KIND, detail))


def _first_bytes(texts: pa.LargeStringArray) -> NDArray[np.uint8]:
    """First byte of each text, 0 for an empty one; uint8 of shape (n,)."""
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64, count=len(texts) + 1, offset=8 * texts.offset)
    first = np.zeros(len(texts), dtype=np.uint8)
    filled = starts[1:] > starts[:-1]
    if data is not None:
        first[filled] = np.frombuffer(data, dtype=np.uint8)[starts[:-1][filled]]
    return first


def _not_rejected(group: _Group, rejected: Mapping[int, RejectedError]) -> NDArray[np.bool_]:
    if not rejected:
        return np.ones(len(group.rows), dtype=np.bool_)
    return ~np.isin(group.rows, np.fromiter(rejected, dtype=np.int64))


def _invalid_term(text: str) -> RejectedError:
    match text[:1]:
        case "<":
            reason = Reason.INVALID_IRI
        case "_":
            reason = Reason.INVALID_BLANK_NODE
        case '"':
            reason = Reason.INVALID_LITERAL
        case _:
            reason = Reason.NOT_A_TERM
    try:
        canonical(text)
    except TermError as error:
        return RejectedError(reason, str(error))
    return RejectedError(reason, f"{text[:80]!r} is not a term in N-Triples syntax.")
